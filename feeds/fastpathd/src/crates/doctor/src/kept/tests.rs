// SPDX-License-Identifier: GPL-2.0-or-later

use plugin::{Origin, Refusal};
use serde_json::{Value, json};

use super::FILE;
use crate::answer::answer;
use crate::audience::PRIVATE;
use crate::machine::Machine;
use crate::machine::fake::Fake;

/// Returns a router without flowtables and with an empty root password.
fn router() -> Fake {
    Fake::new()
        .file("/proc/modules", "")
        .file("/proc/sys/kernel/osrelease", "6.12.1")
        .file("/etc/shadow", "root::19000:0:99999:7:::\n")
        .answers("session access", json!({"access": false}))
}

fn ask(machine: &Fake, origin: Origin, method: &str, args: &Value) -> Value {
    let answered = answer(machine, method, args.as_object().unwrap(), origin);
    Value::Object(answered.unwrap_or_else(Refusal::answer))
}

fn found<'a>(report: &'a Value, id: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|found| found["id"] == id).unwrap_or(&Value::Null)
}

/// Runs the checks in the background without a session, like the daemon.
fn background(machine: &Fake) -> Value {
    ask(machine, Origin::Bus, "run", &json!({"background": true, "sample_ms": 1}))
}

#[test]
fn stores_the_last_complete_report() {
    let router = router();
    let none = ask(&router, Origin::Bus, "last", &json!({}));
    assert_eq!(none["error"]["code"], "none", "{none}");
    let ran = ask(&router, Origin::Bus, "run", &json!({"sample_ms": 1}));
    assert_eq!(ask(&router, Origin::Bus, "last", &json!({})), ran);
    let _ = ask(&router, Origin::Bus, "run", &json!({"checks": ["gro-off"], "sample_ms": 1}));
    assert_eq!(ask(&router, Origin::Bus, "last", &json!({})), ran, "a report has all checks");
    let _ = ask(&router, Origin::Bus, "run", &json!({"sample_ms": 0}));
    assert_eq!(ask(&router, Origin::Bus, "last", &json!({})), ran, "and all results");
}

#[test]
fn a_background_run_stores_all_findings_and_answers_as_to_a_reader() {
    let router = router();
    let own = background(&router);
    assert_eq!(found(&own, "system-password")["severity"], "unknown", "{own:#}");
    assert!(router.read(FILE).unwrap().contains("No password: root"));
    let plain = ask(&self::router(), Origin::Bus, "run", &json!({"sample_ms": 1}));
    assert_eq!(own, plain, "in the same order, too");
    let viewer = ask(&router, Origin::Bus, "last", &json!({"ubus_rpc_session": "0123"}));
    assert_eq!(viewer, own);
    let text = viewer.to_string();
    assert!(!text.contains("No password") && text.contains("administrators only"), "{text}");
    let root = ask(&router, Origin::CommandLine, "last", &json!({}));
    assert_eq!(found(&root, "system-password")["title"], "No password: root", "{root:#}");
    assert_eq!(root["findings"][0]["severity"], "error", "worst first");
}

#[test]
fn a_session_gains_no_rights_with_a_background_run() {
    let router = router();
    let asked = json!({"background": true, "sample_ms": 1, "ubus_rpc_session": "0123"});
    let _ = ask(&router, Origin::Bus, "run", &asked);
    assert!(!router.read(FILE).unwrap().contains("No password"), "it was read");
    let refused = ask(&router, Origin::Bus, "run", &json!({"background": "yes"}));
    assert!(refused["error"]["text"].as_str().unwrap().contains("'background'"), "{refused}");
}

#[test]
fn a_readers_run_keeps_private_findings_of_the_previous_report() {
    let router = router();
    let _ = ask(&router, Origin::CommandLine, "run", &json!({"sample_ms": 1}));
    let _ = ask(&router, Origin::Bus, "run", &json!({"sample_ms": 1}));
    let root = ask(&router, Origin::CommandLine, "last", &json!({}));
    assert_eq!(found(&root, "system-password")["severity"], "error", "{root:#}");
    assert_eq!(root["findings"][0]["severity"], "error", "worst first");
}

#[test]
fn readers_and_administrators_get_the_same_findings_except_private_ones() {
    let router = router();
    let all = ask(&router, Origin::CommandLine, "run", &json!({"sample_ms": 1}));
    let less = ask(&router, Origin::Bus, "run", &json!({"sample_ms": 1}));
    for of_all in all["findings"].as_array().unwrap() {
        let id = of_all["id"].as_str().unwrap();
        assert!(PRIVATE.contains(&id) || found(&less, id) == of_all, "{id}");
    }
}

const ACCEPTED: &str = "config accepted\n\toption check 'flowtable-missing/absent'\n\
    \toption severity 'error'\n\tlist about 'nft_flow_offload'\n";

#[test]
fn a_private_finding_cannot_be_accepted() {
    let accepted = "config accepted\n\toption check 'system-password'\n\tlist about 'root'\n";
    let router = router().file("/etc/config/fastpath", accepted);
    let root = ask(&router, Origin::CommandLine, "run", &json!({"sample_ms": 1}));
    let finding = found(&root, "system-password");
    assert_eq!((&finding["severity"], &finding["accepted"]), (&json!("error"), &json!([])));
}

#[test]
fn an_accepted_finding_is_marked_and_counted_separately() {
    let before = background(&router());
    let finding = found(&before, "flowtable-missing");
    assert_eq!(finding["accepted"], json!([]));
    assert_eq!(finding["about"], json!(["nft_flow_offload"]));
    assert_eq!(before["summary"]["accepted"], 0);
    let router = router().file("/etc/config/fastpath", ACCEPTED);
    let after = background(&router);
    let sections = found(&after, "flowtable-missing")["accepted"].as_array().unwrap();
    assert_eq!(sections.len(), 1, "{after:#}");
    assert!(sections[0].as_str().unwrap().starts_with("cfg"), "{sections:?}");
    assert_eq!(after["summary"]["accepted"], 1);
    let errors = |report: &Value| report["summary"]["error"].as_u64().unwrap();
    assert_eq!(errors(&after) + 1, errors(&before));
}

#[test]
fn an_acceptance_applies_to_the_stored_report() {
    let router = router();
    let _ = background(&router);
    let router = router.file("/etc/config/fastpath", ACCEPTED);
    assert_eq!(ask(&router, Origin::Bus, "last", &json!({}))["summary"]["accepted"], 1);
    let router = router.file("/etc/config/fastpath", "config accepted\n\toption check 'rx");
    assert_eq!(ask(&router, Origin::Bus, "last", &json!({}))["summary"]["accepted"], 0);
}

// An edit that ends the acceptance needs rpcd's name of the section.
#[test]
fn acceptances_report_section_names_of_rpcd() {
    let values = json!({"cfg0a92bd": {".type": "accepted", ".anonymous": true,
        "check": "flowtable-missing/absent", "about": ["nft_flow_offload"]}});
    let router = router()
        .answers("session create", json!({"ubus_rpc_session": "ours"}))
        .answers("session grant", json!({}))
        .answers("uci get", json!({"values": values}));
    let report = background(&router);
    assert_eq!(found(&report, "flowtable-missing")["accepted"], json!(["cfg0a92bd"]));
}

#[test]
fn a_full_file_system_fails_only_a_background_run() {
    let router = router().full();
    let report = ask(&router, Origin::CommandLine, "run", &json!({"sample_ms": 1}));
    assert!(report["findings"].is_array(), "{report}");
    let refused = background(&router);
    assert_eq!(refused["error"]["code"], "failed", "the router's own is for the file: {refused}");
}
