// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

/// Our objects in a simulated kernel: devices, and a feature that the kernel may refuse.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Objects {
    feature: bool,
    devices: std::collections::BTreeSet<u8>,
}

impl Plan for Objects {
    fn fallback(&self) -> Option<Self> {
        self.feature.then(|| Self { feature: false, ..self.clone() })
    }
}

type TestReconciler = Reconciler<Objects, &'static str>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The kernel refuses the plan and keeps its objects.
    Refused,
    /// The job times out, and the kernel keeps its objects.
    Late,
    /// The job times out, and an unknown part of the plan is in force.
    Stuck,
    Missing,
}

#[derive(Debug, Clone)]
enum Step {
    Want(Objects),
    Done(Fault),
    /// Another program changes our objects; true if the kernel reports it.
    Foreign(bool),
    /// Another program removes our objects; true if the kernel reports it.
    Removed(bool),
    Renew,
    Retry,
    Second,
    Wait(u64),
}

fn any_objects() -> impl Strategy<Value = Objects> {
    (any::<bool>(), prop::collection::btree_set(0..3_u8, 0..3))
        .prop_map(|(feature, devices)| Objects { feature: feature && !devices.is_empty(), devices })
}

fn any_step() -> impl Strategy<Value = Step> {
    use Fault::{Late, Missing, None, Refused, Stuck};
    prop_oneof![
        4 => any_objects().prop_map(Step::Want),
        8 => prop::sample::select(vec![None, None, Refused, Late, Stuck, Missing])
            .prop_map(Step::Done),
        2 => any::<bool>().prop_map(Step::Foreign),
        2 => any::<bool>().prop_map(Step::Removed),
        1 => Just(Step::Renew),
        1 => Just(Step::Retry),
        4 => Just(Step::Second),
        2 => (0..40_000_u64).prop_map(Step::Wait),
    ]
}

struct Bench {
    reconciler: TestReconciler,
    kernel: Objects,
    job: Option<Job<Objects>>,
    now: Duration,
    /// Times of the attempts to apply a plan with the feature.
    attempts: Vec<Duration>,
}

impl Bench {
    /// `left` are objects of a previous daemon.
    fn new(left: Objects) -> Self {
        Self {
            reconciler: Reconciler::new(true),
            kernel: left,
            job: None,
            now: Duration::ZERO,
            attempts: Vec::new(),
        }
    }

    fn start(&mut self, job: Option<Job<Objects>>) {
        let Some(job) = job else { return };
        assert_eq!(self.job, None, "two jobs at once, the second is {job:?}");
        if job.plan().feature && job.before() != Some(job.plan()) {
            self.attempts.push(self.now);
        }
        self.job = Some(job);
    }

    fn end(&mut self, fault: Fault) {
        let Some(job) = self.job.take() else { return };
        let plan = job.plan().clone();
        let before = self.reconciler.in_force().cloned();
        let is_intact = matches!(job, Job::Apply { .. }) && self.kernel == plan;
        let outcome = match fault {
            Fault::Refused if !is_intact => Outcome::Refused("refused", before.clone()),
            Fault::Late => Outcome::Failed("late", before.clone()),
            Fault::Stuck => {
                self.kernel.devices.insert(9);
                Outcome::Failed("stuck", None)
            }
            Fault::Missing if !plan.devices.is_empty() => {
                let mut part = plan;
                part.devices.pop_first();
                self.kernel = part.clone();
                Outcome::Partly(part, "missing")
            }
            Fault::None | Fault::Refused | Fault::Missing => {
                self.kernel = plan;
                Outcome::Applied
            }
        };
        let next = self.reconciler.done(outcome, self.now);
        self.start(next);
    }

    fn step(&mut self, step: &Step) {
        let next = match step {
            Step::Want(plan) => self.reconciler.want(plan.clone()),
            Step::Done(fault) => return self.end(*fault),
            Step::Foreign(reported) => {
                self.kernel.devices.insert(8);
                reported.then(|| self.reconciler.touched(self.now)).flatten()
            }
            Step::Removed(reported) => {
                self.kernel = Objects::default();
                reported.then(|| self.reconciler.removed(self.now)).flatten()
            }
            Step::Renew => self.reconciler.renew(),
            Step::Retry => self.reconciler.retry(self.now),
            Step::Second => {
                self.now += Duration::from_secs(1);
                self.reconciler.second(self.now)
            }
            Step::Wait(milliseconds) => {
                self.now += Duration::from_millis(*milliseconds);
                None
            }
        };
        self.start(next);
    }

