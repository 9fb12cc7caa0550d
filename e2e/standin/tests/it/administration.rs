// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of an administration page other than `uci`: log, devices, interface state, passwords,
//! restarts, backups and images.

use std::path::Path;
use std::time::Duration;

use crate::support::http::{Answer, request, send};
use crate::support::router::{self, Router};
use crate::support::rpc::{call, log_in, log_in_as};
use serde_json::{Value, json};
use standin::exec::{Action, Program};
use standin::network::{Addresses, Network};
use standin::syslog::Log;
use standin::uci::Store;
use standin::{devices, rpcsys, system};
use ubus::{Map, Status};

fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not a table"),
    }
}

#[test]
fn the_log_keeps_only_the_newest_messages() {
    let folder = router::temp_path("log");
    std::fs::create_dir_all(&folder).unwrap();
    let mut log = Log::new(Some(&folder.join("log")), Some(folder.clone()));
    let lines = |log: &mut Log, args: Value| {
        let answer = log.answer(("read", &map(args))).unwrap();
        let line = |line: &Value| format!("{} {}", line["priority"], line["msg"].as_str().unwrap());
        answer["log"].as_array().unwrap().iter().map(line).collect::<Vec<String>>()
    };
    let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
    sender.send_to(b"<29>Nov 21 23:00:00 pppd[12]: Connected\n\0", folder.join("log")).unwrap();
    log.answer(("write", &map(json!({"event": "<13>by ubus"})))).unwrap();
    log.answer(("write", &map(json!({"event": "plain\nin two lines"})))).unwrap();
    std::fs::write(folder.join("messages.log"), "netifd: up\nnot yet wh").unwrap();
    std::fs::write(folder.join("fastpathd.log"), "one\n").unwrap();
    std::fs::write(folder.join("fastpathd.err.log"), "two\n").unwrap();
    std::fs::write(folder.join("pppoe-wan.log"), "reported already\n").unwrap();
    std::fs::write(folder.join("other"), "no log\n").unwrap();
    let all = lines(&mut log, json!({"stream": false}));
    assert_eq!(all[..3], ["29 pppd[12]: Connected", "13 by ubus", "13 plain in two lines"]);
    let mut files = all[3..].to_vec();
    files.sort();
    assert_eq!(files, ["27 fastpathd: two", "30 fastpathd: one", "30 netifd: up"]);
    std::fs::write(folder.join("messages.log"), "netifd: up\nnot yet whole\n").unwrap();
    assert_eq!(lines(&mut log, json!({"stream": false, "lines": 1})), ["30 not yet whole"]);
    std::fs::write(folder.join("messages.log"), "again\n").unwrap();
    assert_eq!(lines(&mut log, json!({"stream": false, "lines": 1})), ["30 again"]);
    for number in 0..2000 {
        log.answer(("write", &map(json!({"event": format!("<30>{number}")})))).unwrap();
    }
    let kept = lines(&mut log, json!({"stream": false}));
    assert_eq!((kept.len(), kept.last().unwrap().as_str()), (1500, "30 1999"));
    assert_eq!(log.answer(("read", &map(json!({})))), Ok(Map::new()), "a stream is not for us");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn devices_are_reported() {
    let sys = Path::new("/sys/class/net");
    let one = devices::answer(sys, ("status", &map(json!({"name": "lo"})))).unwrap();
    assert_eq!((&one["up"], &one["present"]), (&json!(true), &json!(true)));
    assert!(one["mtu"].as_i64().unwrap() > 1500, "{one:?}");
    assert!(one["statistics"]["rx_bytes"].is_i64() || one["statistics"]["rx_bytes"].is_u64());
    let all = devices::answer(sys, ("status", &Map::new())).unwrap();
    assert!(all.contains_key("lo"));
    for name in ["none", "../net", ".", ""] {
        let args = map(json!({"name": name}));
        assert_eq!(devices::answer(sys, ("status", &args)), Err(Status::NotFound), "{name}");
    }
}

#[test]
fn an_interface_goes_down_and_up() {
    let folder = router::temp_path("network");
    let config = "config interface 'wan'\n\toption proto 'pppoe'\n\toption device 'wan.35'\n";
    std::fs::create_dir_all(folder.join("run")).unwrap();
    std::fs::write(folder.join("network"), config).unwrap();
    let store =
        Store { config: folder.clone(), run: folder.join("run"), staged: folder.join("staged") };
    let mut network = Network::new(store, folder.join("down"));
    let mut ask = |method: &str, name: &str| {
        let args = map(json!({"interface": name}));
        let answer = network.answer((method, &args), &Addresses::new(), Duration::ZERO);
        (answer, network.take_reload())
    };
    let state = |(answer, reload): (Result<Map, Status>, bool)| {
        let answer = answer.unwrap();
        (answer["autostart"].clone(), answer["pending"].clone(), reload)
    };
    assert_eq!(state(ask("status", "wan")), (json!(true), json!(true), false));
    assert_eq!(ask("down", "wan"), (Ok(Map::new()), true));
    assert!(folder.join("down/wan").exists());
    assert_eq!(state(ask("status", "wan")), (json!(false), json!(false), false));
    assert_eq!(ask("up", "wan"), (Ok(Map::new()), true));
    assert_eq!(ask("up", "wan"), (Ok(Map::new()), false), "it is not down");
    assert_eq!(state(ask("status", "wan")), (json!(true), json!(true), false));
    for name in ["lan", "../wan", ""] {
        assert_eq!(ask("down", name), (Err(Status::NotFound), false), "{name}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn each_interface_has_its_own_object() {
    let router = Router::start();
    let folder = router.folder.clone().unwrap();
    let config = "config interface 'guest'\n\toption proto 'none'\n\toption device 'none'\n";
    std::fs::write(folder.join("config/network"), config).unwrap();
    let group = r#"{"net": {"write": {"ubus": {"network.interface.*": ["*"]}}}}"#;
    std::fs::write(folder.join("acl.d/net.json"), group).unwrap();
    let id = log_in(&router.address, 300);
    let ask =
        |method: &str| call(&router.address, &id, "network.interface.guest", method, &json!({}));
    // New interfaces are published once per second.
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while ask("status")[0] != 0 {
        assert!(std::time::Instant::now() < deadline, "{}", ask("status"));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ask("status")[1]["interface"], "guest");
    assert_eq!(ask("down"), json!([0]));
    let reloaded = || std::fs::read_to_string(folder.join("reloaded")).unwrap_or_default();
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while reloaded() != "network\n" {
        assert!(std::time::Instant::now() < deadline, "no notification");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(folder.join("config/network"), "").unwrap();
    assert_eq!(ask("status"), json!([4]), "it is gone");
}

#[test]
fn passwords_images_and_restarts_run_programs() {
    let action = |method: &str, args: Value| rpcsys::action((method, &map(args)));
    let mut passwd = Program::new("/bin/passwd", &["root"]);
    passwd.input = b"a b'c\na b'c\n".to_vec();
    let set = json!({"user": "root", "password": "a b'c"});
    assert_eq!(action("password_set", set), Ok(Action::Wait(passwd)));
    assert_eq!(action("password_set", json!({"user": "root"})), Err(Status::InvalidArgument));
    let test = Program::new("/sbin/sysupgrade", &["--test", "/tmp/firmware.bin"]);
    assert_eq!(action("upgrade_test", json!({})), Ok(Action::Output(test)));
    let later = |line: &str| Ok(Action::Background(Program::new("/bin/sh", &["-c", line])));
    for (method, args, line) in [
        ("upgrade_start", json!({}), "sleep 2; exec /sbin/sysupgrade -n /tmp/firmware.bin"),
        (
            "upgrade_start",
            json!({"keep": true}),
            "sleep 2; exec /sbin/sysupgrade /tmp/firmware.bin",
        ),
        ("factory", json!({}), "sleep 2; exec /sbin/jffs2reset -y -r"),
        ("reboot", json!({}), "sleep 2; exec /sbin/reboot"),
    ] {
        assert_eq!(action(method, args), later(line), "{method}");
    }
    assert_eq!(action("packagelist", json!({})), Err(Status::MethodNotFound));
    let check = Program::new("/usr/libexec/validate_firmware_image", &["/tmp/x"]);
    let asked = system::action(("validate_firmware_image", &map(json!({"path": "/tmp/x"}))));
    assert_eq!(asked, Some(Ok(Action::Json(check))));
    assert_eq!(system::action(("info", &Map::new())), None);
}

/// Starts a router with an administrator who may upload and download files below its folder.
fn with_cgi() -> (Router, String) {
    let router = Router::start();
    let folder = router.folder.clone().unwrap();
    let below = format!("{}/*", folder.display());
    let group = json!({"cgi": {
        "read": {"cgi-io": ["download"], "file": {below.clone(): ["read"]}},
        "write": {"cgi-io": ["upload"], "file": {below: ["write"]}},
    }});
    std::fs::write(folder.join("acl.d/cgi.json"), group.to_string()).unwrap();
    let id = log_in(&router.address, 300);
    (router, id)
}

fn upload(router: &Router, parts: &[(&str, &str)]) -> Answer {
    let part = |(name, value): &(&str, &str)| {
        format!("--XyZ\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body: String = parts.iter().map(part).collect();
    let head = "Content-Type: multipart/form-data; boundary=XyZ\r\n";
    let text = request("POST", "/cgi-bin/cgi-upload", head, &format!("{body}--XyZ--\r\n"));
    send(&router.address, &text)
}

#[test]
fn a_file_is_uploaded_and_downloaded() {
    let (router, id) = with_cgi();
    let folder = router.folder.clone().unwrap();
    let path = folder.join("image").to_str().unwrap().to_owned();
    // Exceeds the body limit of a call.
    let data = "a\r\n--Xy\0".repeat(20_000);
    let parts =
        [("sessionid", &*id), ("filename", &path), ("filemode", "640"), ("filedata", &data)];
    let answer: Value = serde_json::from_str(&upload(&router, &parts).body).unwrap();
    assert_eq!(answer["size"], data.len());
    assert_eq!(answer["sha256sum"].as_str().map(str::len), Some(64));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), data);
    let escaped = path.replace('/', "%2F");
    let form = format!("sessionid={id}&path={escaped}&filename=a+b.bin&mimetype=text%2Fplain");
    let get =
        |form: &str| send(&router.address, &request("POST", "/cgi-bin/cgi-download", "", form));
    let answer = get(&form);
    assert_eq!((&*answer.status, &answer.body), ("HTTP/1.1 200 OK", &data));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    let disposition = answer.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"a b.bin\""));
    for (form, status) in [
        (format!("sessionid={id}&path=%2Fetc%2Fpasswd"), "HTTP/1.1 403 Forbidden"),
        (format!("sessionid=x&path={escaped}"), "HTTP/1.1 403 Forbidden"),
        (format!("sessionid={id}&path={escaped}no"), "HTTP/1.1 404 Not Found"),
        (format!("sessionid={id}&path={escaped}&filename=a%0d"), "HTTP/1.1 400 Bad Request"),
    ] {
        assert_eq!(get(&form).status, status, "{form}");
    }
}

#[test]
fn uploads_without_a_right_are_rejected() {
    let (router, id) = with_cgi();
    let folder = router.folder.clone().unwrap();
    let path = folder.join("image").to_str().unwrap().to_owned();
    let outside = format!("{}/../outside", folder.display());
    let viewer = log_in_as(&router.address, "viewer", "look", 300);
    for (parts, message) in [
        (
            vec![("sessionid", &*viewer), ("filename", &*path), ("filedata", "x")],
            "Upload permission",
        ),
        (vec![("filename", &*path), ("filedata", "x")], "File data without session"),
        (vec![("sessionid", &*id), ("filedata", "x")], "File data without name"),
        (vec![("sessionid", &*id), ("filename", &*outside), ("filedata", "x")], "Access to path"),
        (vec![("sessionid", &*id), ("filename", &*path), ("filedata", "")], "No file data"),
        (vec![("sessionid", &*id)], "Invalid request"),
    ] {
        let answer: Value = serde_json::from_str(&upload(&router, &parts).body).unwrap();
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(text.starts_with(message), "{text} instead of {message}");
    }
    assert!(!Path::new(&path).exists() && !Path::new(&outside).exists());
    let form = format!("sessionid={viewer}");
    let text = request("POST", "/cgi-bin/cgi-backup", "", &form);
    assert_eq!(send(&router.address, &text).status, "HTTP/1.1 403 Forbidden");
}
