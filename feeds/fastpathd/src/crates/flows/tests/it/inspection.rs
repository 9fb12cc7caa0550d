// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the inspection status of flows.

use std::collections::BTreeSet;

use crate::support::{
    self, BYPASS, Net, SPENT, TCP, UDP, address, at, counted, dump, entry, inspecting, inspection,
    marked, offloaded, only, rows, tuple, uncounted, verdict, watching, web,
};
use config::Network;
use ctnetlink::{Entry, Event, Status, TcpState};
use flows::{EngineState, InspectionState, InspectionStatus, Path};
use model::{Action, DevicePolicy, Gate};
use serde_json::json;

fn devices(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

fn network(text: &str) -> Network {
    text.parse().expect("a network")
}

#[test]
fn the_first_matching_policy_decides() {
    let net = Net::default();
    let (lan, guest, wan) = (Some(&net.lan), Some(&net.guest), Some(&net.wan));
    let line = |from, to, action| DevicePolicy { from, to, action, ..DevicePolicy::default() };
    let state = InspectionState {
        policies: vec![
            line(Some(devices(&["br-lan.20"])), Some(devices(&["pppoe-wan"])), Action::Always),
            line(Some(devices(&["br-lan.20"])), None, Action::None),
            line(None, Some(devices(&["br-lan.10", "br-lan.20"])), Action::None),
            line(Some(devices(&[])), None, Action::Always),
        ],
        exempt: vec![network("10.10.0.128/25"), network("fd00:10::/32")],
        ..inspection()
    };
    let here = [address("10.10.0.2"), address("192.0.2.80")];
    assert_eq!(state.action(guest, wan, here), Action::Always);
    assert_eq!(state.action(guest, lan, here), Action::None);
    assert_eq!(state.action(wan, lan, here), Action::None, "the initiator is in the WAN");
    assert_eq!(state.action(lan, wan, here), Action::Inspect, "the default");
    assert_eq!(state.action(None, wan, here), Action::Inspect, "an end without a route");
    let exempt = [here[0], address("10.10.0.200")];
    assert_eq!(state.action(guest, wan, exempt), Action::None);
    assert_eq!(state.action(guest, wan, [exempt[1], here[1]]), Action::None, "either end");
    let v6 = [address("fd00:10::7"), address("2001:db8::1")];
    assert_eq!(state.action(lan, wan, v6), Action::None);
    let off = InspectionState { gate: None, ..state.clone() };
    assert_eq!(off.action(guest, wan, here), Action::None);
    // Settings of a host precede policies and exempt networks.
    let (free, always) = (address("10.10.0.3"), address("10.10.0.200"));
    let state = InspectionState { hosts: [[here[0], always].into(), [free].into()], ..state };
    assert_eq!(state.action(guest, lan, here), Action::Always);
    assert_eq!(state.action(lan, wan, [here[1], free]), Action::None);
    assert_eq!(state.action(lan, lan, [free, here[0]]), Action::Always);
    assert_eq!(state.action(lan, wan, [always, here[1]]), Action::Always);
    assert_eq!(InspectionState::default().action(lan, wan, here), Action::None);
}

#[test]
fn mark_and_gate_decide_the_inspection_status() {
    let with = |gate| InspectionState { gate, ..inspection() };
    let standing = |gate, action, mark| with(gate).standing(action, mark, false);
    for gate in [Gate::Queue, Gate::Open, Gate::Closed].map(Some) {
        assert_eq!(standing(gate, Action::None, SPENT), InspectionStatus::None);
        assert_eq!(standing(gate, Action::Inspect, SPENT | 1), InspectionStatus::Spent);
        assert_eq!(standing(gate, Action::Inspect, BYPASS), InspectionStatus::Bypassed);
        assert_eq!(standing(gate, Action::Inspect, BYPASS | SPENT), InspectionStatus::Bypassed);
    }
    for mark in [0, 1, 0x1fff_ffff] {
        assert_eq!(
            standing(Some(Gate::Queue), Action::Inspect, mark),
            InspectionStatus::Inspecting
        );
    }
    for mark in [0, BYPASS, SPENT] {
        assert_eq!(standing(Some(Gate::Queue), Action::Always, mark), InspectionStatus::Always);
        assert_eq!(standing(Some(Gate::Open), Action::Always, mark), InspectionStatus::Uninspected);
        assert_eq!(standing(Some(Gate::Closed), Action::Always, mark), InspectionStatus::Stopped);
        assert_eq!(standing(None, Action::Always, mark), InspectionStatus::None);
    }
    assert_eq!(standing(Some(Gate::Open), Action::Inspect, 0), InspectionStatus::Uninspected);
    assert_eq!(standing(Some(Gate::Closed), Action::Inspect, 0), InspectionStatus::Stopped);
    let past = with(Some(Gate::Queue)).standing(Action::Inspect, 0, true);
    assert_eq!(past, InspectionStatus::Uninspected, "offloaded past the queue");
    let done = with(Some(Gate::Queue)).standing(Action::Inspect, SPENT, true);
    assert_eq!(done, InspectionStatus::Spent);
}

#[test]
fn status_names_match_the_schema() {
    let schema = include_str!("../../../../schema/types.json");
    let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
    let ours: Vec<&str> = InspectionStatus::ALL.iter().map(|standing| standing.name()).collect();
    assert_eq!(schema["$defs"]["Inspection"]["enum"], json!(ours));
    for standing in InspectionStatus::ALL {
        assert_eq!(serde_json::to_value(standing).expect("a word"), standing.name());
        assert_eq!(InspectionStatus::from_name(standing.name()), Some(standing));
    }
}

fn status_of(table: &flows::FlowTable, seconds: f64) -> [String; 3] {
    let row = only(table, seconds);
    ["path", "reason", "inspection"].map(|name| row[name].as_str().expect("a word").to_owned())
}

#[test]
fn a_flow_is_inspected_then_offloaded() {
    let mut table = inspecting();
    let net = Net::default();
    let syn = Entry {
        status: Status::CONFIRMED,
        tcp_state: Some(TcpState::SynSent),
        ..uncounted(web(1))
    };
    table.event(&Event::New(syn), at(1.0), &net);
    assert_eq!(status_of(&table, 1.0), ["inspect", "inspecting", "inspecting"]);
    dump(&mut table, 2.0, &[counted(web(1), 1000, 2000)]);
    assert_eq!(status_of(&table, 2.0), ["inspect", "inspecting", "inspecting"]);
    table.event(&Event::Update(marked(uncounted(web(1)), SPENT)), at(2.5), &net);
    assert_eq!(status_of(&table, 2.5), ["slow", "pending", "spent"]);
    table.event(&Event::Update(uncounted(web(1))), at(2.6), &net);
    assert_eq!(status_of(&table, 2.6), ["slow", "pending", "spent"], "an event may lack the mark");
    dump(&mut table, 3.0, &[marked(offloaded(counted(web(1), 1000, 2000)), SPENT)]);
    assert_eq!(status_of(&table, 3.0), ["flowtable", "", "spent"]);
    dump(&mut table, 4.0, &[counted(web(1), 1000, 2000)]);
    assert_eq!(status_of(&table, 4.0), ["inspect", "inspecting", "inspecting"], "mark of the dump");
    let life = table.flow(1, at(4.0)).expect("known").events;
    let reasons: Vec<&str> = life.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, ["inspecting", "pending", "", "inspecting"]);
}

