// SPDX-License-Identifier: GPL-2.0-or-later
//! Behaviour of the web server that the recordings do not cover: load, malformed input, files.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::http::{Answer, connect, read, request, send};
use crate::support::rpc::{NOBODY, call, log_in, post};
use crate::support::{demo, router::Router};
use serde_json::{Value, json};

fn get(router: &Router, path: &str, headers: &str) -> Answer {
    send(&router.address, &request("GET", path, headers, ""))
}

/// uhttpd 7b1bec4 leaks the connection of a subscriber that disconnects.
#[test]
fn connections_of_disconnected_subscribers_stay_counted() {
    let router = Router::start();
    let _demo = demo::publish(router.socket.clone(), false);
    let bearer = format!("Authorization: Bearer {}\r\n", log_in(&router.address, 300));
    let text = request("GET", "/ubus/subscribe/fastpath.demo", &bearer, "");
    for _ in 0..100 {
        let mut stream = connect(&router.address);
        stream.write_all(text.as_bytes()).unwrap();
        assert_eq!(read(&mut BufReader::new(stream), 0).status, "HTTP/1.1 200 OK");
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(&router, "/", "").status != "HTTP/1.1 503 Service Unavailable" {
        assert!(Instant::now() < deadline, "still served");
    }
}

#[test]
fn connections_beyond_the_limit_are_refused_until_others_end() {
    let router = Router::start();
    let idle: Vec<TcpStream> = (0..100).map(|_| connect(&router.address)).collect();
    // Connections are accepted in order, so an answer to the last one means that all are counted.
    let mut last = idle.last().unwrap();
    last.write_all(request("GET", "/", "", "").as_bytes()).unwrap();
    assert_eq!(read(&mut BufReader::new(last), 1).status, "HTTP/1.1 200 OK");
    assert_eq!(get(&router, "/", "").status, "HTTP/1.1 503 Service Unavailable");
    drop(idle);
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(&router, "/", "").status != "HTTP/1.1 200 OK" {
        assert!(Instant::now() < deadline, "still refused");
    }
}

#[test]
fn malformed_requests_are_rejected() {
    let router = Router::start();
    let session = log_in(&router.address, 300);
    for (params, code) in [
        (json!(null), -32700),
        (json!({}), -32700),
        (json!([session, "uci"]), -32700),
        (json!([session, "uci", "get", "x"]), -32700),
        (json!([1, 2, 3, {}]), -32700),
        (json!([session, "uci", "get", {"ubus_rpc_session": "x"}]), -32602),
        (json!(["deadbeef", "uci", "get", {}]), -32002),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "call", "params": params});
        let answer = post(&router.address, &request);
        assert_eq!(answer.pointer("/error/code"), Some(&json!(code)), "{request}");
        assert_eq!(answer["id"], 7);
    }
    let wrong = json!({"config": {"a": 1}, "section": 5});
    assert_eq!(call(&router.address, &session, "uci", "get", &wrong), json!([2]));
    let nul = json!({"config": "a\u{0}b"});
    assert_eq!(call(&router.address, &session, "uci", "get", &nul), json!([2]));
    assert_eq!(post(&router.address, &json!([])), json!([]));
    let mixed = post(&router.address, &json!([1, {"jsonrpc": "2.0", "id": 2, "method": "list"}]));
    assert_eq!(mixed[0]["error"]["code"], -32700);
    assert!(mixed[1]["result"].is_array());
}

#[test]
fn too_deeply_nested_requests_are_rejected() {
    let router = Router::start();
    for depth in [100, 40_000] {
        let body = "[".repeat(depth) + &"]".repeat(depth);
        let answer = send(&router.address, &request("POST", "/ubus", "", &body));
        assert_eq!(answer.status, "HTTP/1.1 200 OK");
    }
    let session = log_in(&router.address, 300);
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let args = json!({"config": "fastpath", "match": {"a": deep}});
    assert_eq!(call(&router.address, &session, "uci", "get", &args), json!([2]));
}

#[test]
fn a_connection_serves_several_requests() {
    let router = Router::start();
    let mut stream = BufReader::new(connect(&router.address));
    for _ in 0..3 {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"list"}"#;
        stream.get_mut().write_all(request("POST", "/ubus", "", body).as_bytes()).unwrap();
        assert!(read(&mut stream, usize::MAX).body.contains("session"));
    }
    stream.get_mut().write_all(b"nonsense\r\n\r\n").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 400"), "{rest}");
}

