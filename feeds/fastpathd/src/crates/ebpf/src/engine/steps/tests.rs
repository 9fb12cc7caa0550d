// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::engine::Report;
use crate::engine::tests::{TIMEOUTS, connection, endpoint, engine, finish, install, s};
use crate::fake::Fake;

/// Entries per step.
const PART: usize = 8;

/// Packets of each connection since the last call, by the reports of the engine.
fn counted(report: &Report, sums: &mut HashMap<u64, u64>) {
    for growth in &report.grown {
        *sums.entry(growth.id).or_default() += growth.grown.packets;
    }
}

fn elements(maps: &Fake) -> [usize; 2] {
    maps.with(|inside| [inside.flows.len(), inside.hidden.len()])
}

#[test]
fn a_revocation_hides_all_entries_at_once_and_removes_them_in_steps() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    let ids = 0..20;
    for id in ids.clone() {
        install(&mut engine, id);
        engine.start(id, s(0)).unwrap();
    }
    maps.pass(3, |_| true);
    engine.report();
    let before = maps.with(|inside| inside.operations);
    engine.revoke(s(1)).unwrap();
    assert_eq!(elements(&maps), [0, 40]);
    assert_eq!(maps.with(|inside| inside.operations), before, "one write of the secret");
    // A late confirmation must not start entries of older rules.
    assert!(!engine.start(0, s(1)).unwrap() && !engine.is_open(1));
    let mut steps = 0;
    while {
        let before = maps.with(|inside| inside.operations);
        let more = engine.step(PART, s(1)).unwrap();
        let operations = maps.with(|inside| inside.operations) - before;
        assert!(operations <= 3 * PART, "{operations} operations in a step");
        steps += 1;
        more
    } {}
    assert!(steps <= 40 / PART + 1, "{steps}: no second pass without hidden entries");
    assert_eq!(elements(&maps), [0, 0]);
    let (report, mut sums) = (engine.report(), HashMap::new());
    counted(&report, &mut sums);
    assert_eq!(sums, ids.clone().map(|id| (id, 6)).collect());
    let removed: HashSet<u64> = report.removed.iter().map(|(id, _)| *id).collect();
    assert_eq!((removed, report.removed.len()), (ids.collect(), 20));
    assert!(engine.table().is_empty() && !engine.is_busy());
}

#[test]
fn entries_of_dropped_connections_return_after_a_revocation() {
    let maps = Fake::default();
    let mut engine = engine(&maps);
    engine.reject(connection(1), [endpoint(1), endpoint(2)], 4711, s(60), s(0)).unwrap();
    maps.pass(2, |_| true);
    engine.revoke(s(1)).unwrap();
    assert_eq!(elements(&maps), [0, 2]);
    finish(&mut engine);
    assert_eq!(elements(&maps), [2, 0]);
    assert!(maps.with(|inside| inside.flows.values().all(|(entry, _)| entry.drop == Some(4711))));
    maps.pass(1, |_| true);
    engine.second(s(59)).unwrap();
    let dropped = Counters { packets: 6, bytes: 600 };
    assert_eq!(engine.table().dropped(), [(4711, dropped)]);
    engine.second(s(60)).unwrap();
    assert_eq!(elements(&maps), [0, 0]);
}

#[test]
fn a_revocation_hides_entries_of_the_previous_engine() {
    for found_before in [false, true] {
        let maps = Fake::default();
        let mut before = engine(&maps);
        (0..10).for_each(|id| install(&mut before, id));
        maps.pass(5, |_| true);
        drop(before);
        let mut next = OffloadEngine::new(Box::new(maps.clone()), 64, TIMEOUTS);
        next.step(PART, s(0)).unwrap();
        assert!(next.is_finding(), "a part is found");
        if found_before {
            finish(&mut next);
        }
        maps.pass(2, |_| true);
        next.revoke(s(1)).unwrap();
        assert_eq!(elements(&maps)[0], 0);
        finish(&mut next);
        assert!(!next.is_finding());
        assert_eq!(elements(&maps), [0, 0]);
        // The connections return with their counters.
        (0..10).for_each(|id| install(&mut next, id));
        let mut sums = HashMap::new();
        counted(&next.report(), &mut sums);
        assert_eq!(sums, (0..10).map(|id| (id, 14)).collect());
        assert_eq!(next.remove_stale(), 0);
    }
}

#[test]
fn removes_all_entries_if_the_kernel_refuses_to_hide_them() {
    let maps = Fake::default();
    let mut before = engine(&maps);
    install(&mut before, 1);
    drop(before);
    let mut engine = engine(&maps);
    install(&mut engine, 2);
    maps.with(|inside| inside.keeps = true);
    assert!(matches!(engine.revoke(s(1)), Err(MapError::Heartbeat(_))));
    assert_eq!(elements(&maps), [0, 0]);
}