    /// Advances the clock by `seconds` seconds, in which each job has this outcome.
    fn pass(&mut self, seconds: u64, fault: impl Fn(&Objects) -> Fault) {
        for _ in 0..seconds {
            for _ in 0..10 {
                let Some(job) = &self.job else { break };
                self.end(fault(job.plan()));
            }
            assert_eq!(self.job, None, "one job follows another without end");
            self.step(&Step::Second);
        }
        while let Some(job) = &self.job {
            self.end(fault(job.plan()));
        }
    }
}

proptest! {
    /// The kernel has exactly the wanted plan once jobs succeed, and a failed renewal is repeated.
    #[test]
    fn the_kernel_converges_to_the_wanted_plan(
        left in any_objects(),
        steps in prop::collection::vec(any_step(), 1..40),
        last in any_objects(),
    ) {
        let mut bench = Bench::new(left);
        for step in &steps {
            bench.step(step);
        }
        bench.step(&Step::Want(last.clone()));
        bench.pass(300, |_| Fault::None);
        bench.step(&Step::Renew);
        bench.pass(1, |_| Fault::None);
        prop_assert_eq!(&bench.kernel, &last);
        prop_assert_eq!(bench.reconciler.in_force(), Some(&last));
        prop_assert_eq!(bench.reconciler.why(), None);
        prop_assert!(bench.reconciler.is_settled());
    }

    /// While the feature is refused, the fallback is in force and the reason is known.
    #[test]
    fn a_refused_plan_falls_back_and_is_retried_with_backoff(
        left in any_objects(),
        steps in prop::collection::vec(any_step(), 1..40),
        devices in prop::collection::btree_set(0..3_u8, 1..3),
    ) {
        let mut bench = Bench::new(left);
        for step in &steps {
            bench.step(step);
        }
        let wanted = Objects { feature: true, devices };
        bench.step(&Step::Want(Objects::default()));
        bench.pass(100, |_| Fault::None);
        bench.step(&Step::Want(wanted.clone()));
        bench.attempts.clear();
        let refuses = |plan: &Objects| if plan.feature { Fault::Refused } else { Fault::None };
        bench.pass(700, refuses);
        prop_assert_eq!(&bench.kernel, &wanted.fallback().unwrap());
        prop_assert_eq!(bench.reconciler.why(), Some(&"refused"));
        let pauses: Vec<u64> =
            bench.attempts.windows(2).map(|pair| pair[1].as_secs() - pair[0].as_secs()).collect();
        prop_assert!(pauses.starts_with(&[60, 120, 240]), "{:?}", pauses);
        bench.pass(250, |_| Fault::None);
        prop_assert_eq!(&bench.kernel, &wanted);
        prop_assert_eq!(bench.reconciler.why(), None);
    }

    /// The plan in force matches the kernel, unless another program changes our objects.
    #[test]
    fn the_kernel_has_no_objects_outside_the_plan_in_force(
        left in any_objects(),
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        let mut bench = Bench::new(left);
        for step in steps {
            if matches!(step, Step::Foreign(_) | Step::Removed(_)) {
                continue;
            }
            bench.step(&step);
            if let Some(in_force) = bench.reconciler.in_force() {
                prop_assert_eq!(in_force, &bench.kernel);
            }
        }
    }

    /// A missing device may come back while the kernel changes, without another event.
    #[test]
    fn a_plan_partly_in_force_is_retried_with_backoff(
        devices in prop::collection::btree_set(0..3_u8, 1..3),
    ) {
        let wanted = Objects { feature: true, devices };
        let mut bench = Bench::new(Objects::default());
        bench.step(&Step::Want(wanted.clone()));
        bench.pass(100, |_| Fault::Missing);
        let pauses: Vec<u64> =
            bench.attempts.windows(2).map(|pair| pair[1].as_secs() - pair[0].as_secs()).collect();
        prop_assert!(pauses.starts_with(&[1, 2, 4, 8, 16]), "{:?}", pauses);
        bench.pass(30, |_| Fault::None);
        prop_assert_eq!(&bench.kernel, &wanted);
        bench.attempts.clear();
        bench.step(&Step::Removed(true));
        bench.pass(3, |_| Fault::Missing);
        prop_assert_eq!(bench.attempts.len(), 3, "after 1 and 2 seconds again");
    }

    /// A timeout is not a refusal, so the fallback is not applied.
    #[test]
    fn a_plan_that_times_out_is_always_retried(
        devices in prop::collection::btree_set(0..3_u8, 1..3),
    ) {
        let wanted = Objects { feature: true, devices };
        let mut bench = Bench::new(Objects::default());
        bench.step(&Step::Want(wanted.clone()));
        bench.pass(300, |plan| if plan.feature { Fault::Late } else { Fault::None });
        prop_assert_eq!(bench.attempts.len(), 11, "one in 30 seconds");
        prop_assert_eq!(&bench.kernel, &Objects::default());
        bench.pass(30, |_| Fault::None);
        prop_assert_eq!(&bench.kernel, &wanted);
    }
}
