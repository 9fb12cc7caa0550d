// SPDX-License-Identifier: GPL-2.0-or-later
//! Changed rules and changed elements of sets: carried connections have to pass them again.

use model::Connection;

use super::*;

const ELEMENTS: Revision =
    Revision { elements: true, others: false, table: ctnetlink::Touch::None };

/// The connections whose marks are to be cleared.
fn to_be_cleared(effects: Vec<AnyEffect>) -> Vec<Connection> {
    let cleared = effects.into_iter().find_map(|effect| match effect {
        AnyEffect::Conntrack(conntrack::Effect::ClearMarks(offers, PASSED)) => Some(offers),
        _ => None,
    });
    cleared.unwrap()
}

#[test]
fn changed_firewall_rules_have_to_be_passed_again() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    assert_eq!(carried(&maps), 2);
    let effects = core.rules_changed(Revision { others: true, ..ELEMENTS });
    assert_eq!(carried(&maps), 0);
    let offers = to_be_cleared(effects);
    // Reported before the bits were cleared.
    update(&mut core, established(7, false));
    assert_eq!(carried(&maps), 0);
    let looked_up = core.marks_cleared(&offers);
    assert_eq!(
        looked_up,
        [AnyEffect::Conntrack(conntrack::Effect::LookUp(vec![(0, offers[0].orig)]))]
    );
    core.looked_up(&[established(7, false)]);
    assert_eq!(carried(&maps), 0, "a rule stops it now");
    let effects = core.looked_up(&[Entry { mark: PASSED, ..established(7, false) }]);
    settle(&mut core, effects);
    assert_eq!(carried(&maps), 2);
}

#[test]
fn changed_elements_of_sets_have_to_be_passed_again_every_few_seconds() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    let effects = core.rules_changed(ELEMENTS);
    assert_eq!(carried(&maps), 0, "a rule may drop them now");
    core.marks_cleared(&to_be_cleared(effects));
    let effects = core.looked_up(&[Entry { mark: PASSED, ..established(7, false) }]);
    settle(&mut core, effects);
    assert_eq!(carried(&maps), 2);
    core.rules_changed(ELEMENTS);
    core.now.mono += Duration::from_secs(3);
    core.second(&Readings::default());
    assert_eq!(carried(&maps), 2, "a resolver fills sets all the time");
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    assert_eq!(carried(&maps), 0);
    assert_eq!(to_be_cleared(effects).len(), 1);
}
