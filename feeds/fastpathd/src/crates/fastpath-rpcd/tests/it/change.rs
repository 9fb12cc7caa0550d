// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests `fastpath.change` as rpcd runs it, with its own files and a fake bus: rights,
//! confirmation, and rollback of unconfirmed changes.

use crate::router::Router;
use serde_json::{Value, json};

const BEFORE: &str = "config system 'main'\n\toption hostname 'gateway'\n";
const AFTER: &str = "config system 'main'\n\toption hostname 'changed'\n";

fn hostname_edit() -> Value {
    let values = json!({"hostname": "changed"});
    json!([{"config": "system", "op": "set", "section": "main", "values": values}])
}

/// Returns a router on which ann and ben may write every file, and eve only `dhcp`.
fn router(name: &str) -> Router {
    Router::new(name, &[("ann", &["*"]), ("ben", &["*"]), ("eve", &["dhcp"])])
        .with("system", BEFORE)
        .with("dhcp", "config dnsmasq 'main'\n\toption domain 'lan'\n")
        .with(
            "network",
            "config interface 'wan'\n\toption proto 'pppoe'\n\toption password 'line'\n",
        )
}

#[test]
fn a_user_changes_only_permitted_files() {
    let router = router("rights");
    let values = json!({"domain": "home"});
    let mut edits = hostname_edit();
    edits[0]["config"] = json!("dhcp");
    edits[0]["values"] = values;
    let both = json!([edits[0], hostname_edit()[0]]);
    for method in ["check", "apply"] {
        let answer = router.call("eve", method, json!({"edits": both}));
        assert_eq!(answer["error"]["code"], "denied", "{method}: {answer}");
        assert_eq!(answer["error"]["config"], "system", "{method}: {answer}");
    }
    assert_eq!(router.file("system"), BEFORE);
    let answer = router.call("eve", "apply", json!({"edits": edits}));
    assert_eq!(answer["id"], 1, "{answer}");
}

#[test]
fn a_file_that_libuci_cannot_parse_does_not_affect_other_files() {
    let broken = "config interface 'lan'\n\toption ipaddr '192.168.1.1\n";
    let firewall = "config zone 'lan'\n\toption name 'lan'\n\toption network 'lan'\n";
    let router = router("broken").with("network", broken).with("firewall", firewall);
    let answer = router.call("ann", "get", json!({"configs": ["system", "network", "sqm"]}));
    assert_eq!(answer["configs"]["system"][0]["values"]["hostname"], "gateway", "{answer}");
    assert!(answer["configs"].get("network").is_none(), "{answer}");
    let text = "/etc/config/network cannot be read, line 2: a quote is never closed";
    let params = json!({"config": "network", "inner": "uci-quote", "line": "2"});
    let cause = json!({"code": "broken", "params": params});
    let expected = json!([{"config": "network", "line": 2, "text": text, "cause": cause}]);
    assert_eq!(answer["broken"], expected);

    let edit = |config: &str, section: &str, values: Value| {
        let mut edit = json!({"config": config, "op": "set", "values": values});
        edit["section"] = json!(section);
        json!([edit])
    };
    for method in ["check", "apply"] {
        let edits = edit("network", "lan", json!({"mtu": "1400"}));
        let error = &router.call("ann", method, json!({"edits": edits}))["error"];
        let found = (&error["code"], &error["config"], &error["line"], &error["cause"]);
        assert_eq!(found, (&json!("broken"), &json!("network"), &json!(2), &cause), "{error}");
        assert_eq!(error["text"], text);
    }
    // A broken network file hides unknown interfaces of zones.
    let edits = edit("firewall", "lan", json!({"network": ["lan", "guest"]}));
    let answer = router.call("ann", "check", json!({"edits": edits}));
    assert_eq!(answer["problems"], json!([]), "{answer}");
    let answer = router.call("ann", "apply", json!({"edits": hostname_edit()}));
    assert_eq!(answer["id"], 1, "{answer}");
    router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(router.file("system"), AFTER);
    assert_eq!(router.file("network"), broken);
    let router = router.with("system", "config system 'main\n");
    let answer = router.call("ann", "list", json!({}));
    assert_eq!(answer["changes"][0]["undoable"], false, "{answer}");
    let answer = router.call("ann", "undo", json!({"id": 1}));
    assert_eq!(answer["error"]["code"], "broken", "{answer}");
}