#[test]
fn a_stale_entry_that_a_new_connection_replaced_is_kept() {
    let maps = Fake::default();
    let mut before = engine(&maps);
    (0..20).for_each(|id| install(&mut before, id));
    drop(before);
    let mut engine = engine(&maps);
    assert_eq!(engine.remove_stale(), 40);
    assert!(engine.step(PART, s(0)).unwrap());
    (0..20).for_each(|id| install(&mut engine, id));
    finish(&mut engine);
    assert_eq!(elements(&maps), [40, 0]);
    engine.remove_all(s(1));
    assert_eq!(elements(&maps), [0, 0]);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Install(u64),
    Start(u64),
    Remove(u64),
    Pass(u64, u64),
    Revoke,
    Part,
    Second,
    /// The daemon ends, and the next one opens the maps.
    Restart,
    RemoveStale,
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = || 0..12_u64;
    prop_oneof![
        6 => id().prop_map(Step::Install),
        4 => id().prop_map(Step::Start),
        1 => id().prop_map(Step::Remove),
        6 => (id(), 1..9_u64).prop_map(|(id, packets)| Step::Pass(id, packets)),
        2 => Just(Step::Revoke),
        5 => Just(Step::Part),
        2 => Just(Step::Second),
        1 => Just(Step::Restart),
        1 => Just(Step::RemoveStale),
    ]
}

proptest! {
    #[test]
    fn no_entry_survives_a_revocation_and_each_packet_counts_once(
        steps in proptest::collection::vec(any_step(), 1..150),
    ) {
        const PART: usize = 3;
        let maps = Fake::default();
        let mut engine = engine(&maps);
        // Packets in the maps that a connection's next installation adopts, and packets of
        // installed connections that the engine must report.
        let (mut stale, mut due) = (HashMap::<u64, u64>::new(), HashMap::<u64, u64>::new());
        let mut sums = HashMap::new();
        // Connections whose entries were written since the last revocation.
        let mut written = HashSet::new();
        for step in steps {
            let before = maps.with(|inside| inside.operations);
            match step {
                Step::Install(id) => {
                    // The core waits until the entries are found.
                    if !engine.is_finding() && !engine.table().has(id) {
                        install(&mut engine, id);
                        *due.entry(id).or_default() += stale.remove(&id).unwrap_or_default();
                        written.insert(id);
                    }
                }
                Step::Start(id) => {
                    let starts = engine.start(id, s(0)).unwrap();
                    prop_assert_eq!(starts, written.contains(&id), "by older rules");
                    if !starts {
                        written.remove(&id);
                    }
                }
                Step::Remove(id) => {
                    engine.remove(id, s(0));
                    written.remove(&id);
                }
                Step::Pass(id, packets) => {
                    let port = connection(id).orig.sport;
                    let found = maps.pass(packets, |key| key.sport == port);
                    prop_assert!(found <= 1);
                    let to = if engine.table().has(id) { &mut due } else { &mut stale };
                    *to.entry(id).or_default() += if found == 1 { packets } else { 0 };
                }
                Step::Revoke => {
                    engine.revoke(s(0)).unwrap();
                    prop_assert_eq!(elements(&maps)[0], 0, "a program finds an old entry");
                    prop_assert_eq!(maps.with(|inside| inside.operations), before);
                    written.clear();
                }
                Step::Part => {
                    engine.step(PART, s(0)).unwrap();
                    let operations = maps.with(|inside| inside.operations) - before;
                    prop_assert!(operations <= 3 * PART, "{} operations", operations);
                }
                Step::Second => engine.second(s(0)).unwrap(),
                Step::Restart => {
                    maps.with(|inside| inside.unread = None);
                    // Packets since the last reading are lost, as are those of removed entries.
                    counted(&engine.report(), &mut sums);
                    engine = OffloadEngine::new(Box::new(maps.clone()), 64, TIMEOUTS);
                    stale = maps.with(|inside| {
                        let flows = inside.flows.iter().map(|(key, (_, read))| (*key, *read));
                        let hidden = inside.hidden.iter().map(|((key, _), read)| (*key, *read));
                        let all = flows.chain(hidden).filter(|(key, _)| key.dport == 443);
                        let of = |(key, read): (Key, EntryReading)| {
                            (u64::from(key.sport) - 1000, read.counters.packets)
                        };
                        all.map(of).collect()
                    });
                    (due, sums) = (HashMap::new(), HashMap::new());
                    written.clear();
                }
                Step::RemoveStale => {
                    if !engine.is_finding() {
                        engine.remove_stale();
                        stale.clear();
                        // Packets that entries count until they are removed are of no connection.
                        finish(&mut engine);
                    }
                }
            }
        }
        finish(&mut engine);
        // The first second may complete a pass.
        (0..2).for_each(|_| engine.second(s(1)).unwrap());
        let [current, hidden] = elements(&maps);
        prop_assert_eq!(hidden, 0);
        prop_assert!(current >= 2 * engine.table().len());
        counted(&engine.report(), &mut sums);
        sums.retain(|_, packets| *packets > 0);
        due.retain(|_, packets| *packets > 0);
        prop_assert_eq!(sums, due);
        engine.remove_all(s(1));
        prop_assert_eq!(elements(&maps), [0, 0]);
    }
}
