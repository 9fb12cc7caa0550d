// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether Suricata is inline, as a state and as a text.
//!
//! A [`Health`] receives an observation about every half second, and reports within two seconds
//! when Suricata is gone or hangs. Time is passed in, as everywhere.

use std::time::Duration;

use model::{FailPolicy, Gate, InspectionMode};

#[cfg(test)]
mod fixture;
mod observation;
mod progress;
mod strain;

pub use observation::{Listening, Observation, RuleCounts};
use progress::{Presence, Progress};
use strain::Strain;

config::named! {
    /// What users see.
    #[derive(Default)]
    pub enum State {
        /// Nothing is asked for.
        #[default]
        Off = "off",
        /// Suricata loads its rules.
        Starting = "starting",
        /// Every packet to be inspected waits for its verdict.
        Inline = "inline",
        /// Inline, but packets are lost or late, or there is another defect.
        InlineDegraded = "inline-degraded",
        /// Suricata is away; traffic to be inspected passes.
        FailingOpen = "failing-open",
        /// It is away; traffic to be inspected is dropped.
        FailingClosed = "failing-closed",
        /// It refused its rules or its configuration and does not run.
        RulesRejected = "rules-rejected",
        /// It watches copies and stops nothing.
        Watching = "watching",
    }
}

impl State {
    /// Whether packets that should be inspected are.
    #[must_use]
    pub fn works(self) -> bool {
        matches!(self, Self::Inline | Self::InlineDegraded | Self::Watching)
    }

    /// Whether packets that should be inspected are not, by a fault.
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

/// How it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// In one word.
    pub state: State,
    /// When it became so.
    pub since: Duration,
    /// As text; never empty.
    pub why: String,
    /// Action of the rule in front of the queues, in mode `nfq`. It is never [`Gate::Closed`]: a
    /// queue without a listener drops by itself, and takes packets again at the moment Suricata
    /// is back.
    pub gate: Gate,
}

/// The state needed to judge the next observation.
#[derive(Debug)]
pub struct Health {
    condition: Condition,
    progress: Progress,
    strain: Strain,
}

impl Health {
    /// Off, since `now`.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        let why = OFF.to_owned();
        let condition = Condition { state: State::Off, since: now, why, gate: Gate::Queue };
        Self { condition, progress: Progress::new(now), strain: Strain::default() }
    }

    /// The last observation.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Judges the observation at `now`.
    pub fn observe(&mut self, now: Duration, seen: &Observation) -> &Condition {
        let presence = self.progress.follow(now, seen);
        let works = presence == Presence::Works;
        let strain = self.strain.follow(now, seen, works, self.progress.answers_late(now));
        let (state, why) = judge(seen, presence, strain);
        if state != self.condition.state {
            self.condition.state = state;
            self.condition.since = now;
        }
        self.condition.why = why;
        let takes = works || self.progress.takes_packets(now, seen);
        self.condition.gate = gate(seen, takes);
        &self.condition
    }
}

const OFF: &str = "Inspection is off.";

fn gate(seen: &Observation, takes: bool) -> Gate {
    let asked = seen.enabled && seen.mode == InspectionMode::Nfq;
    if asked && seen.fail == FailPolicy::Open && !takes { Gate::Open } else { Gate::Queue }
}

/// What somebody said, on one line of bounded length that ends like a sentence.
fn sentence(said: &str) -> String {
    let lines: Vec<&str> = said.split_whitespace().collect();
    let mut text = crate::text::bounded(lines.join(" "), 400);
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

fn judge(seen: &Observation, presence: Presence, strain: Option<String>) -> (State, String) {
    if !seen.enabled {
        return (State::Off, OFF.to_owned());
    }
    match presence {
        Presence::Works => working(seen, strain),
        _ if seen.refused.is_some() => {
            let said = sentence(seen.refused.as_deref().unwrap_or_default());
            let why = format!("Suricata rejected its configuration or rules: {said}");
            (State::RulesRejected, format!("{why} {}", consequence(seen)))
        }
        _ if seen.trouble.is_some() => {
            let said = sentence(seen.trouble.as_deref().unwrap_or_default());
            failing(seen, &format!("Suricata cannot be started: {said}"))
        }
        Presence::Starts => {
            (State::Starting, format!("Suricata is loading its rules. {}", consequence(seen)))
        }
        Presence::Absent => failing(seen, "Suricata is not running."),
        Presence::Crashed => failing(seen, "Suricata crashed and is not running again yet."),
        Presence::Deaf => failing(seen, "Suricata is running but has not bound any queue."),
        Presence::Hangs => failing(
            seen,
            "Suricata is running but hangs: it does not process packets or answer commands.",
        ),
        Presence::NeverReady => {
            failing(seen, "Suricata has been starting for minutes and is not ready.")
        }
    }
}

fn working(seen: &Observation, strain: Option<String>) -> (State, String) {
    let old = seen.refused.as_deref().or(seen.trouble.as_deref());
    let old = old.map(|said| {
        let said = sentence(said);
        format!("Suricata keeps its previous configuration; the new one failed: {said}")
    });
    match (seen.mode, old.or(strain)) {
        (InspectionMode::Ids, None) => {
            (State::Watching, "Suricata runs as an IDS and drops nothing.".to_owned())
        }
        (InspectionMode::Ids, Some(why)) => (State::Watching, why),
        (InspectionMode::Nfq | InspectionMode::Inline, Some(why)) => (State::InlineDegraded, why),
        (InspectionMode::Nfq | InspectionMode::Inline, None) => (
            State::Inline,
            "Suricata is inline and gives a verdict on every inspected packet.".to_owned(),
        ),
    }
}

fn failing(seen: &Observation, why: &str) -> (State, String) {
    let closed = match seen.mode {
        InspectionMode::Nfq => seen.fail == FailPolicy::Closed,
        InspectionMode::Ids => false,
        // Nobody else carries packets from port to port.
        InspectionMode::Inline => true,
    };
    let state = if closed { State::FailingClosed } else { State::FailingOpen };
    (state, format!("{why} {}", consequence(seen)))
}

/// What happens to packets while Suricata does not work.
fn consequence(seen: &Observation) -> &'static str {
    match (seen.mode, seen.fail) {
        (InspectionMode::Nfq, FailPolicy::Open) => "Connections pass uninspected.",
        (InspectionMode::Nfq, FailPolicy::Closed) => "Connections to be inspected are dropped.",
        (InspectionMode::Ids, _) => "Nothing is monitored.",
        (InspectionMode::Inline, _) => "Nothing is forwarded between the two ports.",
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