/// Reloading firewall4 for an interface with a broken firewall file would drop new connections.
#[test]
fn refuses_interface_changes_while_the_firewall_file_is_broken() {
    let firewall = "config zone 'lan'\n\toption name 'lan\n";
    let router = router("reloaded")
        .with("firewall", firewall)
        .with("network", "config interface 'lan'\n")
        .with("wireless", "config wifi-device 'lan'\n");
    let call = |method: &str, config: &str| {
        let values = json!({"disabled": "1"});
        let edit = json!({"config": config, "op": "set", "section": "lan", "values": values});
        router.call("ann", method, json!({"edits": [edit]}))
    };
    for method in ["check", "apply"] {
        for config in ["network", "wireless"] {
            let error = &call(method, config)["error"];
            let found = (&error["code"], &error["config"]);
            assert_eq!(found, (&json!("broken"), &json!("firewall")), "{method} {config}: {error}");
        }
    }
    let answer = router.call("ann", "apply", json!({"edits": hostname_edit()}));
    assert_eq!(answer["id"], 1, "{answer}");
}

/// rpcd's libuci fails on a broken file in `/etc/config2`, which it reads first.
#[test]
fn a_file_that_only_rpcd_refuses_does_not_affect_other_files() {
    let router = router("second");
    let second = router.path("../config2");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("network"), "<html>\n").unwrap();
    let answer = router.call("ann", "get", json!({"configs": ["system", "network"]}));
    assert_eq!(answer["configs"]["system"][0]["values"]["hostname"], "gateway", "{answer}");
    let broken = &answer["broken"][0];
    let found = (&broken["config"], &broken["line"], &broken["cause"]["code"]);
    assert_eq!(found, (&json!("network"), &json!(0), &json!("read")), "{answer}");
    let answer = router.call("ann", "apply", json!({"edits": hostname_edit()}));
    assert_eq!(answer["id"], 1, "{answer}");
}

#[test]
fn a_revert_restores_a_comment_in_latin_1() {
    let before = [b"# T\xfcr\n", BEFORE.as_bytes()].concat();
    let router = router("latin");
    std::fs::write(router.path("system"), &before).unwrap();
    let answer = router.call("ann", "apply", json!({"edits": hostname_edit()}));
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(router.call("ann", "revert", json!({"id": 1}))["state"], "reverted");
    assert_eq!(std::fs::read(router.path("system")).unwrap(), before);
}

#[test]
fn reports_the_exposure_of_a_service_with_a_comment_in_latin_1() {
    let router = router("services").with("firewall", "config zone 'w'\n\toption name 'wan'\n");
    let dropbear = b"config dropbear\n\toption Port '2222' # T\xfcr\n";
    std::fs::write(router.path("dropbear"), dropbear).unwrap();
    let values = json!({"src": "wan", "proto": "tcp", "dest_port": "2222", "target": "ACCEPT"});
    let edits = json!([{"config": "firewall", "op": "add", "type": "rule", "values": values}]);
    let answer = router.call("ann", "check", json!({"edits": edits}));
    assert_eq!(answer["exposes"][0]["zone"], "wan", "{answer}");
}

#[test]
fn refuses_an_undocumented_argument() {
    let router = router("arguments");
    let note = |characters| json!({"edits": hostname_edit(), "note": "ü".repeat(characters)});
    for (method, args, argument) in [
        ("apply", json!({"edits": hostname_edit(), "seconds": 4}), "seconds"),
        ("apply", json!({"edits": hostname_edit(), "seconds": 601}), "seconds"),
        ("apply", json!({"edits": hostname_edit(), "timeout": 600}), "timeout"),
        ("apply", note(201), "note"),
        ("check", json!({"edits": hostname_edit(), "seconds": 30}), "seconds"),
        ("confirm", json!({"id": 1, "force": true}), "force"),
        ("list", json!({"limit": 1}), "limit"),
        ("get", json!({"configs": ["passwd"]}), "configs"),
    ] {
        let error = &router.call("ann", method, args)["error"];
        let found = (&error["code"], &error["argument"]);
        assert_eq!(found, (&json!("argument"), &json!(argument)), "{method}: {error}");
    }
    let missing = &router.call("ann", "get", json!({}))["error"];
    assert_eq!(missing["cause"]["code"], "argument-missing", "{missing}");
    assert_eq!(router.file("system"), BEFORE);
    assert_eq!(router.call("ann", "apply", note(200))["id"], 1);
}

#[test]
fn only_the_user_who_applied_a_change_may_confirm_it() {
    let router = router("confirm");
    let answer = router.call("ann", "apply", json!({"edits": hostname_edit(), "seconds": 600}));
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(router.file("system"), AFTER);
    let answer = router.call("ben", "confirm", json!({"id": 1}));
    assert_eq!(answer["error"]["code"], "denied", "{answer}");
    assert_eq!(answer["error"]["user"], "ann", "{answer}");
    let answer = router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(answer["state"], "confirmed", "{answer}");
    assert_eq!(router.file("system"), AFTER);
}

#[test]
fn refuses_a_second_change_while_one_is_pending() {
    let router = router("pending");
    router.call("ann", "apply", json!({"edits": hostname_edit(), "seconds": 600}));
    let answer = router.call("ben", "apply", json!({"edits": hostname_edit()}));
    assert_eq!(answer["error"]["code"], "pending", "{answer}");
    assert_eq!(answer["error"]["user"], "ann", "{answer}");
    let answer = router.call("ben", "revert", json!({"id": 1}));
    assert_eq!(answer["state"], "reverted", "{answer}");
    assert_eq!(router.file("system"), BEFORE);
}

