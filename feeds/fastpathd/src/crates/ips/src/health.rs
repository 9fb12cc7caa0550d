// SPDX-License-Identifier: GPL-2.0-or-later
//! Derives the state of inspection from observations of Suricata, and the gate in front of the
//! queues.
//!
//! [`Health`] receives an observation about every half second, and reports within two seconds that
//! Suricata ended or hangs.

use std::time::Duration;

use config::Cause;
use model::{FailPolicy, Gate, InspectionMode};

#[cfg(test)]
mod fixture;
mod observation;
mod progress;
mod reason;
mod strain;

pub use observation::{Listening, Observation, RuleCounts};
use progress::{Presence, Progress};
pub use reason::{Consequence, Reason};
use strain::Strain;

config::named! {
    /// State of inspection, as shown to users.
    #[derive(Default)]
    pub enum State {
        #[default]
        Off = "off",
        Starting = "starting",
        /// Packets to be inspected wait for Suricata's verdict.
        Inline = "inline",
        /// Inline, but packets are lost or late, or there is another defect.
        InlineDegraded = "inline-degraded",
        /// Suricata does not work, so traffic to be inspected passes.
        FailingOpen = "failing-open",
        /// Suricata does not work, so traffic to be inspected is dropped.
        FailingClosed = "failing-closed",
        /// Suricata refused its rules or configuration and does not run.
        RulesRejected = "rules-rejected",
        /// Suricata inspects copies and drops nothing.
        Watching = "watching",
    }
}

impl State {
    /// Returns whether packets are inspected as configured.
    #[must_use]
    pub fn works(self) -> bool {
        matches!(self, Self::Inline | Self::InlineDegraded | Self::Watching)
    }

    /// Returns whether a fault prevents inspection.
    #[must_use]
    pub fn fails(self) -> bool {
        match self {
            Self::FailingOpen | Self::FailingClosed | Self::RulesRejected => true,
            Self::Off | Self::Starting | Self::Inline | Self::InlineDegraded | Self::Watching => {
                false
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionCondition {
    pub state: State,
    pub since: Duration,
    pub why: Cause,
    /// Action of the rule in front of the queues in mode `nfq`. Never [`Gate::Closed`], because the
    /// kernel drops packets of a queue without a listener.
    pub gate: Gate,
}

#[derive(Debug)]
pub struct Health {
    condition: InspectionCondition,
    progress: Progress,
    strain: Strain,
}

impl Health {
    #[must_use]
    pub fn new(now: Duration) -> Self {
        let why = Reason::Off.cause();
        let condition =
            InspectionCondition { state: State::Off, since: now, why, gate: Gate::Queue };
        Self { condition, progress: Progress::new(now), strain: Strain::default() }
    }

    #[must_use]
    pub fn condition(&self) -> &InspectionCondition {
        &self.condition
    }

    pub fn observe(&mut self, now: Duration, seen: &Observation) -> &InspectionCondition {
        let presence = self.progress.follow(now, seen);
        let works = presence == Presence::Works;
        let strain = self.strain.follow(now, seen, works, self.progress.answers_late(now));
        let (state, why) = self.judge(seen, presence, strain);
        if state != self.condition.state {
            self.condition.state = state;
            self.condition.since = now;
        }
        self.condition.why = why;
        let takes = works || self.progress.takes_packets(now, seen);
        self.condition.gate = gate(seen, takes);
        &self.condition
    }

    fn judge(
        &self,
        seen: &Observation,
        presence: Presence,
        strain: Option<Reason>,
    ) -> (State, Cause) {
        if !seen.enabled {
            return (State::Off, Reason::Off.cause());
        }
        let then = |reason: Reason| reason.cause().followed(&consequence(seen).cause());
        match presence {
            Presence::Works if uninspected(seen) => {
                let fails = self.condition.state.fails();
                let state = if fails { failing(seen) } else { State::Starting };
                (state, Reason::RulesPass.cause().followed(&Consequence::Uninspected.cause()))
            }
            Presence::Works => working(seen, strain),
            _ if seen.refused.is_some() => {
                let said = sentence(seen.refused.as_deref().unwrap_or_default());
                (State::RulesRejected, then(Reason::Rejected { said }))
            }
            _ if seen.trouble.is_some() => {
                let said = sentence(seen.trouble.as_deref().unwrap_or_default());
                (failing(seen), then(Reason::NotStarted { said }))
            }
            Presence::Starts => (State::Starting, then(Reason::Loading)),
            Presence::Absent => (failing(seen), then(Reason::Absent)),
            Presence::Crashed => (failing(seen), then(Reason::Crashed)),
            Presence::Unbound => (failing(seen), then(Reason::NoQueue)),
            Presence::Hangs => (failing(seen), then(Reason::Hangs)),
            Presence::NeverReady => (failing(seen), then(Reason::NeverReady)),
        }
    }
}

/// Returns whether the rules in force do not queue packets for a working Suricata.
fn uninspected(seen: &Observation) -> bool {
    seen.gate == Gate::Open && seen.mode == InspectionMode::Nfq
}

fn gate(seen: &Observation, takes: bool) -> Gate {
    let queues_packets = seen.enabled && seen.mode == InspectionMode::Nfq;
    if queues_packets && seen.fail == FailPolicy::Open && !takes { Gate::Open } else { Gate::Queue }
}

/// Formats a message of another program as one sentence of bounded length.
fn sentence(said: &str) -> String {
    let lines: Vec<&str> = said.split_whitespace().collect();
    let mut text = crate::text::bounded(lines.join(" "), 400);
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

fn working(seen: &Observation, strain: Option<Reason>) -> (State, Cause) {
    let old = seen.refused.as_deref().or(seen.trouble.as_deref());
    let old = old.map(|said| Reason::Kept { said: sentence(said) });
    let (state, reason) = match (seen.mode, old.or(strain)) {
        (InspectionMode::Ids, None) => (State::Watching, Reason::Watching),
        (InspectionMode::Ids, Some(why)) => (State::Watching, why),
        (InspectionMode::Nfq | InspectionMode::Inline, Some(why)) => (State::InlineDegraded, why),
        (InspectionMode::Nfq | InspectionMode::Inline, None) => (State::Inline, Reason::Inline),
    };
    (state, reason.cause())
}

fn failing(seen: &Observation) -> State {
    let closed = match seen.mode {
        InspectionMode::Nfq => seen.fail == FailPolicy::Closed,
        InspectionMode::Ids => false,
        // Only Suricata forwards packets between the two ports.
        InspectionMode::Inline => true,
    };
    if closed { State::FailingClosed } else { State::FailingOpen }
}

fn consequence(seen: &Observation) -> Consequence {
    match (seen.mode, seen.fail) {
        (InspectionMode::Nfq, FailPolicy::Open) => Consequence::Uninspected,
        (InspectionMode::Nfq, FailPolicy::Closed) => Consequence::Dropped,
        (InspectionMode::Ids, _) => Consequence::Unmonitored,
        (InspectionMode::Inline, _) => Consequence::NotForwarded,
    }
}

#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod tests;