#[test]
fn a_bypass_takes_precedence_over_a_spent_budget() {
    let mut table = inspecting();
    dump(&mut table, 1.0, &[marked(web(1), BYPASS | SPENT)]);
    assert_eq!(status_of(&table, 1.0), ["slow", "pending", "bypassed"]);
}

#[test]
fn a_closing_flow_has_the_reason_closing_unless_always_inspected() {
    let mut table = inspecting();
    let closing = Entry { tcp_state: Some(TcpState::FinWait), ..web(1) };
    dump(&mut table, 1.0, &[closing]);
    assert_eq!(status_of(&table, 1.0), ["inspect", "closing", "inspecting"]);
    table.inspection(InspectionState { gate: Some(Gate::Open), ..inspection() }, at(2.0));
    assert_eq!(status_of(&table, 2.0), ["slow", "closing", "uninspected"]);
    table.inspection(InspectionState { default: Action::Always, ..inspection() }, at(3.0));
    assert_eq!(status_of(&table, 3.0), ["inspect", "always-inspected", "always"]);
}

#[test]
fn a_new_gate_applies_to_every_flow_at_once() {
    let mut table = inspecting();
    dump(&mut table, 1.0, &[web(1), marked(web(2), SPENT), offloaded(marked(web(3), BYPASS))]);
    let words = |table: &flows::FlowTable| -> Vec<String> {
        let rows = rows(table, 2.0, &json!({ "sort": "id", "desc": false }));
        let words = rows.iter().map(|row| {
            let (path, reason) = verdict(row);
            format!("{path}/{reason}/{}", row["inspection"].as_str().expect("a word"))
        });
        words.collect()
    };
    let done = ["slow/pending/spent", "flowtable//bypassed"];
    assert_eq!(words(&table), ["inspect/inspecting/inspecting", done[0], done[1]]);
    let epoch = table.epoch();
    table.inspection(InspectionState { gate: Some(Gate::Open), ..inspection() }, at(1.5));
    assert_ne!(table.epoch(), epoch);
    assert_eq!(words(&table), ["slow/uninspected/uninspected", done[0], done[1]]);
    table.inspection(InspectionState { gate: Some(Gate::Closed), ..inspection() }, at(1.6));
    assert_eq!(words(&table), ["slow/stopped/stopped", done[0], done[1]]);
    table.inspection(InspectionState::default(), at(1.7));
    assert_eq!(words(&table), ["slow/pending/none", "slow/pending/none", "flowtable//none"]);
    assert_eq!(table.totals().paths.inspect.flows, 0);
}

