// SPDX-License-Identifier: GPL-2.0-or-later

use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{Counters, Entry, TcpState};
use flows::RecordTimeouts;
use ips::EventLine;
use serde_json::{Value, json};

use super::*;
use crate::conntrack::Event as ConntrackEvent;
use crate::export::{ExportReason, ExportState, Progress};
use crate::fixture::{
    ask, configuration, established, lab_dump, lab_firewall, lab_network, running,
};

fn exporting(options: Value) -> Value {
    let mut values = configuration("flowtable");
    values["store"] = json!({".type": "export", ".name": "store", "host": "192.0.2.10"});
    if let (Some(section), Value::Object(options)) = (values["store"].as_object_mut(), options) {
        section.extend(options);
    }
    values
}

fn exports(effects: Vec<AnyEffect>) -> Vec<Effect> {
    let export = |effect| match effect {
        AnyEffect::Export(effect) => Some(effect),
        _ => None,
    };
    effects.into_iter().filter_map(export).collect()
}

fn serials(effects: Vec<AnyEffect>) -> Vec<Vec<Serial>> {
    let serials = |effect| match effect {
        Effect::Run(wanted) => wanted.into_iter().map(|(serial, _)| serial).collect(),
        other => panic!("{other:?}"),
    };
    exports(effects).into_iter().map(serials).collect()
}

#[test]
fn exporters_follow_the_configuration() {
    let mut core = running();
    assert_eq!(serials(core.configuration_read(&exporting(json!({})))), [[1]]);
    assert!(exports(core.configuration_read(&exporting(json!({})))).is_empty(), "the same");
    let other = exporting(json!({"port": "2055"}));
    assert_eq!(serials(core.configuration_read(&other)), [[2]]);
    let mut two = other.clone();
    two["second"] = json!({".type": "export", ".name": "second", "host": "192.0.2.11"});
    assert_eq!(serials(core.configuration_read(&two)), [[2, 3]], "the first exporter is unchanged");
    assert_eq!(serials(core.configuration_read(&configuration("flowtable"))), [[0; 0]]);
    assert_eq!(ask(&mut core, "exports", json!({})), json!({"exports": []}));
}

#[test]
fn an_invalid_export_section_changes_nothing() {
    let mut core = running();
    core.configuration_read(&exporting(json!({})));
    for bad in [
        json!({"host": "store.example"}),
        json!({"port": "0"}),
        json!({"hots": "x"}),
        json!({"kind": "kafka"}),
        json!({"template_refresh": "10", "kind": "syslog"}),
        json!({"event": "http", "kind": "syslog"}),
    ] {
        assert!(core.configuration_read(&exporting(bad.clone())).is_empty());
        let problem = ask(&mut core, "status", json!({}))["problems"][0].take();
        let option = bad.as_object().unwrap().keys().next().unwrap();
        assert_eq!((&problem["section"], &problem["option"]), (&json!("store"), &json!(option)));
        assert_eq!(ask(&mut core, "exports", json!({}))["exports"][0]["host"], "192.0.2.10");
    }
}

/// An upgraded router keeps its engine and its other exporters.
#[test]
fn a_section_of_kind_redis_is_ignored_and_reported() {
    let mut core = crate::fixture::core();
    let mut values = exporting(json!({}));
    values["queue"] = json!({".type": "export", ".name": "queue", "kind": "redis",
        "host": "192.0.2.11", "username": "gw", "password": "geheim", "redis_key": "eve"});
    core.configuration_read(&values);
    assert_eq!(core.configuration.error(), "");
    let names = ask(&mut core, "exports", json!({}))["exports"].take();
    let names: Vec<&Value> = names.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["store"]);
    let status = ask(&mut core, "status", json!({}));
    assert!(!status.to_string().contains("geheim"), "{status}");
    let problem = &status["problems"][0];
    assert_eq!((&problem["section"], &problem["option"]), (&json!("queue"), &json!("kind")));
    assert_eq!(problem["code"], "redis-removed");
    let health = status["health"].as_array().unwrap();
    let found = health.iter().find(|found| found["code"] == "config-left-out").unwrap();
    assert!(found["text"].as_str().unwrap().contains("use kind 'syslog' with rsyslog or Vector"));
    // A change of such a section is refused.
    let report = crate::configuration::FileReport::of(&values);
    assert_eq!(report.problems.len(), 1);
    values.as_object_mut().unwrap().remove("queue");
    core.configuration_read(&values);
    assert_eq!(ask(&mut core, "status", json!({}))["problems"], json!([]));
}

