// SPDX-License-Identifier: GPL-2.0-or-later
//! Exec plug-ins, on the stand-in or on the real programs in the folder `CONTRACT_OPENWRT`
//! (`sbin/ubusd`, `sbin/rpcd`, plug-ins in `libexec/rpcd`).

use std::time::{Duration, Instant};

use crate::support::bus::{Bus, LIMIT, within};
use serde_json::{Value, json};
use ubus::{Entry, Map, Status};

/// Plug-in that prints its arguments and the requested answer.
const PLUGIN: &str = r#"#!/bin/sh
case $1 in
    list) cat "$0.list" ;;
    call)
        input=$(cat)
        case $2 in
            echo) printf '{"method":"%s","count":%s,"input":%s}' "$2" "$#" "$input" ;;
            print) cat "$0.print" ;;
            fail) echo '{"still":"counts"}'; exit 3 ;;
            noise) echo oops >&2; echo '{"a":1}' ;;
            mask) echo "{\"mask\":\"$(umask)\"}" ;;
            hang) echo $$ >"$0.pid"; exec sleep 30 ;;
            late) echo '{"a":1}'; echo $$ >"$0.pid"; exec sleep 30 ;;
            wait) until [ -e "$0.print.go" ]; do sleep 0.1; done; echo '{}' ;;
            deaf) exec 0<&-; sleep 0.2; echo '{"received":false}' ;;
        esac ;;
esac
"#;
const LIST: &str = r#"{"echo": {"text": "", "flag": true, "count": 32, "byte": 8, "long": 64,
    "share": 1.5, "list": [], "table": {}, "ubus_rpc_session": ""},
    "print": {}, "fail": {}, "noise": {}, "mask": {}, "hang": {}, "late": {}, "wait": {},
    "deaf": {}, "no table": 5}"#;
/// A single test, because real programs have one plug-in folder, fixed at compile time.
#[test]
fn exec_plugins_are_objects_of_the_bus() {
    let mut bus =
        Bus::start(PLUGIN, &[("test.plug", LIST), ("test.broken", "{"), ("test.empty", "{}")]);
    publishes_the_listed_methods(&bus);
    passes_arguments_unchanged(&bus);
    answers_with_the_output(&bus);
    a_call_times_out(&bus);
    answers_other_calls_during_a_slow_one(&bus);
    lists_methods_again_on_reload(&mut bus);
}

fn publishes_the_listed_methods(bus: &Bus) {
    let [Entry { methods, .. }] = &bus.list("test.plug")[..] else { panic!("it is published") };
    let echo = json!({"text": 3, "flag": 7, "count": 5, "byte": 7, "long": 4, "share": 8,
        "list": 1, "table": 2, "ubus_rpc_session": 3});
    assert_eq!(methods["echo"], echo);
    assert_eq!(methods["print"], json!({}));
    assert!(!methods.contains_key("no table"), "its arguments are not a table");
    assert!(bus.list("test.broken").is_empty(), "no JSON");
    assert!(bus.list("test.empty").is_empty(), "no methods");
    assert!(bus.list("test.plug.list").is_empty(), "not to be run");
    assert_eq!(bus.call("test.plug", "other", &json!({})), Err(Status::MethodNotFound));
}

fn passes_arguments_unchanged(bus: &Bus) {
    let args = json!({"text": "ä\"\n'", "flag": false, "count": -5,
        "long": 9_007_199_254_740_993_i64, "share": 0.25, "list": [1, "x", [true]],
        "table": {"a": {"b": 1}},
        "ubus_rpc_session": "abc", "unknown": {"passes": true}});
    let answer = bus.call("test.plug", "echo", &args).unwrap();
    let Some(Value::Object(input)) = answer.get("input") else { panic!("{answer}") };
    let sorted = |map: &Map| map.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>();
    assert_eq!(sorted(input), sorted(args.as_object().unwrap()));
    assert_eq!((&answer["method"], &answer["count"]), (&json!("echo"), &json!(2)));
    assert_eq!(bus.call("test.plug", "deaf", &json!({})), Ok(json!({"received": false})));
    let long = |length| bus.call("test.plug", "echo", &json!({"text": "x".repeat(length)}));
    assert_eq!(long(60_000).unwrap()["input"]["text"].as_str().map(str::len), Some(60_000));
    assert_eq!(long(70_000), Err(Status::InvalidArgument), "only a pipe's worth goes in");
}

fn answers_with_the_output(bus: &Bus) {
    let all = json!({"t": true, "n": null, "i": -1, "l": 4_294_967_296_i64, "d": 2.5, "s": "ö",
        "a": [1, {"x": "y"}], "o": {"p": []}});
    assert_eq!(bus.printed(&all.to_string()), Ok(all));
    assert_eq!(bus.printed("  \n{}\n"), Ok(json!({})));
    assert_eq!(bus.printed("{\"a\":1} and more {"), Ok(json!({"a": 1})), "the first counts");
    for refused in [" ", "word", "[1]", "7", "\"text\"", "{\"a\":", "{\"a\":1", "x{\"a\":1}"] {
        assert_eq!(bus.printed(refused), Err(Status::InvalidArgument), "{refused}");
    }
    assert_eq!(bus.printed(""), Err(Status::NoData));
    assert_eq!(bus.printed("null\n"), Err(Status::NoData));
    let nested = |depth: usize| format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(bus.printed(&nested(30)).is_ok());
    assert_eq!(bus.printed(&nested(32)), Err(Status::InvalidArgument), "nested too deep");
    assert_eq!(bus.call("test.plug", "fail", &json!({})), Ok(json!({"still": "counts"})));
    assert_eq!(bus.call("test.plug", "noise", &json!({})), Ok(json!({"a": 1})));
    assert_eq!(bus.call("test.plug", "mask", &json!({})), Ok(json!({"mask": "0077"})));
}

fn a_call_times_out(bus: &Bus) {
    let start = Instant::now();
    let answer = bus.call("test.plug", "hang", &json!({}));
    assert_eq!(answer, Err(Status::NoData), "as when a plugin says nothing");
    assert!(start.elapsed() >= LIMIT, "{:?}", start.elapsed());
    within(|| bus.killed());
    assert_eq!(bus.call("test.plug", "late", &json!({})), Ok(json!({"a": 1})), "it has answered");
    within(|| bus.killed());
}

fn answers_other_calls_during_a_slow_one(bus: &Bus) {
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| bus.call("test.plug", "wait", &json!({})));
        std::thread::sleep(Duration::from_millis(100));
        assert!(bus.call("test.plug", "echo", &json!({})).is_ok());
        assert!(!slow.is_finished(), "the first call still runs");
        std::fs::write(bus.plugins.join("test.plug.print.go"), "").unwrap();
        assert_eq!(slow.join().unwrap(), Ok(json!({})));
    });
}

fn lists_methods_again_on_reload(bus: &mut Bus) {
    bus.install(PLUGIN, "test.more", r#"{"echo": {}}"#);
    assert!(bus.list("test.more").is_empty(), "not yet");
    std::fs::remove_file(bus.plugins.join("test.plug")).unwrap();
    bus.reload();
    within(|| !bus.list("test.more").is_empty());
    assert!(bus.list("test.plug").is_empty(), "it is gone");
    assert!(!bus.list("session").is_empty(), "rpcd's own are back too");
    assert!(bus.call("test.more", "echo", &json!({})).is_ok());
}
