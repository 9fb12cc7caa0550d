// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests path and reason of a flow over time.

use crate::support::{
    self, Net, at, counted, dump, flowtable, offloaded, only, rows, uncounted, verdict, watching,
    web,
};
use ctnetlink::{Entry, Event, Status, TcpState};
use flows::{EngineState, FlowTable, Group, InspectionState, Path, TopQuery};
use serde_json::json;

fn event(table: &mut FlowTable, seconds: f64, event: &Event) {
    table.event(event, at(seconds), &Net::default());
}

#[test]
fn reports_the_steps_of_a_flows_life() {
    let mut table = watching();
    let syn = Entry {
        status: Status::CONFIRMED,
        tcp_state: Some(TcpState::SynSent),
        ..uncounted(web(1))
    };
    event(&mut table, 1.0, &Event::New(syn));
    assert_eq!(verdict(&only(&table, 1.0)), ("slow", "not-established"));
    event(&mut table, 1.1, &Event::Update(uncounted(web(1))));
    assert_eq!(verdict(&only(&table, 1.1)), ("slow", "pending"));
    dump(&mut table, 2.0, &[offloaded(counted(web(1), 0, 1000))]);
    let row = only(&table, 2.0);
    assert_eq!(verdict(&row), ("flowtable", ""));
    assert_eq!(row["state"], "established", "last known state");
    let fin = Entry { tcp_state: Some(TcpState::FinWait), ..uncounted(web(1)) };
    event(&mut table, 3.0, &Event::Update(fin));
    let detail = table.flow(1, at(9.0)).expect("known");
    assert_eq!(detail.ports, ["lan1", "wan"]);
    let life: Vec<_> =
        detail.events.iter().map(|e| (e.at_ms - support::START_MS, e.path, e.reason)).collect();
    assert_eq!(
        life,
        [
            (1000, Path::Slow, "not-established"),
            (1100, Path::Slow, "pending"),
            (2000, Path::Flowtable, ""),
            (3000, Path::Slow, "closing"),
        ]
    );
    assert_eq!(detail.events[0].state, "syn-sent");
}

#[test]
fn an_ended_flow_keeps_its_offloaded_bytes_and_leaves_the_path_totals() {
    let mut table = watching();
    event(&mut table, 0.0, &Event::New(uncounted(web(1))));
    dump(&mut table, 1.0, &[offloaded(counted(web(1), 0, 1000))]);
    dump(&mut table, 2.0, &[offloaded(counted(web(1), 0, 901_000))]);
    let over = Entry { tcp_state: Some(TcpState::TimeWait), ..counted(web(1), 0, 902_000) };
    dump(&mut table, 3.0, &[over]);
    let row = only(&table, 3.0);
    assert_eq!(verdict(&row), ("ended", ""));
    assert_eq!(table.flow(1, at(3.0)).expect("known").offloaded_bytes, 902_000);
    assert_eq!((&row["up_bps"], &row["down_bps"]), (&json!(0), &json!(0)), "immediately");
    let totals = table.totals();
    assert_eq!((totals.ended_flows, totals.local_flows), (1, 0));
    let paths = totals.paths;
    assert_eq!((paths.slow.flows, paths.flowtable.flows), (0, 0));
    assert_eq!(paths.flowtable.bytes, 902_000, "bytes before the end were offloaded");
    assert_eq!(totals.ratio.total, Some(1.0));
    dump(
        &mut table,
        4.0,
        &[Entry { tcp_state: Some(TcpState::TimeWait), ..counted(web(1), 0, 902_052) }],
    );
    assert_eq!(table.totals().paths.slow.bytes, 52, "a packet after the end is slow");
    assert!(table.top(&TopQuery { by: Group::Host, limit: 9 }).rows.is_empty());
    let ended = |path: &str| rows(&table, 4.0, &json!({ "filter": { "path": [path] } })).len();
    assert_eq!((ended("ended"), ended("slow")), (1, 0));
}

