// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests `fastpath.device` as rpcd runs it: rights, arguments, pending changes, concurrent calls.

use serde_json::{Value, json};

use crate::router::Router;

const MAC: &str = "02:11:22:33:44:55";
const BEFORE: &str = "# mine\nconfig fastpath 'main'\n\toption engine 'flowtable'\n";

fn router(name: &str) -> Router {
    Router::new(name, &[("ann", &["*"]), ("eve", &["dhcp"])]).with("fastpath", BEFORE)
}

fn code(answer: &Value) -> &Value {
    &answer["error"]["code"]
}

#[test]
fn verbs_write_the_device_s_section_at_once() {
    let router = router("device");
    let named = json!({"mac": "02:11:22:33:44:55", "name": "Anna's phone", "group": "children"});
    for changed in [true, false] {
        assert_eq!(router.device("ann", "set", named.clone()), json!({"changed": changed}));
    }
    assert_eq!(router.reloaded(), ["fastpath"], "without a change, nothing is reloaded");
    let section = format!(
        "\nconfig device\n\toption group 'children'\n\toption mac '{MAC}'\n\
         \toption name 'Anna'\\''s phone'\n"
    );
    assert_eq!(router.file("fastpath"), format!("{BEFORE}{section}"));
    let by_group = |until_s| json!({"group": "children", "until_s": until_s});
    for (args, option) in
        [(by_group(0_u32), "paused '1'"), (by_group(2_000_000_000), "paused_until '2000000000'")]
    {
        assert_eq!(router.device("ann", "pause", args), json!({"changed": true}));
        let expected = format!("{BEFORE}{section}\toption {option}\n");
        assert_eq!(router.file("fastpath"), expected);
    }
    router.device("ann", "resume", json!({"mac": MAC}));
    assert_eq!(router.file("fastpath"), format!("{BEFORE}{section}"));
    let limits = |down, up| json!({"mac": MAC, "down": down, "up": up});
    for (args, options) in [
        (limits(8, 10_000_000), "\toption limit_down '8'\n\toption limit_up '10000000'\n"),
        (limits(5000, 0), "\toption limit_down '5000'\n"),
        (limits(0, 0), ""),
    ] {
        assert_eq!(router.device("ann", "limit", args), json!({"changed": true}));
        assert_eq!(router.file("fastpath"), format!("{BEFORE}{section}{options}"));
    }
    for (value, option) in [("never", "\toption inspect 'never'\n"), ("", "")] {
        router.device("ann", "set", json!({"mac": MAC, "inspect": value}));
        assert_eq!(router.file("fastpath"), format!("{BEFORE}{section}{option}"));
    }
    router.device("ann", "forget", json!({"mac": MAC}));
    assert_eq!(router.file("fastpath"), BEFORE);
}

#[test]
fn refuses_invalid_arguments_and_users_without_the_right() {
    let router = router("device-arguments");
    let long = "ü".repeat(64);
    for (method, args, argument) in [
        ("set", json!({"name": "x"}), "mac"),
        ("set", json!({"mac": "02:11:22:33:44", "name": "x"}), "mac"),
        ("set", json!({"mac": "01:00:5e:00:00:01", "name": "x"}), "mac"),
        ("set", json!({"mac": MAC, "name": long}), "name"),
        ("set", json!({"mac": MAC, "name": "a\nconfig fastpath"}), "name"),
        ("set", json!({"mac": MAC, "kind": "toaster"}), "kind"),
        ("set", json!({"mac": MAC, "group": &long[..64]}), "group"),
        ("set", json!({"mac": MAC, "paused": "1"}), "paused"),
        ("set", json!({"mac": MAC, "inspect": "none"}), "inspect"),
        ("limit", json!({"mac": MAC, "down": 8}), "up"),
        ("limit", json!({"mac": MAC, "down": 7, "up": 0}), "down"),
        ("limit", json!({"mac": MAC, "down": 0, "up": 10_000_001}), "up"),
        ("limit", json!({"mac": MAC, "down": 0, "up": 4_294_967_304_u64}), "up"),
        ("limit", json!({"group": "x", "down": 8, "up": 8}), "group"),
        ("pause", json!({"mac": MAC}), "until_s"),
        ("pause", json!({"mac": MAC, "until_s": 1_700_000_000}), "until_s"),
        ("pause", json!({"mac": MAC, "until_s": -1}), "until_s"),
        ("pause", json!({"mac": MAC, "group": "x", "until_s": 0}), "group"),
        ("resume", json!({}), "mac"),
        ("forget", json!({"group": "x"}), "group"),
    ] {
        let answer = router.device("ann", method, args);
        let found = (code(&answer), &answer["error"]["argument"]);
        assert_eq!(found, (&json!("argument"), &json!(argument)), "{method}: {answer}");
    }
    let answer = router.device("ann", "pause", json!({"group": "x", "until_s": 0}));
    assert_eq!(answer["error"]["cause"]["code"], "no-group", "{answer}");
    assert_eq!(code(&router.device("eve", "forget", json!({"mac": MAC}))), "denied");
    assert_eq!(code(&router.device("stranger", "forget", json!({"mac": MAC}))), "denied");
    assert_eq!(router.file("fastpath"), BEFORE);
    assert!(router.reloaded().is_empty());
    let set = json!({"mac": MAC, "name": &long[..126]});
    assert_eq!(router.device("ann", "set", set), json!({"changed": true}));
    let broken = router.with("fastpath", "config fastpath\n\toption engine 'off\n");
    let answer = broken.device("ann", "resume", json!({"mac": MAC}));
    assert_eq!((code(&answer), &answer["error"]["line"]), (&json!("broken"), &json!(2)));
}

#[test]
fn refuses_only_while_a_pending_change_could_roll_the_file_back() {
    let router = router("device-pending").with("system", "config system 'main'\n");
    let pause = || router.device("ann", "pause", json!({"mac": MAC, "until_s": 0}));
    let apply = |config: &str| {
        let edit = json!({"config": config, "op": "set", "section": "main", "values": {"a": "1"}});
        let answer = router.call("ann", "apply", json!({"edits": [edit], "seconds": 600}));
        answer["id"].clone()
    };
    let id = apply("fastpath");
    let answer = pause();
    assert_eq!((code(&answer), &answer["error"]["id"]), (&json!("pending"), &id));
    router.call("ann", "revert", json!({"id": id}));
    assert_eq!(router.file("fastpath"), BEFORE);
    let id = apply("system");
    assert_eq!(pause(), json!({"changed": true}));
    let paused = router.file("fastpath");
    router.call("ann", "revert", json!({"id": id}));
    assert_eq!(router.file("fastpath"), paused);
    // Another client of rpcd, whose files are unknown.
    router.apply_elsewhere("fastpath");
    let answer = router.device("ann", "resume", json!({"mac": MAC}));
    assert_eq!(answer["error"]["cause"]["code"], "pending-elsewhere", "{answer}");
    assert_eq!(router.file("fastpath"), paused);
}

#[test]
fn concurrent_callers_lose_no_verb() {
    let router = router("device-race");
    std::thread::scope(|scope| {
        for last in 0..16 {
            let router = &router;
            scope.spawn(move || {
                let args = json!({"mac": format!("02:00:00:00:00:{last:02x}"), "name": "x"});
                assert_eq!(router.device("ann", "set", args), json!({"changed": true}));
            });
        }
    });
    assert_eq!(router.file("fastpath").matches("\nconfig device\n").count(), 16);
}
