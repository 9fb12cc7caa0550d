// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use model::{FailPolicy, InspectionMode};

use super::{Health, InspectionCondition, Observation, RuleCounts, State};
use crate::queues::Queue;

const STEP: u64 = 500;

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) struct Watch {
    pub(super) now: u64,
    pub(super) health: Health,
    pub(super) seen: Observation,
    /// Whether the command socket answers.
    pub(super) answers: bool,
    /// Packets handled per step.
    pub(super) works: u32,
}

impl Watch {
    /// Returns a Suricata that has worked for ten seconds.
    pub(super) fn working(mode: InspectionMode, fail: FailPolicy) -> Self {
        let mut watch = Self::starting(mode, fail);
        watch.step();
        watch.appears();
        watch.steps(20);
        watch
    }

    /// Returns a Suricata whose start has just been requested.
    pub(super) fn starting(mode: InspectionMode, fail: FailPolicy) -> Self {
        let queues = if mode == InspectionMode::Nfq { vec![None, None] } else { Vec::new() };
        let seen = Observation {
            enabled: true,
            mode,
            fail,
            queues,
            rules: Some(RuleCounts { loaded: 40, failed: 0 }),
            asked: Some(ms(1000)),
            ..Observation::default()
        };
        let health = Health::new(ms(1000));
        Self { now: 1000, health, seen, answers: false, works: 0 }
    }

    pub(super) fn appears(&mut self) {
        let queue =
            |number| Queue { number, listener: 1, depth: 0, handled: 0, full: 0, unread: 0 };
        for (number, place) in self.seen.queues.iter_mut().enumerate() {
            *place = Some(queue(u16::try_from(number).unwrap()));
        }
        (self.answers, self.works) = (true, 10);
        (self.seen.running, self.seen.events) = (true, true);
    }

    pub(super) fn dies(&mut self) {
        for queue in &mut self.seen.queues {
            *queue = None;
        }
        (self.answers, self.works) = (false, 0);
        (self.seen.running, self.seen.events) = (false, false);
    }

    /// Stops the process, with `waiting` packets in each queue.
    pub(super) fn hangs(&mut self, waiting: u32) {
        (self.answers, self.works) = (false, 0);
        self.depth(waiting);
    }

    pub(super) fn resumes(&mut self) {
        (self.answers, self.works) = (true, 10);
        self.depth(0);
    }

    pub(super) fn depth(&mut self, depth: u32) {
        for queue in self.seen.queues.iter_mut().flatten() {
            queue.depth = depth;
        }
    }

    pub(super) fn step(&mut self) -> InspectionCondition {
        self.now += STEP;
        if self.answers {
            self.seen.answered = Some(ms(self.now - 50));
        }
        for queue in self.seen.queues.iter_mut().flatten() {
            queue.handled = queue.handled.wrapping_add(self.works);
        }
        let condition = self.health.observe(ms(self.now), &self.seen).clone();
        assert!(!condition.why.text.trim().is_empty());
        condition
    }

    pub(super) fn steps(&mut self, number: u64) -> InspectionCondition {
        for _ in 1..number {
            self.step();
        }
        self.step()
    }

    /// Expects `state` within two seconds, and that it lasts for another ten.
    pub(super) fn becomes(&mut self, state: State) -> InspectionCondition {
        let reached = (0..4).find(|_| self.step().state == state);
        let now = self.health.condition();
        assert!(reached.is_some(), "{} instead of {}: {}", now.state.name(), state.name(), now.why);
        let since = self.health.condition().since;
        let condition = self.steps(20);
        assert_eq!((condition.state, condition.since), (state, since), "{}", condition.why);
        condition
    }
}
