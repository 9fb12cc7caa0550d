// SPDX-License-Identifier: GPL-2.0-or-later
//! Problems while Suricata works.

use std::time::Duration;

use model::{FailPolicy, InspectionMode};

use super::Observation;
use crate::queues::Queue;

/// How long a problem is reported, or the state would flicker.
const TOLD: Duration = Duration::from_secs(10);
/// Queues may be that long half full.
const LAG: Duration = Duration::from_secs(2);
/// Suricata connects when it has something to say, and its counters come every 8 s.
const CONNECTS: Duration = Duration::from_secs(20);

/// The state needed for that.
#[derive(Debug, Default)]
pub(super) struct Strain {
    dropped: Option<u64>,
    captured: Option<u64>,
    /// When packets were last lost.
    lost: Option<Duration>,
    /// Since when a queue is half full.
    full_since: Option<Duration>,
    /// When one was so for too long.
    lagged: Option<Duration>,
    late: Option<Duration>,
    /// Since when it works without sending events.
    mute_since: Option<Duration>,
}

impl Strain {
    /// Describes the worst problem; empty while Suricata does not work.
    pub(super) fn follow(
        &mut self,
        now: Duration,
        seen: &Observation,
        works: bool,
        late: bool,
    ) -> Option<String> {
        if !works {
            *self = Self::default();
            return None;
        }
        self.note(now, seen, late);
        let recent = |at: Option<Duration>| at.is_some_and(|at| now.saturating_sub(at) < TOLD);
        if recent(self.lost) {
            return Some(lost(seen));
        }
        if let Some(text) = deaf(seen) {
            return Some(text);
        }
        if recent(self.lagged) {
            return Some("Suricata lags: packets wait long for a verdict.".to_owned());
        }
        if recent(self.late) {
            return Some("Suricata processes packets but answers commands late.".to_owned());
        }
        if let Some(text) = rules(seen) {
            return Some(text);
        }
        let mute = self.mute_since.is_some_and(|since| now.saturating_sub(since) >= CONNECTS);
        mute.then(|| "No events arrive from Suricata: alerts are missing.".to_owned())
    }

    fn note(&mut self, now: Duration, seen: &Observation, late: bool) {
        let queues = || seen.queues.iter().flatten();
        let dropped = queues().map(Queue::dropped).sum();
        // A restart of Suricata begins from zero: then nothing is said of drops.
        let grew = |before: Option<u64>, after: u64| before.is_some_and(|before| after > before);
        if grew(self.dropped, dropped) || grew(self.captured, seen.capture_drops) {
            self.lost = Some(now);
        }
        self.dropped = Some(dropped);
        self.captured = Some(seen.capture_drops);

        let half = (seen.queue_length / 2).max(1);
        if queues().any(|queue| queue.depth >= half) {
            let since = *self.full_since.get_or_insert(now);
            if now.saturating_sub(since) > LAG {
                self.lagged = Some(now);
            }
        } else {
            self.full_since = None;
        }
        if late {
            self.late = Some(now);
        }
        if seen.events {
            self.mute_since = None;
        } else {
            self.mute_since.get_or_insert(now);
        }
    }
}

fn lost(seen: &Observation) -> String {
    let what = match seen.mode {
        InspectionMode::Nfq => "packets are dropped in its queues",
        InspectionMode::Ids => "packets are not inspected",
        InspectionMode::Inline => "packets are dropped between the two ports",
    };
    format!("Suricata cannot keep up: {what}.")
}

fn deaf(seen: &Observation) -> Option<String> {
    let missing = seen.queues.iter().filter(|queue| queue.is_none()).count();
    (missing > 0).then(|| {
        let consequence = match seen.fail {
            FailPolicy::Open => "pass uninspected",
            FailPolicy::Closed => "stop",
        };
        let all = seen.queues.len();
        format!(
            "Suricata has bound {} of {all} queues: connections in the others {consequence}.",
            all - missing
        )
    })
}

fn rules(seen: &Observation) -> Option<String> {
    let rules = seen.rules?;
    match (rules.loaded, rules.failed) {
        (0, _) => Some("Suricata has no rules loaded.".to_owned()),
        (_, 0) => None,
        (_, 1) => Some("1 rule failed to load.".to_owned()),
        (_, failed) => Some(format!("{failed} rules failed to load.")),
    }
}