#[test]
fn two_exports_with_the_same_name_are_refused() {
    let mut core = running();
    let mut values = exporting(json!({}));
    values["second"] = json!({".type": "export", ".name": "second", "kind": "syslog",
        "host": "192.0.2.11", "name": "store"});
    assert!(core.configuration_read(&values).is_empty());
    let problem = ask(&mut core, "status", json!({}))["problems"][0].take();
    assert_eq!(problem["text"], "section 'second', option 'name', value 'store': is there twice");
}

#[test]
fn only_selected_event_types_are_forwarded() {
    let mut core = running();
    let alert = EventLine { kind: ips::EventKind::Alert, text: b"{}".as_slice().into() };
    let batch = || ips::Batch { lines: vec![alert.clone()], ..ips::Batch::default() };
    core.configuration_read(&exporting(json!({})));
    assert!(exports(core.events_read(batch())).is_empty(), "no syslog collector");
    core.configuration_read(&exporting(json!({"kind": "syslog", "event": "flow"})));
    assert!(exports(core.events_read(batch())).is_empty(), "alerts are not selected");
    core.configuration_read(&exporting(json!({"kind": "syslog", "event": "flow alert"})));
    let effects = exports(core.events_read(batch()));
    let [Effect::Forward(lines)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*lines, batch().lines);
    assert_eq!(
        (core.export.timeouts(), core.export.set_interfaces(core.network.topology())),
        (None, None)
    );
    let row = ask(&mut core, "exports", json!({}))["exports"][0].take();
    let shown = (&row["kind"], &row["protocol"], &row["port"]);
    assert_eq!(shown, (&json!("syslog"), &json!("tcp"), &json!(514)));
}

