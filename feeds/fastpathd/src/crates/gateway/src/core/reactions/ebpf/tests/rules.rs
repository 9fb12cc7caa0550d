// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that offloaded connections have to pass changed rules and set elements again.

use std::collections::HashSet;

use ctnetlink::Tuple;
use ebpf::engine::STEP;
use flows::RulesVersion;
use model::Connection;

use super::*;

const ELEMENTS: Revision =
    Revision { elements: true, others: false, table: ctnetlink::Touch::None };

/// Returns the connections with marks to clear, and the rules that they have to pass.
fn to_be_cleared(effects: Vec<AnyEffect>) -> (Vec<Connection>, RulesVersion) {
    let cleared = effects.into_iter().find_map(|effect| match effect {
        AnyEffect::Conntrack(conntrack::Effect::ClearMarks(offers, PASSED, version)) => {
            Some((offers, version))
        }
        _ => None,
    });
    cleared.unwrap()
}

fn looked_up(core: &mut Core, mark: u32) {
    let start = core.conntrack.flows().reading_start();
    let effects = core.looked_up(&[Entry { mark, ..established(7, false) }], start);
    settle(core, effects);
}

/// Reads the changed rules, and applies the table that offloads flows.
fn rules_are_known(core: &mut Core) {
    core.applied(Ok(Applied::Replaced));
    core.rules_read(Ok(ruleset::ForeignRules::default()));
    core.applied(Ok(Applied::Replaced));
}

#[test]
fn offloaded_connections_have_to_pass_changed_rules_again() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 2);
    let effects = core.rules_changed(Revision { others: true, ..ELEMENTS });
    assert_eq!(offloaded(&maps), 0);
    let (offers, version) = to_be_cleared(effects);
    let before = core.conntrack.flows().reading_start();
    // The kernel sent this event before the bits were cleared.
    update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 0);
    let effects: Vec<AnyEffect> = vec![core.conntrack.marks_cleared(&offers, version).into()];
    let start = core.conntrack.flows().reading_start();
    let keys = vec![(0, offers[0].orig)];
    assert_eq!(effects, [AnyEffect::Conntrack(conntrack::Effect::LookUp(keys, start))]);
    // This entry was read before the bits were cleared.
    let effects = core.looked_up(&[Entry { mark: PASSED, ..established(7, false) }], before);
    settle(&mut core, effects);
    assert_eq!(offloaded(&maps), 0);
    looked_up(&mut core, 0);
    assert_eq!(offloaded(&maps), 0, "a rule stops it now");
    looked_up(&mut core, PASSED);
    assert_eq!(offloaded(&maps), 0, "the rules are unknown");
    rules_are_known(&mut core);
    assert_eq!(offloaded(&maps), 2);
}

#[test]
fn changed_set_elements_revoke_connections_at_most_every_four_seconds() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    let effects = core.rules_changed(ELEMENTS);
    assert_eq!(offloaded(&maps), 0, "a rule may drop them now");
    let (offers, version) = to_be_cleared(effects);
    core.conntrack.marks_cleared(&offers, version);
    looked_up(&mut core, PASSED);
    assert_eq!(offloaded(&maps), 2);
    core.rules_changed(ELEMENTS);
    core.now.mono += Duration::from_secs(3);
    core.second(&Readings::default());
    assert_eq!(offloaded(&maps), 2, "a resolver fills sets all the time");
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(to_be_cleared(effects).0.len(), 1);
}

#[test]
fn a_connection_from_before_a_rule_change_is_distinguished_from_a_later_one() {
    let (mut core, maps) = running();
    let changed = Revision { others: true, ..ELEMENTS };
    let reads = |effects: &[AnyEffect]| {
        effects.iter().find_map(|effect| match effect {
            AnyEffect::Conntrack(conntrack::Effect::ReadEvents(version)) => Some(*version),
            _ => None,
        })
    };
    let first = reads(&core.rules_changed(changed)).unwrap();
    assert_eq!(reads(&core.rules_changed(changed)), None, "one request at a time");
    let effects = update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 0, "its events may precede the change");
    to_be_cleared(effects);
    let effects = core.conntrack_event(conntrack::Event::EventsRead(first));
    let second = reads(&effects).unwrap();
    assert!(second > first);
    let effects = core.conntrack_event(conntrack::Event::EventsRead(second));
    assert_eq!(reads(&effects), None);
    update(&mut core, established(8, false));
    rules_are_known(&mut core);
    assert_eq!(offloaded(&maps), 0, "the second change is unknown");
    core.now.mono += Duration::from_secs(2);
    core.flowtable_second();
    rules_are_known(&mut core);
    assert_eq!(offloaded(&maps), 2, "it began with the rules in force");
}

