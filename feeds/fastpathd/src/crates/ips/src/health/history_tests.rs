// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::fixture::{Watch, ms};
use super::*;

#[derive(Debug, Clone, Copy)]
enum Disturbance {
    Nothing,
    Appears,
    Dies,
    Hangs(u32),
    Resumes,
    StartRequested,
    Toggled,
    Refused,
    PacketLost,
}

fn disturbance() -> impl Strategy<Value = Disturbance> {
    prop_oneof![
        10 => Just(Disturbance::Nothing),
        2 => Just(Disturbance::Appears),
        1 => Just(Disturbance::Dies),
        1 => (0_u32..9).prop_map(Disturbance::Hangs),
        2 => Just(Disturbance::Resumes),
        1 => Just(Disturbance::StartRequested),
        1 => Just(Disturbance::Toggled),
        1 => Just(Disturbance::Refused),
        1 => Just(Disturbance::PacketLost),
    ]
}

fn disturb(watch: &mut Watch, disturbance: Disturbance) {
    let there = watch.seen.running;
    match disturbance {
        Disturbance::Appears => watch.appears(),
        Disturbance::Dies => watch.dies(),
        Disturbance::Hangs(waiting) if there => watch.hangs(waiting),
        Disturbance::Resumes if there => watch.resumes(),
        Disturbance::StartRequested => watch.seen.asked = Some(ms(watch.now)),
        Disturbance::Toggled => watch.seen.enabled = !watch.seen.enabled,
        Disturbance::Refused => {
            watch.seen.refused = watch.seen.refused.take().xor(Some("line 1".into()));
        }
        Disturbance::PacketLost => {
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
    /// After any disturbances, the reason has a text (checked by `step`), the gate follows the
    /// policy, and the state settles.
    #[test]
    fn the_state_settles_after_any_disturbances(
        (mode, fail) in modes(),
        disturbances in prop::collection::vec(disturbance(), 0..60),
    ) {
        let mut watch = Watch::starting(mode, fail);
        for disturbance in disturbances {
            disturb(&mut watch, disturbance);
            let condition = watch.step();
            let failing = condition.state != State::Off && !condition.state.works();
            let open = failing && mode == InspectionMode::Nfq && fail == FailPolicy::Open;
            let bound = watch.seen.queues.iter().any(Option::is_some);
            if open != (condition.gate == Gate::Open) {
                // A Suricata that listens but has not answered yet keeps its queues.
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