/// rpcd rolls back after the timeout, but loses the pending change when it restarts.
#[test]
fn an_expired_change_is_rolled_back_after_rpcd_restarts() {
    let router = router("expiry");
    router.call("ann", "apply", json!({"edits": hostname_edit(), "seconds": 600}));
    assert_eq!(router.file("system"), AFTER);
    router.restart_rpcd();
    router.expire();
    let answer = router.call("ann", "pending", json!({}));
    assert_eq!(answer["pending"], Value::Null, "{answer}");
    assert_eq!(answer["last"]["state"], "expired", "{answer}");
    let answer = router.call("ann", "list", json!({}));
    assert_eq!(answer["changes"][0]["state"], "expired", "{answer}");
    assert_eq!(router.file("system"), BEFORE);
    let answer = router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(answer["error"]["state"], "expired", "{answer}");
    assert_eq!(router.reloaded(), ["system"], "services reload the old configuration");
}

const ENGINE: &str = "config fastpath 'main'\n\toption engine 'flowtable'\n";

fn engine(engine: &str) -> Value {
    let values = json!({"engine": engine});
    json!([{"config": "fastpath", "op": "set", "section": "main", "values": values}])
}

fn digest(engine: &str) -> String {
    config::digest(&config::parse_uci(&ENGINE.replace("flowtable", engine)).unwrap())
}

#[test]
fn refuses_a_confirmation_until_the_daemon_has_the_change_in_force() {
    let router = router("daemon").with("fastpath", ENGINE);
    router.daemon(&json!({"configuration": {"digest": digest("flowtable"), "refused": ""},
        "problems": []}));
    let applied = router.call("ann", "apply", json!({"edits": engine("off"), "seconds": 600}));
    assert_eq!(applied["id"], 1, "{applied}");
    let pending = router.call("ann", "pending", json!({}));
    assert_eq!(pending["pending"]["in_force"], false, "{pending}");
    let answer = router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(answer["error"]["code"], "not-in-force", "{answer}");

    let problem = json!({"section": "main", "option": "engine", "text": "no such engine here"});
    router.daemon(&json!({"configuration": {"digest": digest("flowtable"),
        "refused": digest("off")}, "problems": [problem]}));
    let pending = router.call("ann", "pending", json!({}));
    assert_eq!(pending["pending"]["problems"], json!([problem]), "{pending}");
    let answer = router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(answer["error"]["problems"], json!([problem]), "{answer}");
    let text = answer["error"]["text"].as_str().unwrap();
    assert!(text.contains("no such engine here"), "{text}");

    router.daemon(&json!({"configuration": {"digest": digest("off"), "refused": ""},
        "problems": []}));
    let pending = router.call("ann", "pending", json!({}));
    assert_eq!(pending["pending"]["in_force"], true, "{pending}");
    let answer = router.call("ann", "confirm", json!({"id": 1}));
    assert_eq!(answer["state"], "confirmed", "{answer}");
}

#[test]
fn the_daemon_ignores_changes_staged_by_a_shell() {
    let router = router("staged").with("fastpath", ENGINE);
    router.stage_in_a_shell("fastpath", "main", &json!({"engine": "off"}));
    let answer = router.config("fastpath");
    assert_eq!(answer["values"]["main"]["engine"], "flowtable", "{answer}");
    let answer = router.call("ann", "get", json!({"configs": ["fastpath"]}));
    assert_eq!(answer["configs"]["fastpath"][0]["values"]["engine"], "flowtable", "{answer}");
    assert_eq!(router.sessions(), 0, "each session is ended");
}

#[test]
fn answers_contain_no_secret() {
    let router = router("secrets");
    let values = json!({"password": "another"});
    let edits = json!([{"config": "network", "op": "set", "section": "wan", "values": values}]);
    let mut answers = router.call("eve", "get", json!({"configs": ["network"]})).to_string();
    assert!(answers.contains("•••"), "{answers}");
    answers += &router.call("ann", "check", json!({"edits": edits})).to_string();
    let applied = router.call("ann", "apply", json!({"edits": edits, "seconds": 600}));
    assert_eq!(applied["id"], 1, "{applied}");
    assert!(router.file("network").contains("'another'"));
    answers += &router.call("ann", "pending", json!({})).to_string();
    answers += &router.call("ann", "list", json!({})).to_string();
    router.call("ann", "confirm", json!({"id": 1}));
    answers += &router.call("ann", "undo", json!({"id": 1})).to_string();
    for secret in ["\"line\"", "another"] {
        assert!(!answers.contains(secret), "{secret} in {answers}");
    }
}
