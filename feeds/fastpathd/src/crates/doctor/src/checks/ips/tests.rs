// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::*;
use crate::facts::ips::{Ips, Queue, Thread};
use crate::facts::system::System;
use crate::texts::Texts;
use crate::texts::tests::{assert_texts, found_by};

/// 22 November 2026, in Unix ms.
const NOW: u64 = 1_795_305_600_000;

fn inline() -> Value {
    json!({
        "state": "inline", "why": "", "enabled": true, "mode": "nfq", "fail": "open",
        "suricata": {"refused": ""},
        "queues": [{"queue": 0, "bound": true}, {"queue": 1, "bound": true}],
        "counters": {"uninspected_packets": 0, "inspected_packets": 1000},
        "visible": [{"kind": "plain", "bytes": 900}, {"kind": "tls", "bytes": 100}],
        "rules": {"state": "good", "message": "", "loaded": 40_000, "checked_ms": NOW - 2 * DAY},
    })
}

fn queue(number: u64, full: u64) -> Queue {
    Queue { number, full, reader: 0, given: 10_000 }
}

fn running(arguments: &str, management: &str) -> SuricataProcess {
    let thread = |name: &str, cpus: &str| Thread { name: name.into(), cpus: cpus.into() };
    SuricataProcess {
        pid: "70".into(),
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        threads: vec![thread("W#01", "2"), thread("W#02", "3"), thread("FM#01", management)],
    }
}

fn healthy() -> Facts {
    let plan = json!({
        "enabled": true, "active": true,
        "cpus": [
            {"cpu": 0, "role": "forwarding"}, {"cpu": 1, "role": "control"},
            {"cpu": 2, "role": "inspection"}, {"cpu": 3, "role": "inspection"},
        ],
        "suricata": {"pinned": true, "management": "1", "workers": "2-3"},
        "devices": [{"irqs": [{"have": "0"}], "rps": [{"have": ""}]}],
    });
    let ips = Ips {
        state: inline().into(),
        version: Some("This is Suricata version 8.0.6 RELEASE".to_owned().into()),
        queues: vec![queue(0, 0), queue(1, 0)],
        running: vec![running("suricata -q 0 -q 1", "1")],
    };
    let mut facts = Facts { ips, ..Facts::default() };
    facts.cpu.plan = plan.into();
    facts.system = System { now_ms: NOW, ..System::default() };
    facts
}

/// Returns a healthy router with this value of `field` in its inspection state.
fn differing(field: &str, value: Value) -> Facts {
    let mut state = inline();
    state[field] = value;
    let mut facts = healthy();
    facts.ips.state = state.into();
    facts
}

fn found(id: &str, facts: &Facts) -> Finding {
    found_by(CHECKS, id, facts)
}

#[test]
fn inline_or_disabled_inspection_has_no_finding() {
    let off = json!({
        "state": "off", "enabled": false, "mode": "nfq", "queues": [], "visible": [],
        "counters": {"uninspected_packets": 0}, "rules": {"state": "builtin"},
    });
    let mut idle = healthy();
    idle.ips.state = off.into();
    idle.ips.running.clear();
    idle.ips.queues.clear();
    for check in CHECKS {
        assert_eq!((check.run)(&healthy()), Ok(None), "{}", check.id);
        assert_eq!((check.run)(&idle), Ok(None), "{}", check.id);
    }
}

#[test]
fn reports_inspection_of_copies() {
    let finding = found("ips-watching", &differing("mode", json!("ids")));
    assert!(matches!(finding.fix, Some(Fix::Change(_))));
    let mut facts = differing("enabled", json!(false));
    assert_eq!(watching(&facts), Ok(None));
    facts.ips.running = vec![running("suricata --pcap=br0", "0-3")];
    assert_eq!(found("ips-watching", &facts).case, "other");
}

#[test]
fn a_full_queue_that_fails_open_is_an_error() {
    let mut inspection = inline();
    inspection["state"] = json!("inline-degraded");
    inspection["cause"]["code"] = json!("queue-full-open");
    inspection["why"] = json!("Suricata cannot keep up.");
    let facts = Facts { ips: Ips { state: inspection.into(), ..healthy().ips }, ..healthy() };
    assert_eq!(found("ips-away", &facts).severity, Severity::Error);
}

#[test]
fn each_degraded_state_has_its_severity_and_text() {
    for (state, severity) in [
        ("failing-open", Severity::Error),
        ("failing-closed", Severity::Error),
        ("rules-rejected", Severity::Error),
        ("inline-degraded", Severity::Warning),
        ("starting", Severity::Info),
    ] {
        let mut inspection = inline();
        inspection["state"] = json!(state);
        inspection["why"] = json!("Suricata is not running.");
        let facts = Facts { ips: Ips { state: inspection.into(), ..healthy().ips }, ..healthy() };
        let finding = found("ips-away", &facts);
        assert_eq!(finding.severity, severity);
        let text = Texts::english().finding("ips", "ips-away", &finding, "consequence");
        assert_eq!(text, "Suricata is not running.");
    }
}

#[test]
fn an_unread_queue_is_an_error() {
    let mut facts = healthy();
    facts.ips.queues.remove(1);
    assert_eq!(found("ips-queue-unread", &facts).evidence[0].of, "1");
}

