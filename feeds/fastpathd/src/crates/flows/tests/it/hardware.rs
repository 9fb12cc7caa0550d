// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests path and reason of flows that a driver has taken, by the packets at the CPU.

use std::collections::HashSet;
use std::time::Duration;

use crate::support::{
    at, counted, dump, flowtable, offloaded, only, rows, watching, web, with_status,
};
use ctnetlink::{Entry, Status};
use flows::{CpuSample, EngineState, FlowTable};
use model::{Engine, MODULUS, tuple_hash};
use serde_json::json;

const START: f64 = 4.0;

/// Returns a table with hardware offload in force.
fn offloading() -> FlowTable {
    let mut table = watching();
    table.engine(EngineState { engine: Engine::FlowtableHw, ..flowtable() }, at(0.0));
    table
}

fn taken(id: u32, up: u64, down: u64) -> Entry {
    with_status(offloaded(counted(web(id), up, down)), Status::HW_OFFLOAD)
}

/// Adopts a sample with the tuples that the CPU has received, and the dump that follows.
fn second(table: &mut FlowTable, seconds: f64, at_cpu: &[ctnetlink::Tuple], entries: &[Entry]) {
    let hashes = at_cpu.iter().map(tuple_hash).collect();
    sampled(table, seconds, hashes, entries);
}

/// Times are seconds after the first four samples.
fn sampled(table: &mut FlowTable, seconds: f64, hashes: HashSet<u32>, entries: &[Entry]) {
    table.sample(at(START + seconds));
    table.seen_by_cpu(Some(CpuSample { hashes, flowtable_timeout: Duration::from_secs(30) }));
    dump(table, START + seconds, entries);
}

/// Passes the time that a sample covers, so that the next one tells about the flows.
fn settle(table: &mut FlowTable, entries: &[Entry]) {
    for seconds in [-3.0, -2.0, -1.0, 0.0] {
        second(table, seconds, &[], entries);
    }
}

fn state(table: &FlowTable, seconds: f64) -> [String; 3] {
    let row = only(table, START + seconds);
    let id = row["id"].as_u64().expect("an id");
    let detail = table.flow(id, at(START + seconds)).expect("there");
    let detail = serde_json::to_value(detail).expect("JSON");
    [&row["path"], &row["reason"], &detail["hardware"]]
        .map(|value| value.as_str().expect("a word").to_owned())
}

#[test]
fn a_flow_is_in_hardware_in_the_directions_that_the_cpu_does_not_receive() {
    let Entry { orig, reply, .. } = web(1);
    for (at_cpu, expected) in [
        (vec![], ["hardware", "", "both"]),
        (vec![orig], ["hardware", "", "down"]),
        (vec![reply], ["hardware", "", "up"]),
        (vec![web(2).orig], ["hardware", "", "both"]),
        (vec![orig, reply], ["flowtable", "", ""]),
    ] {
        let mut table = offloading();
        settle(&mut table, &[taken(1, 0, 0)]);
        second(&mut table, 1.0, &at_cpu, &[taken(1, 0, 0)]);
        assert_eq!(state(&table, 1.0), expected);
    }
    let mut table = offloading();
    settle(&mut table, &[]);
    second(&mut table, 1.0, &[], &[taken(1, 0, 0)]);
    assert_eq!(state(&table, 1.0), ["hardware", "", "either"], "the sample is older");
    second(&mut table, 9.0, &[], &[taken(1, 0, 0)]);
    assert_eq!(state(&table, 9.0), ["hardware", "", "either"], "a gap between two samples");
    for seconds in [10.0, 11.0] {
        sampled(&mut table, seconds, HashSet::from([MODULUS]), &[taken(1, 0, 0)]);
    }
    assert_eq!(state(&table, 11.0), ["hardware", "", "either"], "more packets than the sample has");
}

#[test]
fn bytes_belong_to_hardware_only_in_its_directions() {
    let mut table = offloading();
    let at_cpu = [web(1).reply];
    settle(&mut table, &[taken(1, 0, 0)]);
    second(&mut table, 1.0, &at_cpu, &[taken(1, 0, 0)]);
    second(&mut table, 2.0, &at_cpu, &[taken(1, 1000, 9000)]);
    let paths = table.totals().paths;
    assert_eq!([paths.flowtable.bytes, paths.hardware.bytes], [9000, 1000]);
}

