// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::effect::Effect as AnyEffect;
use crate::fixture::{configuration, running};

/// Returns a plan for the lab's network.
fn plan() -> Plan {
    let mut core = running();
    core.latency_second();
    core.latency_done(Ok(Applied::Changed));
    let mut values = configuration("flowtable");
    values["latency"] = json!({".type": "latency", ".name": "latency", "enabled": "1",
        "download": "50000", "upload": "10000"});
    let effects = core.configuration_read(&values);
    let [AnyEffect::Latency(Effect::Run(job))] = &effects[..] else { panic!("{effects:?}") };
    let Job::Apply { plan, .. } = &**job else { panic!("{job:?}") };
    plan.clone()
}

/// Our queues in a simulated kernel: a plan, nothing, or a part of a plan.
#[derive(Debug, Clone, PartialEq)]
enum Kernel {
    Plan(Option<Plan>),
    Part,
}

impl Kernel {
    fn run(&mut self, job: &Job, fault: u8) -> Result<Applied, Failure> {
        let reason = LatencyReason::Refused { said: "busy".to_owned() };
        let (now, result) = match (job, fault) {
            (Job::Apply { plan, .. }, 0) => (Self::Plan(Some(plan.clone())), Ok(Applied::Changed)),
            (Job::Remove, 0) => (Self::Plan(None), Ok(Applied::Changed)),
            (Job::Apply { before: Some(before), plan }, 1) if before != plan => {
                let left = Left::Before;
                (Self::Plan(Some(before.clone())), Err(Failure { reason, left }))
            }
            (Job::Apply { .. }, 1 | 2) => {
                (Self::Plan(None), Err(Failure { reason, left: Left::Nothing }))
            }
            (Job::Apply { .. } | Job::Remove, _) => {
                (Self::Part, Err(Failure { reason, left: Left::Unknown }))
            }
        };
        *self = now;
        result
    }
}

/// The plan is not wanted any more when the kernel refuses it.
#[test]
fn the_refusal_of_an_outdated_plan_is_not_reported() {
    let plan = plan();
    let (mut state, now) = (State::default(), Now::default());
    let other = Plan { download: 1, ..plan.clone() };
    for (then, next) in [
        (Ok(None), None),
        (Err(LatencyReason::NoWan), None),
        (Ok(Some(other.clone())), Some(Job::Apply { plan: other, before: None })),
    ] {
        assert!(state.want(Ok(Some(plan.clone())), now).is_some());
        assert_eq!(state.want(then, now), None);
        let reason = LatencyReason::Refused { said: "busy".to_owned() };
        assert_eq!(state.done(Err(Failure { reason, left: Left::Nothing }), now), next);
        assert_eq!(state.refused, None);
    }
}

proptest! {
    /// Steps 0 to 3 want a plan, 4 wants none, 5 has a reason against one, 6 waits, and 7 restarts
    /// the daemon. An answer may arrive after later steps; a restart loses it.
    #[test]
    fn the_kernel_ends_up_with_the_wanted_plan_or_nothing(
        steps in prop::collection::vec((0..8_u32, 0..4_u8, any::<bool>()), 1..40),
    ) {
        let plan = plan();
        let (mut state, mut kernel) = (State { is_dirty: true, ..State::default() }, Kernel::Part);
        let (mut now, mut wanted, mut asked) = (Now::default(), Ok(None), None);
        let ends = std::iter::repeat_n((6, 0, true), 4);
        for (step, fault, answered) in steps.into_iter().chain(ends) {
            now.mono += Duration::from_secs(if step == 6 { 31 } else { 1 });
            wanted = match step {
                0..4 => Ok(Some(Plan { download: 1000 + step, ..plan.clone() })),
                4 => Ok(None),
                5 => Err(LatencyReason::NoWan),
                _ => wanted,
            };
            if step == 7 {
                if let Some(lost) = asked.take() {
                    let _ = kernel.run(&lost, fault);
                }
                state = State { is_dirty: true, ..State::default() };
            }
            let next = state.want(wanted.clone(), now);
            prop_assert!(asked.is_none() || next.is_none(), "two jobs at once");
            asked = asked.or(next);
            while let Some(job) = asked.take_if(|_| answered) {
                let result = kernel.run(&job, fault);
                asked = state.done(result, now);
            }
            match &kernel {
                _ if step == 7 || asked.is_some() => {}
                Kernel::Plan(plan) if state.is_known => {
                    assert_eq!(state.in_force(), plan.as_ref());
                }
                Kernel::Plan(_) => assert_eq!(state.in_force(), None),
                Kernel::Part => assert_eq!((state.in_force(), state.is_dirty), (None, true)),
            }
        }
        let expected = wanted.clone().unwrap_or_default();
        assert_eq!(kernel, Kernel::Plan(expected));
        assert_eq!(state.refused, None);
    }
}