#[test]
fn reports_the_end_of_a_series_in_advance() {
    let mut facts = healthy();
    let mut severity = |version: &str, now: u64| {
        facts.ips.version = Some(format!("This is Suricata version {version} RELEASE").into());
        facts.system.now_ms = now;
        end_of_life(&facts).unwrap().map(|finding| {
            assert_texts("ips-end-of-life", &finding);
            finding.severity
        })
    };
    assert_eq!(severity("6.0.12", NOW), Some(Severity::Warning));
    assert_eq!(severity("6.0.12", 0), Some(Severity::Warning), "the clock was never set");
    assert_eq!(severity("5.0.1", NOW), Some(Severity::Warning));
    assert_eq!(severity("7.0.11", NOW), Some(Severity::Warning));
    assert_eq!(severity("8.0.6", NOW), None);
    assert_eq!(severity("8.0.9", 1_846_627_200_000 - 30 * DAY), Some(Severity::Advice));
    assert_eq!(severity("9.0.0", NOW), None);
    facts.ips.version = Some("rubbish".to_owned().into());
    assert!(end_of_life(&facts).is_err());
}

#[test]
fn few_drops_are_only_a_note() {
    let mut facts = healthy();
    facts.ips.queues = vec![queue(0, 3), queue(1, 0)];
    assert_eq!(found("ips-drops", &facts).severity, Severity::Info);
    facts.ips.queues = vec![queue(0, 300)];
    assert_eq!(found("ips-drops", &facts).severity, Severity::Warning);
}

#[test]
fn reports_uninspected_packets() {
    let counters = |n: u64| json!({"uninspected_packets": n, "inspected_packets": 10});
    let few = found("ips-uninspected", &differing("counters", counters(2)));
    let many = found("ips-uninspected", &differing("counters", counters(2000)));
    assert_eq!((few.severity, many.severity), (Severity::Info, Severity::Advice));
}

#[test]
fn reports_old_and_failed_rules() {
    let rules = |state: &str, days: u64| {
        let checked = if state == "builtin" { 0 } else { NOW - days * DAY };
        let rules = json!({"state": state, "message": "et: 404", "checked_ms": checked});
        found("ips-rules", &differing("rules", rules))
    };
    assert_eq!(rules("good", 8).severity, Severity::Advice);
    assert_eq!(rules("good", 31).severity, Severity::Warning);
    assert_eq!(rules("failed", 1).severity, Severity::Warning);
    let builtin = rules("builtin", 1);
    assert_eq!((builtin.severity, builtin.case), (Severity::Warning, "builtin"));
    // The rules are old because the source has no updates.
    let same = json!({"state": "good", "message": "", "checked_ms": NOW - DAY,
        "updated_ms": NOW - 90 * DAY});
    assert_eq!(super::rules(&differing("rules", same)), Ok(None));
    // Older daemons report no `cause`.
    assert!(rules("failed", 1).evidence.iter().all(|seen| seen.cause.is_none()));
}

#[test]
fn evidence_of_a_failure_has_its_cause() {
    let server = json!({"code": "server-error", "params": {"url": "https://h.example/x"}});
    let sources = json!([{"name": "et", "message": "404", "cause": server}]);
    let cause = json!({"code": "sources", "params": {"said": "et: 404"}});
    let finding = found(
        "ips-rules",
        &differing(
            "rules",
            json!({"state": "failed", "message": "et: 404", "checked_ms": NOW,
                "cause": cause, "sources": sources}),
        ),
    );
    let wanted = json!({"kind": "rules", "code": "sources", "params": {"said": "et: 404"},
        "sources": sources});
    let seen = finding.evidence.iter().find(|seen| seen.what == "message").unwrap();
    assert_eq!(seen.cause.as_ref(), Some(&wanted));
}

#[test]
fn reports_threads_on_a_forwarding_cpu() {
    let mut facts = healthy();
    facts.ips.running = vec![running("suricata -q 0", "0-3")];
    let finding = found("ips-threads", &facts);
    assert_eq!(finding.evidence[0].of, "FM#01");
    assert_eq!(finding.fix, None, "the plan is on already");
    // Without a plan, interrupts arrive on CPU 0, where management may run.
    let mut plan = facts.cpu.plan.get().unwrap().clone();
    for field in ["enabled", "active"] {
        plan[field] = false.into();
    }
    plan["suricata"]["pinned"] = false.into();
    facts.cpu.plan = plan.clone().into();
    assert!(found("ips-threads", &facts).fix.is_some());
    // Transmit queues do not receive packets.
    let others = json!([
        {"name": "virtio4-config", "have": "0-3"}, {"name": "virtio4-input.0", "have": "0"},
        {"name": "virtio4-output.0", "have": "0-3"}, {"name": "eth1-tx-0", "have": "1-3"},
    ]);
    let mut sending = plan.clone();
    sending["devices"][0]["irqs"] = others;
    facts.cpu.plan = sending.into();
    assert!(found("ips-threads", &facts).fix.is_some());
    // No CPU counts as a forwarding CPU if packets arrive on all.
    plan["devices"][0]["irqs"][0]["have"] = "0-3".into();
    facts.cpu.plan = plan.into();
    assert_eq!(threads(&facts), Ok(None));
}

#[test]
fn reports_the_share_of_encrypted_bytes() {
    let visible = json!([{"kind": "plain", "bytes": 100}, {"kind": "encrypted", "bytes": 900}]);
    let finding = found("ips-encrypted", &differing("visible", visible));
    assert_eq!((finding.severity, &finding.params["share"]), (Severity::Info, &json!(90)));
}