#[test]
fn keeps_the_first_and_the_latest_steps_of_a_long_life() {
    let mut table = watching();
    for second in 1..=40 {
        let now = f64::from(second);
        let on = if second % 2 == 0 { flowtable() } else { EngineState::default() };
        dump(&mut table, now, &[web(1)]);
        table.engine(on, at(now));
    }
    let events = table.flow(1, at(50.0)).expect("known").events;
    assert_eq!(events.len(), 16);
    assert_eq!(events[0].at_ms, support::START_MS + 1000);
    assert_eq!(events[15].at_ms, support::START_MS + 40_000);
    assert!(events.is_sorted_by_key(|event| event.at_ms));
}

#[test]
fn a_flow_active_for_five_seconds_without_offload_is_not_taken() {
    let mut table = watching();
    let mut bytes = 0;
    let mut reasons = Vec::new();
    for second in 1..=8 {
        bytes += 1000;
        dump(&mut table, f64::from(second), &[counted(web(1), 0, bytes)]);
        reasons.push(verdict(&only(&table, f64::from(second))).1.to_owned());
    }
    assert_eq!(reasons[..5], ["pending"; 5]);
    assert_eq!(reasons[5..], ["not-taken"; 3], "active five seconds after it was eligible");
    for second in [20, 37, 38] {
        dump(&mut table, f64::from(second), &[counted(web(1), 0, bytes)]);
    }
    assert_eq!(verdict(&only(&table, 38.0)).1, "idle", "thirty seconds after the last packet");
    dump(&mut table, 39.0, &[counted(web(1), 0, bytes + 1000)]);
    assert_eq!(verdict(&only(&table, 39.0)).1, "pending", "after the next packet");
}

#[test]
fn an_inactive_flow_stays_pending() {
    let mut table = watching();
    for second in 1..=29 {
        dump(&mut table, f64::from(second), &[web(1)]);
        assert_eq!(verdict(&only(&table, f64::from(second))).1, "pending");
    }
}

#[test]
fn a_new_engine_applies_to_every_flow_at_once() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1), offloaded(web(2))]);
    let epoch = table.epoch();
    table.engine(EngineState::default(), at(2.0));
    assert_ne!(table.epoch(), epoch);
    let epoch = table.epoch();
    table.engine(EngineState::default(), at(2.0));
    table.inspection(InspectionState::default(), at(2.0));
    assert_eq!(table.epoch(), epoch, "unchanged settings cause no update");
    assert_eq!(verdict(&rows(&table, 2.0, &json!({ "sort": "id" }))[1]), ("slow", "engine-off"));
    assert_eq!(table.totals().paths.flowtable.flows, 1, "the kernel still offloads the flow");
    dump(&mut table, 3.0, &[web(1), web(2)]);
    let paths = table.totals().paths;
    assert_eq!((paths.flowtable.flows, paths.slow.flows), (0, 2));
}

#[test]
fn only_a_dump_clears_the_offload_bits() {
    let mut table = watching();
    dump(&mut table, 1.0, &[offloaded(web(1))]);
    event(&mut table, 1.1, &Event::Update(uncounted(web(1))));
    assert_eq!(verdict(&only(&table, 1.1)), ("flowtable", ""));
    dump(&mut table, 2.0, &[web(1)]);
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "pending"), "cleared by a dump");
}

#[test]
fn a_look_up_reports_the_offload_before_the_next_dump() {
    let mut table = watching();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    table.refresh(
        &offloaded(counted(web(1), 0, 1000)),
        table.reading_start(),
        at(1.01),
        &Net::default(),
    );
    assert_eq!(verdict(&only(&table, 1.01)), ("flowtable", ""));
    table.refresh(&web(2), table.reading_start(), at(1.01), &Net::default());
    assert_eq!(table.len(), 1, "unknown flows are ignored");
}