#[test]
fn a_lost_flow_has_its_reason_after_five_seconds() {
    let mut table = offloading();
    let at_cpu = [web(1).orig, web(1).reply];
    settle(&mut table, &[taken(1, 0, 0)]);
    let mut pass = |seconds: f64, at_cpu: &[ctnetlink::Tuple]| {
        second(&mut table, seconds, at_cpu, &[taken(1, 0, 0)]);
        state(&table, seconds)
    };
    // A renewal of the table sends a few packets to the CPU.
    for seconds in [1.0, 2.0, 3.0] {
        assert_eq!(pass(seconds, &at_cpu), ["flowtable", "", ""]);
    }
    assert_eq!(pass(4.0, &[]), ["hardware", "", "both"]);
    for seconds in [5.0, 6.0, 7.0, 8.0, 9.0] {
        assert_eq!(pass(seconds, &at_cpu), ["flowtable", "", ""]);
    }
    assert_eq!(pass(10.0, &at_cpu), ["flowtable", "hw-lost", ""]);
}

#[test]
fn a_table_is_full_if_flows_like_its_own_are_refused_and_none_is_taken() {
    let mut table = offloading();
    settle(&mut table, &[]);
    let flows = |held: u32, refused: u32| -> Vec<Entry> {
        let refused = (held + 1..=held + refused).map(|id| offloaded(counted(web(id), 0, 0)));
        (1..=held).map(|id| taken(id, 0, 0)).chain(refused).collect()
    };
    for seconds in 1..=12 {
        second(&mut table, f64::from(seconds), &[], &flows(20, 10));
    }
    assert_eq!(table.hardware_full(), Some(20));
    let reasons = |table: &FlowTable, seconds: f64, reason: &str| {
        rows(table, START + seconds, &json!({ "filter": { "reason": [reason] }, "limit": 50 }))
            .len()
    };
    second(&mut table, 13.0, &[], &flows(20, 10));
    assert_eq!(reasons(&table, 13.0, "hw-table-full"), 10);
    // A flow ends, and another takes its place.
    second(&mut table, 14.0, &[], &flows(20, 10)[1..]);
    assert_eq!(table.hardware_full(), Some(20), "still full");
    // Flows of another kind are refused for another reason.
    let mut others = flows(20, 10);
    others.extend((60..70).map(|id| {
        let mut other = offloaded(counted(web(id), 0, 0));
        (other.orig.proto, other.reply.proto) = (17, 17);
        other
    }));
    for seconds in 15..=21 {
        second(&mut table, f64::from(seconds), &[], &others);
    }
    assert_eq!(reasons(&table, 21.0, "hw-refused"), 10);
    // The driver takes more flows after all.
    second(&mut table, 22.0, &[], &flows(25, 5));
    second(&mut table, 23.0, &[], &flows(25, 5));
    assert_eq!(table.hardware_full(), None, "it takes flows");
    second(&mut table, 24.0, &[], &flows(8, 10));
    second(&mut table, 25.0, &[], &flows(8, 10));
    assert_eq!(table.hardware_full(), None, "has room again");
    let mut table = offloading();
    settle(&mut table, &[]);
    for seconds in 1..=12 {
        second(&mut table, f64::from(seconds), &[], &flows(0, 10));
    }
    assert_eq!(table.hardware_full(), None, "a driver that holds nothing is not full");
    assert_eq!(reasons(&table, 12.0, "hw-refused"), 10);
}

#[test]
fn bytes_count_as_unknown_if_they_stand_still_in_hardware() {
    let mut table = offloading();
    settle(&mut table, &[taken(1, 500, 500)]);
    let mut uncounted = None;
    for seconds in 1..=80 {
        second(&mut table, f64::from(seconds), &[], &[taken(1, 500, 500)]);
        if table.hardware_counts() == Some(false) {
            uncounted.get_or_insert(seconds);
        }
    }
    assert_eq!(uncounted, Some(63), "two timeouts and five seconds");
    second(&mut table, 81.0, &[], &[taken(1, 900, 900)]);
    second(&mut table, 82.0, &[], &[taken(1, 900, 900)]);
    assert_eq!(table.hardware_counts(), Some(true));
    table.seen_by_cpu(None);
    assert_eq!(table.hardware_counts(), None, "another engine");
}

#[test]
fn the_rate_of_a_flow_in_hardware_covers_the_time_between_two_reports() {
    let mut table = offloading();
    second(&mut table, 1.0, &[], &[taken(1, 0, 0)]);
    for (seconds, bytes) in [(2, 0), (3, 0), (4, 3_000_000), (5, 3_000_000), (6, 3_000_000)] {
        second(&mut table, f64::from(seconds), &[], &[taken(1, 0, bytes)]);
    }
    let rate = only(&table, START + 6.0)["down_bps"].as_u64().expect("a number");
    assert_eq!(rate, 8_000_000, "3 MB in 3 s, until the next report");
    for seconds in 7..=12 {
        second(&mut table, f64::from(seconds), &[], &[taken(1, 0, 3_000_000)]);
    }
    assert_eq!(only(&table, START + 12.0)["down_bps"], 0);
}