#[test]
fn an_ended_connection_becomes_a_record() {
    let mut core = running();
    core.configuration_read(&exporting(json!({})));
    let begin = Entry { orig_counters: None, reply_counters: None, ..established(1, false) };
    let events = vec![ctnetlink::Event::New(begin)];
    assert!(exports(core.conntrack_event(ConntrackEvent::Changed(events))).is_empty());
    let end = Entry {
        tcp_state: Some(TcpState::TimeWait),
        orig_counters: Some(Counters { packets: 10, bytes: 1000 }),
        ..established(1, false)
    };
    let events = vec![ctnetlink::Event::Destroy(end)];
    let effects = exports(core.conntrack_event(ConntrackEvent::Changed(events)));
    let [Effect::Send(queue)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(queue.len(), 1);
    // Crates `flows` and `ipfix` test the records and their encoding, so only the indexes of
    // br-lan.10 and pppoe-wan are tested here.
    let topology = core.network.view().topology();
    let index = |device: &str| topology.link_named(device).map_or(0, |link| link.index);
    assert_eq!([index("br-lan.10"), index("pppoe-wan"), index("gone")], [5, 8, 0]);
}

#[test]
fn the_shortest_timeouts_of_all_collectors_apply() {
    let mut core = running();
    let mut values = exporting(json!({"active_timeout": "300", "idle_timeout": "20"}));
    values["second"] = json!({".type": "export", ".name": "second", "host": "192.0.2.11",
        "active_timeout": "120", "idle_timeout": "30"});
    values["third"] = json!({".type": "export", ".name": "third", "host": "192.0.2.12",
        "active_timeout": "5", "enabled": "0"});
    core.configuration_read(&values);
    let seconds = Duration::from_secs;
    let expected = RecordTimeouts { active: seconds(120), idle: seconds(20) };
    assert_eq!(core.export.timeouts(), Some(expected));
    core.configuration_read(&configuration("flowtable"));
    assert_eq!(core.export.timeouts(), None);
}

#[test]
fn device_names_are_sent_when_they_change() {
    let mut core = running();
    assert_eq!(core.export_second(), [], "no collector");
    core.configuration_read(&exporting(json!({})));
    let effects = exports(core.export_second());
    let [Effect::EgressDevices(_), Effect::Interfaces(interfaces)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(interfaces.contains(&(8, Rc::from("pppoe-wan"))), "{interfaces:?}");
    assert_eq!(core.export_second(), []);
}

#[test]
fn the_exports_answer_shows_the_progress() {
    let mut core = running();
    core.configuration_read(&exporting(json!({})));
    let row = |core: &mut Core| ask(core, "exports", json!({}))["exports"][0].take();
    let expected = json!({"name": "store", "kind": "ipfix", "protocol": "udp",
        "host": "192.0.2.10", "port": 4739,
        "state": "connecting", "since_ms": 1_000_000, "sent": 0, "lost": 0, "queued": 0,
        "why": "", "cause": {"code": "", "params": {}}});
    assert_eq!(row(&mut core), expected);
    let progress = Progress {
        state: ExportState::Down,
        since_ms: 1_060_000,
        sent: 2000,
        lost: 3,
        queued: 4,
        reason: Some(ExportReason::Unreachable { why: "No route to host".to_owned() }),
    };
    core.export_event(Event::Progress(0, progress.clone()));
    assert_eq!(row(&mut core), expected, "the exporter has ended");
    core.export_event(Event::Progress(1, progress));
    let row = row(&mut core);
    assert_eq!(row["why"], "the collector cannot be reached: No route to host");
    let cause = json!({"code": "unreachable", "params": {"why": "No route to host"}});
    assert_eq!((&row["cause"], &row["lost"]), (&cause, &json!(3)));
}

#[test]
fn open_flows_export_a_final_record_at_shutdown() {
    let mut core = running();
    let mut values = configuration("flowtable");
    values["store"] = json!({".type": "export", ".name": "store", "host": "192.0.2.10"});
    values["log"] =
        json!({".type": "export", ".name": "log", "host": "192.0.2.10", "kind": "syslog"});
    core.configuration_read(&values);
    assert_eq!(core.reading_records(), [0; 0]);
    let up = Progress { state: ExportState::Up, ..Progress::begin(true, 0) };
    core.export_event(Event::Progress(1, up.clone()));
    core.export_event(Event::Progress(2, up));
    assert_eq!(core.reading_records(), [1], "syslog gets no records");
    let begin = Entry { orig_counters: None, reply_counters: None, ..established(1, false) };
    core.entries_changed(&[ctnetlink::Event::New(begin)]);
    core.conntrack.flows_mut().dump_begin(core.now);
    core.entries_read(&[established(1, false)]);
    core.dump_ended(true);
    let mut next = 0;
    assert_eq!(core.last_records(&mut next).map(|queue| queue.len()), Some(1));
    assert_eq!(core.last_records(&mut next), None);
}

#[test]
fn devices_of_a_zone_towards_the_internet_are_not_inner() {
    let mut core = running();
    let names = |core: &Core| {
        let devices = egress_devices(&core.network, core.now).expect("known");
        (devices.inner.into_values().collect::<Vec<_>>(), devices.interfaces)
    };
    let (inner, interfaces) = names(&core);
    assert!(inner.contains(&"br-lan.10".to_owned()), "{inner:?}");
    assert!(!inner.iter().any(|name| name.contains("wan")), "{inner:?}");
    assert_eq!(interfaces["wan"], "pppoe-wan");
    // The LAN is in a zone that leads to the Internet.
    let mut firewall = lab_firewall();
    firewall["z1"]["name"] = "wan".into();
    core.firewall_read(&firewall);
    core.interfaces_read(&lab_dump());
    assert_eq!(names(&core).0, [""; 0]);
}

#[test]
fn egress_devices_need_both_zones_and_links() {
    let mut core = crate::fixture::core();
    assert_eq!(egress_devices(&core.network, core.now), None);
    core.firewall_read(&lab_firewall());
    assert_eq!(egress_devices(&core.network, core.now), None, "without links");
    let mut core = crate::fixture::core();
    core.interfaces_read(&lab_dump());
    core.network_changed(lab_network());
    assert_eq!(egress_devices(&core.network, core.now), None, "without zones");
    core.firewall_read(&lab_firewall());
    assert!(egress_devices(&core.network, core.now).is_some());
}
