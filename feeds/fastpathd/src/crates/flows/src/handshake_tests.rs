// SPDX-License-Identifier: GPL-2.0-or-later
//! Every state with every event: one row a step.

use ctnetlink::Tuple;

use super::*;
use crate::proto::UDP;
use Event::{
    Active, Eligible, Ineligible, Installed, NetworkChanged, Rejected, Removed,
    WindowTrackingDisabled, WindowTrackingKept,
};
use OffloadAction::{DisableWindowTracking, Install, Remove};
use OffloadState::{Carried, Idle, Preparing, Refused, Requested};

const FULL: OffloadState = Refused(Reason::TableFull);
const MTU: OffloadState = Refused(Reason::Mtu);
const STATES: [OffloadState; 6] = [Idle, Preparing, Requested, Carried, FULL, MTU];

/// Asserts the step of each state in [`STATES`] for one event.
fn steps(event: Event, proto: u8, wanted: [(OffloadState, Option<OffloadAction>); 6]) {
    for (state, wanted) in STATES.into_iter().zip(wanted) {
        assert_eq!(state.step(event, proto), wanted, "{state:?}, {event:?}, protocol {proto}");
    }
}

/// A row in which no action follows.
fn quiet(states: [OffloadState; 6]) -> [(OffloadState, Option<OffloadAction>); 6] {
    states.map(|state| (state, None))
}

#[test]
fn every_step_of_every_state() {
    let same = quiet(STATES);
    let with = |at: usize, step| {
        let mut row = same;
        row[at] = step;
        row
    };
    //     event                    proto       Idle, Preparing, Requested, Carried, FULL, MTU
    steps(Eligible, TCP, with(0, (Preparing, Some(DisableWindowTracking))));
    steps(Eligible, UDP, with(0, (Requested, Some(Install))));
    for proto in [TCP, UDP] {
        let removed = (Idle, Some(Remove));
        let idle = (Idle, None);
        steps(Ineligible, proto, [idle, idle, removed, removed, idle, idle]);
        steps(WindowTrackingDisabled, proto, with(1, (Requested, Some(Install))));
        steps(WindowTrackingKept, proto, with(1, (Refused(Reason::NotTaken), None)));
        steps(Installed, proto, with(2, (Carried, None)));
        steps(Rejected(Reason::Mtu), proto, with(2, (MTU, None)));
        steps(Removed(None), proto, quiet([Idle; 6]));
        steps(Removed(Some(Reason::TableFull)), proto, quiet([FULL; 6]));
        steps(NetworkChanged, proto, quiet([Idle, Preparing, Requested, Carried, Idle, Idle]));
        steps(Active, proto, quiet([Idle, Preparing, Requested, Carried, Idle, MTU]));
    }
}

#[test]
fn a_request_names_the_connection_and_a_removal_its_number() {
    let address = "192.0.2.1".parse().unwrap();
    let tuple = Tuple { src: address, dst: address, proto: TCP, sport: 1, dport: 2 };
    let connection = Connection { id: 7, zone: 3, orig: tuple, reply: tuple };
    for (action, request) in [
        (DisableWindowTracking, OffloadRequest::DisableWindowTracking(connection)),
        (Install, OffloadRequest::Install(connection)),
        (Remove, OffloadRequest::Remove(7)),
    ] {
        assert_eq!(action.request(connection), request);
    }
}

#[test]
fn a_mark_stands_for_the_rules_it_was_set_by() {
    let mut rules = Rules::default();
    let mut passed = rules.of_new();
    assert!(passed.holds(&rules, Idle, true) && !passed.holds(&rules, Idle, false));
    assert!(!passed.outdated(&rules));
    rules.change(false);
    assert!(passed.holds(&rules, Carried, false), "sets have changed: offloaded flows stay");
    assert!(!passed.holds(&rules, Requested, true));
    assert!(passed.outdated(&rules) && !passed.outdated(&rules), "cleared once for each version");
    rules.change(true);
    assert!(!passed.holds(&rules, Carried, true));
    passed.cleared(RulesVersion(2), &mut rules);
    assert!(!passed.holds(&rules, Idle, true), "it was cleared for older rules");
    assert!(passed.outdated(&rules));
    passed.cleared(rules.current(), &mut rules);
    assert!(passed.holds(&rules, Idle, true) && passed.holds(&rules, Carried, false));
}

#[test]
fn marks_of_the_first_dump_count_if_the_rules_have_not_changed() {
    let mut rules = Rules::default();
    assert!(!rules.of_first_dump().holds(&rules, Idle, true));
    rules.unchanged_at_start();
    assert!(rules.of_first_dump().holds(&rules, Idle, true));
    assert!(!Passed::default().holds(&rules, Idle, true), "found later: unknown");
}