#[test]
fn inspection_works_without_an_engine() {
    let mut table = inspecting();
    table.engine(EngineState::default(), at(0.5));
    dump(&mut table, 1.0, &[web(1), marked(web(2), SPENT)]);
    let rows = rows(&table, 1.0, &json!({ "sort": "id", "desc": false }));
    assert_eq!(verdict(&rows[0]), ("inspect", "inspecting"));
    assert_eq!(verdict(&rows[1]), ("slow", "engine-off"));
}

#[test]
fn flows_after_inspection_have_the_reasons_of_the_ladder() {
    let mut table = inspecting();
    let ping = entry(1, tuple(1, "10.10.0.2", 7, "192.0.2.1", 8 << 8));
    let gre = marked(entry(2, tuple(47, "10.10.0.2", 0, "192.0.2.1", 0)), SPENT);
    let helped = Entry { helper: true, ..web(3) };
    let asking = Entry { tcp_state: Some(TcpState::SynSent), ..marked(web(4), BYPASS) };
    dump(&mut table, 1.0, &[ping, gre, helped, asking]);
    let rows = rows(&table, 1.0, &json!({ "sort": "id", "desc": false }));
    let reasons: Vec<&str> = rows.iter().map(|row| verdict(row).1).collect();
    assert_eq!(reasons, ["inspecting", "unsupported-protocol", "inspecting", "not-established"]);
}

#[test]
fn flows_that_are_not_forwarded_are_not_inspected() {
    let mut table = inspecting();
    table.inspection(InspectionState { default: Action::Always, ..inspection() }, at(0.5));
    let own = entry(1, tuple(UDP, "10.10.0.2", 5, "10.0.0.1", 53));
    let cast = entry(2, tuple(UDP, "10.10.0.2", 5353, "224.0.0.251", 5353));
    dump(&mut table, 1.0, &[own, cast]);
    for (row, reason) in rows(&table, 1.0, &json!({ "sort": "id", "desc": false }))
        .iter()
        .zip(["local", "multicast"])
    {
        assert_eq!((verdict(row), &row["inspection"]), (("slow", reason), &json!("none")));
    }
}

#[test]
fn reevaluates_the_policy_when_the_network_changes() {
    let mut table = watching();
    let from = Some(devices(&["br-lan.20"]));
    let guests = DevicePolicy { from, action: Action::Always, ..DevicePolicy::default() };
    let policies = vec![guests];
    table.inspection(InspectionState { policies, ..inspection() }, at(0.0));
    let guest = entry(1, tuple(TCP, "10.20.0.5", 5, "192.0.2.1", 443));
    dump(&mut table, 1.0, &[guest]);
    assert_eq!(status_of(&table, 1.0)[1], "always-inspected");
    let mut net = Net { generation: 2, ..Net::default() };
    net.guest = support::side("br-lan.30", 30, "guest", "lan2");
    support::dump_in(&mut table, 2.0, &[guest], &net);
    assert_eq!(status_of(&table, 2.0)[1], "inspecting");
}

#[test]
fn filters_and_sorts_by_inspection_status() {
    let mut table = inspecting();
    let entries = [web(1), marked(web(2), SPENT), marked(web(3), BYPASS), web(4)];
    dump(&mut table, 1.0, &entries);
    let ids = |query: serde_json::Value| -> Vec<u64> {
        rows(&table, 1.0, &query).iter().map(|row| row["id"].as_u64().expect("an id")).collect()
    };
    let by_id = |words: &[&str]| {
        ids(json!({ "filter": { "inspection": words }, "sort": "id", "desc": false }))
    };
    assert_eq!(by_id(&["inspecting"]), [1, 4]);
    assert_eq!(by_id(&["spent", "bypassed"]), [2, 3]);
    assert_eq!(by_id(&[]), [1, 2, 3, 4]);
    assert_eq!(by_id(&["none"]), [0_u64; 0]);
    assert_eq!(ids(json!({ "sort": "inspection", "desc": true })), [2, 3, 1, 4]);
    let paths = ids(json!({ "filter": { "path": ["inspect"] }, "sort": "id", "desc": false }));
    assert_eq!(paths, [1, 4]);
    assert_eq!(table.totals().paths.inspect.flows, 2);
    let bad = flows::FlowsQuery::parse(&json!({ "filter": { "inspection": ["seen"] } }));
    let error = bad.expect_err("no such word").to_string();
    assert_eq!(error, "filter.inspection[0]: expected a standing, not \"seen\"");
    assert!(!Path::Inspect.offloaded());
}