/// Another program clears the connection's mark in between.
#[test]
fn a_connection_requested_twice_in_one_batch_is_offloaded() {
    let (mut core, maps) = running();
    let datagram = Tuple { proto: 17, ..established(7, false).orig };
    let reply = Tuple { proto: 17, ..established(7, false).reply };
    let seen = |mark| Entry {
        orig: datagram,
        reply,
        tcp_state: None,
        orig_counters: None,
        reply_counters: None,
        mark,
        ..established(7, false)
    };
    let one_way = PASSED & PASSED.wrapping_neg();
    let events =
        [Event::New(seen(PASSED)), Event::Update(seen(one_way)), Event::Update(seen(PASSED))];
    let effects = core.entries_changed(&events);
    settle(&mut core, effects);
    assert_eq!(flow(&mut core, 7)["path"], "ebpf");
    assert_eq!(offloaded(&maps), 2);
}

#[test]
fn clearing_marks_is_retried_after_a_failure() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    let effects = core.rules_changed(Revision { others: true, ..ELEMENTS });
    let (offers, _) = to_be_cleared(effects);
    core.conntrack_event(conntrack::Event::MarksKept(offers.clone()));
    core.now.mono += Duration::from_secs(4);
    let clears = |effects: &[AnyEffect]| {
        let is = |one: &AnyEffect| {
            matches!(one, AnyEffect::Conntrack(conntrack::Effect::ClearMarks(..)))
        };
        effects.iter().any(is)
    };
    assert!(!clears(&core.second(&Readings::default())), "too soon");
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    assert_eq!(to_be_cleared(effects).0, offers);
    assert!(!clears(&core.second(&Readings::default())), "once");
    assert_eq!(offloaded(&maps), 0);
}

fn with_port(id: u32) -> Entry {
    let mut entry = established(id, false);
    let port = 10_000 + u16::try_from(id).unwrap();
    (entry.orig.sport, entry.reply.dport) = (port, port);
    entry
}

fn note_cleared(effects: &[AnyEffect], cleared: &mut HashSet<u64>) {
    for effect in effects {
        if let AnyEffect::Conntrack(conntrack::Effect::ClearMarks(offers, ..)) = effect {
            cleared.extend(offers.iter().map(|one| one.id));
        }
    }
}

/// One step would be so long that the heartbeat expires.
#[test]
fn many_connections_leave_the_maps_in_steps() {
    let (mut core, maps) = (asking(), Fake::default());
    let mut outcome = outcome(&maps, &["lan1", "lan2", "wan"], &[]);
    outcome.opened.as_mut().unwrap().capacity = 8192;
    core.attached(Ok(outcome));
    core.applied(Ok(Applied::Removed));
    let ids: HashSet<u64> = (1..1500).collect();
    for id in &ids {
        update(&mut core, with_port(u32::try_from(*id).unwrap()));
    }
    assert_eq!(offloaded(&maps), 2 * ids.len());
    maps.pass(3, |_| true);
    let mut work = maps.with(|inside| inside.operations);
    let changed = Revision { others: true, ..ELEMENTS };
    let mut effects = core.rules_changed(changed);
    let (mut cleared, mut steps) = (HashSet::new(), 0);
    loop {
        let done = std::mem::replace(&mut work, maps.with(|inside| inside.operations));
        assert!(work - done <= 4 * STEP, "{} operations in a step", work - done);
        assert_eq!(offloaded(&maps), 0);
        let listed = ask(&mut core, "flows", json!({"filter": {"path": ["ebpf"]}}));
        assert_eq!(listed["matched"], 0, "a flow by older rules");
        assert_eq!(core.conntrack.flows().offloaded(), 0);
        note_cleared(&effects, &mut cleared);
        let step = AnyEffect::Offload(offload::Effect::Step);
        match effects.iter().filter(|effect| **effect == step).count() {
            0 => break,
            number => assert_eq!(number, 1, "one step at a time"),
        }
        let beats = maps.with(|inside| inside.beats);
        note_cleared(&core.second(&Readings::default()), &mut cleared);
        assert_eq!(maps.with(|inside| inside.beats), beats + 1);
        if steps == 1 {
            let more = core.rules_changed(changed);
            assert!(!more.contains(&step), "one step at a time");
            cleared.clear();
            note_cleared(&more, &mut cleared);
        }
        work = maps.with(|inside| inside.operations);
        effects = core.offload_event(offload::Event::Step);
        steps += 1;
    }
    assert!(steps > 2, "{steps}");
    assert!(maps.with(|inside| inside.hidden.is_empty()));
    assert_eq!(cleared, ids, "each after the second change");
    let bytes = 2 * 300 * u64::try_from(ids.len()).unwrap();
    assert_eq!(core.conntrack.flows().totals().paths.ebpf.bytes, bytes, "each once");
}
