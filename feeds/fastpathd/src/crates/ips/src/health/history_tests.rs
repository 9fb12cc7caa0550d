// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::fixture::{Watch, ms};
use super::*;

/// An event between two observations.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Nothing,
    Appears,
    Dies,
    Hangs(u32),
    GoesOn,
    Asked,
    Switched,
    Refused,
    Lost,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        10 => Just(Fate::Nothing),
        2 => Just(Fate::Appears),
        1 => Just(Fate::Dies),
        1 => (0_u32..9).prop_map(Fate::Hangs),
        2 => Just(Fate::GoesOn),
        1 => Just(Fate::Asked),
        1 => Just(Fate::Switched),
        1 => Just(Fate::Refused),
        1 => Just(Fate::Lost),
    ]
}

fn suffer(watch: &mut Watch, fate: Fate) {
    let there = watch.seen.running;
    match fate {
        Fate::Appears => watch.appears(),
        Fate::Dies => watch.dies(),
        Fate::Hangs(waiting) if there => watch.hangs(waiting),
        Fate::GoesOn if there => watch.goes_on(),
        Fate::Asked => watch.seen.asked = Some(ms(watch.now)),
        Fate::Switched => watch.seen.enabled = !watch.seen.enabled,
        Fate::Refused => {
            watch.seen.refused = watch.seen.refused.take().xor(Some("line 1".into()));
        }
        Fate::Lost => {
            if let Some(queue) = watch.seen.queues.iter_mut().flatten().next() {
                queue.full += 1;
            }
        }
        _ => {}
    }
}

fn modes() -> impl Strategy<Value = (InspectionMode, FailPolicy)> {
    let mode = prop_oneof![
        Just(InspectionMode::Nfq),
        Just(InspectionMode::Ids),
        Just(InspectionMode::Inline)
    ];
    (mode, prop_oneof![Just(FailPolicy::Open), Just(FailPolicy::Closed)])
}

proptest! {
    /// After any events there is a text (`step` checks it), the gate follows the policy, and
    /// without further events the state settles.
    #[test]
    fn settles(
        (mode, fail) in modes(),
        fates in prop::collection::vec(fate(), 0..60),
    ) {
        let mut watch = Watch::starting(mode, fail);
        for fate in fates {
            suffer(&mut watch, fate);
            let condition = watch.step();
            let failing = condition.state != State::Off && !condition.state.works();
            let open = failing && mode == InspectionMode::Nfq && fail == FailPolicy::Open;
            let bound = watch.seen.queues.iter().any(Option::is_some);
            if open != (condition.gate == Gate::Open) {
                // The queues are left to a Suricata that listens but has not answered yet.
                prop_assert!(open && bound && !watch.answers, "{:?}", condition);
            }
        }
        watch.steps(650);
        let (state, since) = (watch.health.condition().state, watch.health.condition().since);
        for _ in 0..60 {
            let condition = watch.step();
            prop_assert_eq!((condition.state, condition.since), (state, since));
        }
    }
}
