// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::effect::Effect as AnyEffect;
use crate::fixture::{configuration, running};

fn plan() -> Plan {
    let mut core = running();
    let mut values = configuration("flowtable");
    values["latency"] = json!({".type": "latency", ".name": "latency", "enabled": "1",
        "download": "50000", "upload": "10000"});
    let effects = core.configuration_read(&values);
    let [AnyEffect::Latency(Effect::Run(job))] = &effects[..] else { panic!("{effects:?}") };
    job.plan().clone().unwrap()
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
        let failed = |remaining| Err(Failure { reason, remaining });
        let (now, result) = match (job.plan(), job.before(), fault) {
            (plan, _, 0) => (Self::Plan(plan.clone()), Ok(Applied::Changed)),
            (plan @ Some(_), Some(before @ Some(_)), 1) if before != plan => {
                (Self::Plan(before.clone()), failed(Remaining::Previous))
            }
            (Some(_), _, 1 | 2) => (Self::Plan(None), failed(Remaining::Nothing)),
            (Some(_) | None, _, _) => (Self::Part, failed(Remaining::Unknown)),
        };
        *self = now;
        result
    }
}

/// The wanted plan changes before the kernel refuses the first one.
#[test]
fn the_refusal_of_an_outdated_plan_is_not_reported() {
    let plan = plan();
    let now = Now::default();
    let other = Plan { download: 1, ..plan.clone() };
    for then in [Ok(None), Err(LatencyReason::NoWan), Ok(Some(other))] {
        let mut state = State::new();
        assert!(state.want(Ok(Some(plan.clone()))).is_some());
        assert_eq!(state.want(then.clone()), None);
        let reason = LatencyReason::Refused { said: "busy".to_owned() };
        let next = state.done(Err(Failure { reason, remaining: Remaining::Nothing }), now);
        let wanted = then.unwrap_or_default();
        let job = |plan| Job::Apply { plan, in_force: Some(None) }.into();
        assert_eq!(next, wanted.is_some().then(|| job(wanted)));
        assert_eq!(state.queues.why(), None);
    }
}

proptest! {
    /// Steps 0 to 3 want a plan, 4 wants none, 5 has a reason against one, 6 waits, and 7 restarts
    /// the daemon. An answer may arrive after later steps; a restart loses it.
    #[test]
    fn the_kernel_converges_to_the_wanted_plan_or_no_plan(
        steps in prop::collection::vec((0..8_u32, 0..4_u8, any::<bool>()), 1..40),
    ) {
        let plan = plan();
        let (mut state, mut kernel) = (State::new(), Kernel::Part);
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
                state = State::new();
            }
            let next = state.want(wanted.clone()).or_else(|| state.queues.second(now.mono));
            prop_assert!(asked.is_none() || next.is_none(), "two jobs at once");
            asked = asked.or(next);
            while let Some(job) = asked.take_if(|_| answered) {
                let result = kernel.run(&job, fault);
                asked = state.done(result, now).map(|Effect::Run(job)| *job);
            }
            if asked.is_none()
                && let Some(in_force) = state.queues.in_force()
            {
                assert_eq!(&kernel, &Kernel::Plan(in_force.clone()));
            }
        }
        let expected = wanted.clone().unwrap_or_default();
        assert_eq!(kernel, Kernel::Plan(expected));
        assert_eq!(state.queues.why(), None);
    }
}
