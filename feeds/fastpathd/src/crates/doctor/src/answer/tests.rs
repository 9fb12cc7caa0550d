// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::BTreeSet;

use plugin::{Origin, Refusal};
use serde_json::{Value, json};

use super::answer;
use crate::OBJECT;
use crate::checks::CHECKS;
use crate::machine::fake::Fake;

fn fake() -> Fake {
    Fake::new().file("/proc/modules", "").file("/proc/sys/kernel/osrelease", "6.12.1")
}

fn ask(fake: &Fake, method: &str, args: &Value) -> Value {
    ask_from(Origin::Bus, fake, method, args)
}

fn ask_from(origin: Origin, fake: &Fake, method: &str, args: &Value) -> Value {
    let answered = answer(fake, method, args.as_object().unwrap(), origin);
    Value::Object(answered.unwrap_or_else(Refusal::answer))
}

#[test]
fn check_ids_are_unique() {
    let ids: Vec<_> = CHECKS.iter().flat_map(|group| *group).map(|check| check.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn the_signature_lists_the_arguments_of_the_methods() {
    let signature = Value::Object(OBJECT.signature());
    assert!(signature["run"]["checks"].is_array());
    assert!(signature["fix"]["seconds"].is_number());
}

#[test]
fn a_finding_has_code_parameters_and_english_text() {
    let asked = json!({"checks": ["flowtable-missing"], "sample_ms": 0});
    let report = ask(&fake(), "run", &asked);
    assert_eq!(report["summary"]["error"], 1, "{report:#}");
    let finding = &report["findings"][0];
    assert_eq!(finding["id"], "flowtable-missing");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["evidence"][0]["source"], "/proc/modules");
    assert_eq!(finding["code"], "flowtable-missing/absent", "{report:#}");
    assert_eq!(finding["title"], "The kernel does not support flowtables");
    assert!(finding["gain"]["text"].as_str().unwrap().starts_with("About 3x"), "{report:#}");
    let evidence = &finding["evidence"][0];
    assert_eq!(evidence["code"], "module", "{report:#}");
    assert_eq!(evidence["params"], json!({"of": "nft_flow_offload"}));
    assert_eq!(evidence["what"], "kernel module nft_flow_offload");
}

#[test]
fn an_unreadable_source_gives_an_unknown_finding_with_the_reason() {
    let fake = fake().without("/proc/modules");
    let report = ask(&fake, "run", &json!({"checks": ["flowtable-missing"]}));
    assert_eq!(report["summary"]["unknown"], 1, "{report:#}");
    let text = report["findings"][0]["consequence"].as_str().unwrap().to_owned();
    assert!(text.contains("/proc/modules"), "{text}");
    assert!(report["findings"][0]["params"]["why"].as_str().unwrap().contains("/proc/modules"));
}

#[test]
fn refuses_invalid_arguments_by_name() {
    for (method, args, part) in [
        ("run", json!({"checks": "all"}), "'checks'"),
        ("run", json!({"checks": ["no\u{7}thing"]}), "no\\u{7}thing"),
        ("run", json!({"sample_ms": "long"}), "'sample_ms'"),
        ("run", json!({"sample_ms": 10_001}), "'10001'"),
        ("fix", json!({"id": "rm -rf"}), "'id'"),
        ("fix", json!({}), "'id'"),
        ("format", json!({}), "no method 'format'"),
    ] {
        let refused = ask(&fake(), method, &args);
        let text = refused["error"]["text"].as_str().unwrap_or_default();
        assert!(text.contains(part), "{method} {args}: {refused}");
    }
}

/// Returns a router with an empty root password. `writes` is rpcd's answer about the right to
/// `fix`.
fn open_account(writes: &Value) -> Fake {
    fake()
        .file("/etc/shadow", "root::19000:0:99999:7:::\nviewer:$1$x$viewer:19000::::::\n")
        .answers("session access", json!({"access": writes}))
}

#[test]
fn a_reader_does_not_see_accounts_without_a_password() {
    let asked = json!({"checks": ["system-password"], "ubus_rpc_session": "0123"});
    for answer in [
        ask(&open_account(&json!(false)), "run", &asked),
        ask(&open_account(&Value::Null), "run", &asked),
        ask(&fake().file("/etc/shadow", "root::1::::::\n"), "run", &asked),
        ask(
            &open_account(&json!(true)),
            "run",
            &json!({"checks": ["system-password"],
            "ubus_rpc_session": 7}),
        ),
    ] {
        let finding = &answer["findings"][0];
        assert_eq!(finding["severity"], "unknown", "{answer:#}");
        let text = answer.to_string();
        assert!(!text.contains("root") && !text.contains("viewer"), "{answer:#}");
        assert!(text.contains("administrators only"), "{answer:#}");
    }
}

#[test]
fn a_writer_sees_accounts_without_a_password() {
    let router = open_account(&json!(true));
    let asked = json!({"checks": ["system-password"], "ubus_rpc_session": "0123"});
    let answer = ask(&router, "run", &asked);
    assert_eq!(answer["findings"][0]["title"], "No password: root, viewer", "{answer:#}");
    let right = json!({"ubus_rpc_session": "0123", "scope": "ubus", "object": "fastpath.doctor",
        "function": "fix"});
    assert!(router.done().contains(&format!("call session access {right}")), "{:?}", router.done());
}

// rpcd does not forward the user, and ubusd also lets the daemon call `run`.
#[test]
fn a_call_without_a_session_does_not_see_accounts_without_a_password() {
    let (router, asked) = (open_account(&json!(true)), json!({"checks": ["system-password"]}));
    let answer = ask(&router, "run", &asked);
    assert_eq!(answer["findings"][0]["severity"], "unknown", "{answer:#}");
    let text = answer.to_string();
    assert!(!text.contains("root") && !text.contains("viewer"), "{answer:#}");
    let answer = ask_from(Origin::CommandLine, &router, "run", &asked);
    assert_eq!(answer["findings"][0]["severity"], "error", "{answer:#}");
}
