// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use serde_json::{Value, json};

use crate::core::Core;
use crate::doctor::{Effect, Event, Marks, Refused, ReportReason};
use crate::effect::Effect as AnyEffect;
use crate::fixture::{ask, configuration, core};

fn finding(id: &str, severity: &str, accepted: &[&str]) -> Value {
    json!({"id": id, "code": id, "severity": severity, "title": format!("{id} is wrong"),
        "accepted": accepted, "evidence": [], "group": "system"})
}

fn report(at_ms: u64) -> Value {
    json!({"at_ms": at_ms, "took_ms": 2000,
        "summary": {"error": 1, "warning": 0, "advice": 1, "info": 1, "unknown": 2, "ok": 60,
            "accepted": 1},
        "findings": [finding("system-wan-open", "error", &[]), finding("lro-on", "warning", &["a"]),
            finding("rings-small", "advice", &[]), finding("x", "unknown", &[]),
            finding("system-root", "info", &[])]})
}

fn marks(report: i64) -> Marks {
    Marks { report: Some((report, 0)), ..Marks::default() }
}

fn effects(core: &mut Core, second: u64, marks: Marks) -> Vec<AnyEffect> {
    core.now.mono = Duration::from_secs(second);
    core.now.unix_ms = 1_000_000 + second * 1000;
    core.doctor_second(marks)
}

fn doctor(core: &mut Core) -> Value {
    ask(core, "status", json!({}))["doctor"].clone()
}

const RUN: AnyEffect = AnyEffect::Doctor(Effect::Run);
const READ: AnyEffect = AnyEffect::Doctor(Effect::Read);

#[test]
fn status_explains_why_there_is_no_report() {
    let mut core = core();
    assert_eq!(effects(&mut core, 1, Marks::default()), []);
    let shown = doctor(&mut core);
    assert_eq!((&shown["last"], &shown["cause"]["code"]), (&Value::Null, &json!("first")));
    assert_eq!(effects(&mut core, 1000, Marks::default()), [RUN]);
    let shown = doctor(&mut core);
    assert_eq!((&shown["running"], &shown["cause"]["code"]), (&json!(true), &json!("running")));
    core.doctor_event(Event::Ran(Err(Refused::Failed("no rpcd".to_owned()))));
    let shown = doctor(&mut core);
    assert_eq!(shown["why"], "The checks failed to run: no rpcd");
    assert_eq!((&shown["running"], &shown["last"]), (&json!(false), &Value::Null));
}