#[test]
fn a_cached_file_is_answered_with_304() {
    let router = Router::start();
    let first = get(&router, "/index.html", "");
    let (tag, date) = (first.header("etag").unwrap(), first.header("last-modified").unwrap());
    for known in [format!("If-None-Match: {tag}\r\n"), format!("If-Modified-Since: {date}\r\n")] {
        let again = get(&router, "/index.html", &known);
        assert_eq!(again.status, "HTTP/1.1 304 Not Modified");
        assert_eq!(again.body, "");
        assert_eq!(again.header("etag"), Some(tag));
    }
    let other = get(&router, "/index.html", "If-None-Match: \"1-2-3\"\r\n");
    assert_eq!(other.body, first.body);
}

#[test]
fn files_outside_the_site_are_not_served() {
    let router = Router::start();
    let folder = router.folder.as_ref().unwrap();
    std::fs::create_dir(folder.join("www/sub")).unwrap();
    std::fs::write(folder.join("www/sub/app.js"), "1").unwrap();
    std::os::unix::fs::symlink(folder.join("shadow"), folder.join("www/link")).unwrap();
    for path in [
        "/../shadow",
        "/sub/../../shadow",
        "/%2e%2e/shadow",
        "/sub/%2e%2e/%2e%2e/shadow",
        "/..%2fshadow",
        "/link",
        "/%00",
        "/%zz",
        "/missing",
    ] {
        let answer = get(&router, path, "");
        assert_eq!(answer.status, "HTTP/1.1 404 Not Found", "{path}");
    }
    assert_eq!(get(&router, "/sub/app.js", "").header("content-type"), Some("text/javascript"));
    assert_eq!(get(&router, "/sub", "").header("location"), Some("/sub/"));
    assert_eq!(get(&router, "/ubus-of-another-kind", "").status, "HTTP/1.1 404 Not Found");
}

#[test]
fn an_unused_session_expires() {
    let router = Router::start();
    let session = log_in(&router.address, 1);
    let get = json!({"config": "fastpath"});
    let set = json!({"config": "fastpath", "section": "main", "values": {"engine": "off"}});
    assert_eq!(call(&router.address, &session, "uci", "set", &set), json!([0]));
    let changes = router.folder.as_ref().unwrap().join(format!("run/uci-{session}"));
    assert!(changes.exists());
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(call(&router.address, &session, "uci", "get", &get), json!(-32002));
    assert!(!changes.exists(), "the changes outlived their session");
}

#[test]
fn system_and_network_report_the_kernels_state() {
    let router = Router::start();
    let folder = router.folder.as_ref().unwrap();
    let network = "config interface 'loopback'\n\toption device 'lo'\n\toption proto 'static'\n\
        config interface 'wan'\n\toption device 'none0.35'\n\toption proto 'pppoe'\n";
    std::fs::write(folder.join("config/network"), network).unwrap();
    let open = r#"{"unauthenticated": {"read": {"ubus":
        {"session": ["access", "login"], "system": ["*"], "network.interface": ["*"]}}}}"#;
    std::fs::write(folder.join("acl.d/unauthenticated.json"), open).unwrap();
    let mut router = router;
    assert!(router.stop(), "SIGTERM ends it in order");
    router.run();
    let answer =
        |object, method| call(&router.address, NOBODY, object, method, &json!({}))[1].clone();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(answer("system", "board")["kernel"], kernel.trim());
    assert!(answer("system", "info")["memory"]["total"].as_u64().unwrap() > 1 << 20);
    let deadline = Instant::now() + Duration::from_secs(60);
    let interfaces = loop {
        let dump = answer("network.interface", "dump");
        if dump["interface"][0]["up"] == true || Instant::now() > deadline {
            break dump["interface"].clone();
        }
    };
    assert_eq!(interfaces[0]["interface"], "loopback");
    assert_eq!(interfaces[0]["l3_device"], "lo");
    let local = json!({"address": "127.0.0.1", "mask": 8});
    assert!(interfaces[0]["ipv4-address"].as_array().unwrap().contains(&local), "{interfaces}");
    assert_eq!(interfaces[1]["up"], false);
    assert_eq!(interfaces[1]["l3_device"], Value::Null, "a device that is not there");
    assert_eq!(interfaces[1]["device"], "none0.35");
}
