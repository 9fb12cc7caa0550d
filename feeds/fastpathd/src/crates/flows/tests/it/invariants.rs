// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests invariants of the table after random steps.

use std::collections::HashSet;

use crate::support::{self, Net, at, cells, counted, entry, flowtable, inspection, named, tuple};
use ctnetlink::{Entry, Event, Status, TcpState};
use flows::{EngineState, Filter, FlowTable, FlowsQuery, InspectionState};
use model::Gate;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    New(Entry),
    Update(Entry),
    Destroy(Entry),
    Begin,
    Merge(Entry),
    End(bool),
    Over(bool),
    Sweep(usize),
    Engine(bool),
    Inspection(Option<Gate>),
    Reinspected(Entry),
    Lookup(Entry),
    Sample,
}

/// Returns entries with few ids and tuples, so that they collide.
fn any_entry() -> impl Strategy<Value = Entry> {
    let state = prop::option::of((0_u8..10).prop_map(TcpState::from_kernel));
    let status = prop::sample::select(vec![0, 0x2, 0xe, 0x400e, 0xc00e, 0x20e]);
    let counters = prop::option::of((0_u64..5000, 0_u64..5000));
    let mark = prop::sample::select(vec![0, support::BYPASS, support::SPENT]);
    let to = prop::sample::select(vec!["192.0.2.80", "10.0.0.1", "224.0.0.251"]);
    (0_u32..8, 0_u16..3, 0_u16..2, status, state, counters, mark, to).prop_map(
        |(id, port, zone, status, state, counters, mark, to)| {
            let mut entry = entry(id, tuple(6, "10.10.0.2", 1000 + port, to, 443));
            (entry.zone, entry.status, entry.mark) = (zone, Status(status), mark);
            entry.tcp_state = state.flatten();
            match counters {
                Some((up, down)) => counted(entry, up, down),
                None => support::uncounted(entry),
            }
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any_entry().prop_map(Step::New),
        any_entry().prop_map(Step::Update),
        any_entry().prop_map(Step::Destroy),
        any_entry().prop_map(Step::Merge),
        any_entry().prop_map(Step::Lookup),
        Just(Step::Begin),
        any::<bool>().prop_map(Step::End),
        any::<bool>().prop_map(Step::Over),
        (0_usize..3).prop_map(Step::Sweep),
        any::<bool>().prop_map(Step::Engine),
        prop::sample::select(vec![None, Some(Gate::Queue), Some(Gate::Open), Some(Gate::Closed)])
            .prop_map(Step::Inspection),
        any_entry().prop_map(Step::Reinspected),
        Just(Step::Sample),
    ]
}

fn take(table: &mut FlowTable, step: &Step, seconds: f64, net: &Net) {
    let now = at(seconds);
    match step {
        Step::New(entry) => table.event(&Event::New(*entry), now, net),
        Step::Update(entry) => table.event(&Event::Update(*entry), now, net),
        Step::Destroy(entry) => table.event(&Event::Destroy(*entry), now, net),
        Step::Begin => table.dump_begin(now),
        Step::Merge(entry) => table.merge(entry, now, net),
        Step::End(complete) => table.dump_end(now, *complete),
        Step::Over(complete) => table.dump_over(now, *complete),
        Step::Sweep(most) => {
            table.sweep(*most);
        }
        Step::Engine(true) => table.engine(flowtable(), now),
        Step::Engine(false) => table.engine(EngineState::default(), now),
        Step::Inspection(gate) => {
            table.inspection(InspectionState { gate: *gate, ..inspection() }, now);
        }
        Step::Reinspected(entry) => table.reinspected(entry, now, net),
        Step::Lookup(entry) => table.refresh(entry, table.reading_start(), now, net),
        Step::Sample => table.sample(now),
    }
}

fn local() -> FlowsQuery {
    let filter = Filter { forwarded: Some(false), ..Filter::default() };
    FlowsQuery { filter, ..FlowsQuery::default() }
}

pub(crate) fn check(table: &FlowTable, seconds: f64) {
    let now = at(seconds);
    let totals = table.totals();
    let paths = totals.paths;
    let all = [paths.slow, paths.inspect, paths.flowtable, paths.hardware, paths.ebpf];
    let flows: u64 = all.iter().map(|path| path.flows).sum();
    let all = u64::try_from(table.len()).expect("few");
    let others = totals.local_flows + totals.ended_flows;
    assert_eq!(flows + others, all, "each flow is local, ended or on one path");
    let local = table.query(&local(), now).expect("a page");
    assert_eq!(totals.local_flows, u64::try_from(local.matched).expect("few"));
    let query = FlowsQuery { limit: 500, ..FlowsQuery::default() };
    let page = table.query(&query, now).expect("a page");
    let rows = cells(&page);
    assert_eq!((page.total, page.matched, rows.len()), (table.len(), table.len(), table.len()));
    let ids: HashSet<u64> = rows.iter().map(|row| row[0].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), table.len(), "ids are unique");
    for (row, id) in rows.iter().map(|row| (row, row[0].as_u64().expect("an id"))) {
        let detail = table.flow(id, now).expect("found by its id");
        let flow = named(&detail);
        assert_eq!(flow["sport"], row[4], "same flow");
        let last = detail.events.last().expect("at least one step");
        assert_eq!(flow["reason"], last.reason, "current step");
        assert!(detail.events.len() <= 16);
    }
    let ratio = table.totals().ratio;
    let sane = |ratio: Option<f64>| ratio.is_none_or(|ratio| (0.0..=1.0).contains(&ratio));
    assert!(sane(ratio.now) && sane(ratio.total), "{ratio:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_table_stays_consistent(steps in prop::collection::vec(any_step(), 1..120)) {
        let net = Net::default();
        let mut table = FlowTable::new();
        for (second, step) in (1_u32..).zip(&steps) {
            let seconds = f64::from(second) * 0.3;
            take(&mut table, step, seconds, &net);
            if second % 7 == 0 || second as usize == steps.len() {
                check(&table, seconds);
            }
        }
    }
}