/// Page, command line and metrics show `status.doctor.last`.
#[test]
fn findings_that_have_ended_are_not_reported() {
    let ids = ["accounting-off", "flowtable-differs", "ips-away", "latency-missing"];
    let mut findings: Vec<Value> = ids.iter().map(|id| finding(id, "error", &[])).collect();
    findings.extend([
        finding("conntrack-full", "warning", &["a"]),
        finding("system-daemon", "error", &[]),
        finding("system-wan-open", "error", &[]),
    ]);
    let report = json!({"at_ms": 1, "took_ms": 1, "findings": findings,
        "summary": {"error": 6, "warning": 0, "advice": 0, "info": 0, "unknown": 0, "ok": 3,
            "accepted": 1}});
    let mut core = core();
    core.doctor_event(Event::Read(Ok(report)));
    core.configuration_read(&{
        let mut values = configuration("flowtable");
        values["ips"] = json!({".type": "ips", ".name": "ips", ".index": 1, "enabled": "1"});
        values["latency"] = json!({".type": "latency", ".name": "latency", "enabled": "1",
            "download": "50000", "upload": "10000"});
        values
    });
    core.ips_event(crate::ips::Event::Probed(crate::ips::inspection::ProbeSample::default()));
    let last = |core: &mut Core| doctor(core)["last"].clone();
    let shown = last(&mut core);
    let worst = |shown: &Value| -> Vec<String> {
        let named = shown["worst"].as_array().unwrap().iter();
        named.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    // Inspection is still starting, and latency control waits for the network.
    let still = ["ips-away", "latency-missing", "system-wan-open"];
    assert_eq!(worst(&shown), still);
    assert_eq!((&shown["counts"]["error"], &shown["counts"]["ok"]), (&json!(3), &json!(7)));
    assert_eq!(shown["counts"]["accepted"], 0);
    core.configuration_read(&configuration("flowtable"));
    let shown = last(&mut core);
    assert_eq!(worst(&shown), ["system-wan-open"]);
    assert_eq!(shown["ended"].as_array().unwrap().len(), 6, "{shown}");
    assert_eq!((&shown["counts"]["error"], &shown["counts"]["ok"]), (&json!(1), &json!(9)));
}

/// The WAN goes down without a change of the configuration.
#[test]
fn a_change_of_the_routers_state_triggers_a_run() {
    let mut core = crate::fixture::running();
    effects(&mut core, 1, marks(1));
    core.doctor_event(Event::Read(Ok(report(1_001_000))));
    assert_eq!(effects(&mut core, 200, marks(1)), []);
    let mut dump = crate::lab::lab_dump();
    dump["interface"][1]["up"] = json!(false);
    core.interfaces_read(&dump);
    assert_eq!(effects(&mut core, 201, marks(1)), []);
    assert_eq!(effects(&mut core, 220, marks(1)), [], "settling");
    assert_eq!(effects(&mut core, 221, marks(1)), [RUN]);
}

#[test]
fn a_new_report_is_read_whoever_requested_it() {
    let mut core = core();
    assert_eq!(effects(&mut core, 1, marks(1)), [READ]);
    assert_eq!(effects(&mut core, 2, marks(1)), [], "once");
    core.doctor_event(Event::Read(Ok(report(1_000_000))));
    let shown = doctor(&mut core);
    assert_eq!(shown["why"], "");
    let last = &shown["last"];
    assert_eq!(last["at_ms"], 1_000_000);
    assert_eq!(last["counts"]["accepted"], 1);
    let named = json!([
        {"id": "system-wan-open", "code": "system-wan-open", "severity": "error",
         "title": "system-wan-open is wrong"},
        {"id": "rings-small", "code": "rings-small", "severity": "advice",
         "title": "rings-small is wrong"},
    ]);
    assert_eq!(last["worst"], named, "neither notes nor accepted findings");
    assert_eq!(effects(&mut core, 300, marks(1)), [], "the next run is a day after it");
    assert_eq!(effects(&mut core, 301, marks(2)), [READ]);
}

#[test]
fn an_unreadable_report_keeps_the_previous_one_and_is_retried() {
    let mut core = core();
    core.doctor_event(Event::Read(Ok(report(1_000_000))));
    for unreadable in [Ok(json!({"findings": "many"})), Err("no rpcd".to_owned())] {
        let second = core.now.mono.as_secs() + 61;
        assert_eq!(effects(&mut core, second, marks(2)), [READ]);
        core.doctor_event(Event::Read(unreadable));
        assert_eq!(doctor(&mut core)["last"]["at_ms"], 1_000_000);
        assert_eq!(effects(&mut core, second + 1, marks(2)), []);
    }
}

#[test]
fn a_newer_report_clears_a_failed_run() {
    let mut core = core();
    core.doctor_event(Event::Read(Ok(report(1_000_000))));
    core.doctor_event(Event::Ran(Err(Refused::Failed("lost".to_owned()))));
    core.doctor_event(Event::Read(Ok(report(1_000_000))));
    assert_eq!(doctor(&mut core)["cause"]["code"], "failed", "the same report");
    core.doctor_event(Event::Read(Ok(report(1_000_001))));
    assert_eq!(doctor(&mut core)["why"], "");
}

#[test]
fn a_new_configuration_rereads_the_report() {
    let mut core = core();
    effects(&mut core, 1, marks(1));
    core.configuration_read(&configuration("off"));
    assert_eq!(effects(&mut core, 2, marks(1)), [READ]);
}

#[test]
fn each_change_and_each_replaced_file_triggers_a_run() {
    let of = |change: i64, settings: i64| Marks {
        change: Some((change, 0)),
        settings: Some((settings, 0)),
        ..marks(1)
    };
    let mut core = core();
    effects(&mut core, 1, of(1, 1));
    core.doctor_event(Event::Read(Ok(report(1_000_000))));
    let mut second = 300;
    for then in [of(2, 1), of(2, 2), of(3, 2)] {
        assert_eq!(effects(&mut core, second, then), []);
        assert_eq!(effects(&mut core, second + 30, then), [RUN], "{then:?}");
        core.doctor_event(Event::Ran(Ok(())));
        core.doctor_event(Event::Read(Ok(report(1_000_000 + (second + 30) * 1000))));
        second += 100;
    }
}

#[test]
fn the_schema_lists_all_report_reasons() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../../../schema/types.json")).unwrap();
    let codes = &schema["$defs"]["DoctorState"]["properties"]["cause"]["properties"]["code"];
    let mut all = vec![""];
    all.extend(ReportReason::CODES);
    assert_eq!(codes["enum"], json!(all));
}
