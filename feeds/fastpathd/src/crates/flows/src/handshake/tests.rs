// SPDX-License-Identifier: GPL-2.0-or-later

use ctnetlink::Tuple;

use super::*;
use Event::{
    Active, Confirmed, Eligible, Ineligible, Installed, NetworkChanged, Rejected, Removed,
    Unconfirmed,
};
use OffloadAction::{Confirm, Install, Remove, Start};
use OffloadState::{Confirming, Idle, Offloaded, Refused, Requested};

const FULL: OffloadState = Refused(Reason::TableFull);
const MTU: OffloadState = Refused(Reason::Mtu);
const STATES: [OffloadState; 6] = [Idle, Requested, Confirming, Offloaded, FULL, MTU];

/// Asserts the steps of all states in [`STATES`] for an event.
fn steps(event: Event, wanted: [(OffloadState, Option<OffloadAction>); 6]) {
    for (state, wanted) in STATES.into_iter().zip(wanted) {
        assert_eq!(state.step(event), wanted, "{state:?}, {event:?}");
    }
}

fn quiet(states: [OffloadState; 6]) -> [(OffloadState, Option<OffloadAction>); 6] {
    states.map(|state| (state, None))
}

#[test]
fn each_state_handles_every_event() {
    let same = quiet(STATES);
    let with = |at: usize, step| {
        let mut row = same;
        row[at] = step;
        row
    };
    let removed = (Idle, Some(Remove));
    let idle = (Idle, None);
    //     event              Idle, Requested, Confirming, Offloaded, FULL, MTU
    steps(Eligible, with(0, (Requested, Some(Install))));
    steps(Ineligible, [idle, removed, removed, removed, idle, idle]);
    steps(Installed, with(1, (Confirming, Some(Confirm))));
    steps(Rejected(Reason::Mtu), with(1, (MTU, None)));
    steps(Confirmed, with(2, (Offloaded, Some(Start))));
    steps(Unconfirmed, with(2, (Refused(Reason::NotTaken), Some(Remove))));
    steps(Removed(None), quiet([Idle; 6]));
    steps(Removed(Some(Reason::TableFull)), quiet([FULL; 6]));
    steps(NetworkChanged, quiet([Idle, Requested, Confirming, Offloaded, Idle, Idle]));
    steps(Active, quiet([Idle, Requested, Confirming, Offloaded, Idle, MTU]));
}

#[test]
fn a_connection_that_conntrack_did_not_confirm_is_requested_again() {
    let (refused, _) = Confirming.step(Unconfirmed);
    assert_eq!(refused.step(Eligible), (refused, None), "not before further packets");
    assert_eq!(refused.step(Active), (Idle, None));
}

#[test]
fn requests_have_the_connection_or_its_id() {
    let address = "192.0.2.1".parse().unwrap();
    let tuple = Tuple { src: address, dst: address, proto: 6, sport: 1, dport: 2 };
    let connection = Connection { id: 7, zone: 3, orig: tuple, reply: tuple };
    for (action, request) in [
        (Install, OffloadRequest::Install(connection)),
        (Confirm, OffloadRequest::Confirm(connection)),
        (Start, OffloadRequest::Start(7)),
        (Remove, OffloadRequest::Remove(7)),
    ] {
        assert_eq!(action.request(connection), request);
    }
}

#[test]
fn a_mark_counts_only_for_the_rules_that_set_it() {
    let mut rules = Rules::default();
    let mut passed = rules.of_new();
    assert!(passed.holds(&rules, Idle, true) && !passed.holds(&rules, Idle, false));
    assert!(!passed.outdated(&rules));
    rules.change(false);
    assert!(passed.holds(&rules, Offloaded, false), "offloaded flows stay");
    assert!(!passed.holds(&rules, Requested, true));
    assert!(passed.outdated(&rules) && !passed.outdated(&rules), "once per version");
    rules.change(true);
    assert!(!passed.holds(&rules, Offloaded, true));
    passed.cleared(RulesVersion(2), &mut rules);
    assert!(!passed.holds(&rules, Idle, true), "cleared for older rules");
    assert!(passed.outdated(&rules));
    passed.cleared(rules.current(), &mut rules);
    assert!(passed.holds(&rules, Idle, true) && passed.holds(&rules, Offloaded, false));
}

#[test]
fn marks_of_the_first_dump_count_if_the_rules_have_not_changed() {
    let mut rules = Rules::default();
    assert!(!rules.of_first_dump().holds(&rules, Idle, true));
    rules.unchanged_at_start();
    assert!(rules.of_first_dump().holds(&rules, Idle, true));
    assert!(!Passed::default().holds(&rules, Idle, true), "unknown version");
}
