// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines why working inspection is degraded: lost or late packets, full or unbound queues,
//! late answers, missing or failed rules, missing events.

use std::time::Duration;

use model::{FailPolicy, InspectionMode};

use super::{Observation, Reason};
use crate::queues::Queue;

/// A problem is reported for this long, so that the state does not flicker.
const TOLD: Duration = Duration::from_secs(10);
/// A queue may be half full for this long.
const LAG: Duration = Duration::from_secs(2);
/// Suricata has to connect to the event socket within this time; it writes its counters every 8 s.
const CONNECTS: Duration = Duration::from_secs(20);

/// Problems of earlier observations.
#[derive(Debug, Default)]
pub(super) struct Strain {
    /// Packets that had passed full queues before the current problem, and until now.
    overflow: Option<(u64, u64)>,
    /// When packets last passed a full queue.
    passed: Option<Duration>,
    dropped: Option<u64>,
    captured: Option<u64>,
    /// When packets were last lost.
    lost: Option<Duration>,
    /// Since when a queue has been half full.
    full_since: Option<Duration>,
    /// When a queue was last half full for too long.
    lagged: Option<Duration>,
    late: Option<Duration>,
    /// Since when Suricata has worked without a connection for events.
    mute_since: Option<Duration>,
}

impl Strain {
    /// Returns the worst problem, if any. Forgets all problems while Suricata does not work.
    pub(super) fn follow(
        &mut self,
        now: Duration,
        seen: &Observation,
        works: bool,
        late: bool,
    ) -> Option<Reason> {
        if !works {
            *self = Self::default();
            return None;
        }
        self.note(now, seen, late);
        let recent = |at: Option<Duration>| at.is_some_and(|at| now.saturating_sub(at) < TOLD);
        if let (true, Some((before, all))) = (recent(self.passed), self.overflow) {
            return Some(Reason::QueueFullOpen { n: all.saturating_sub(before) });
        }
        if recent(self.lost) {
            return Some(lost(seen));
        }
        if let Some(reason) = deaf(seen) {
            return Some(reason);
        }
        if recent(self.lagged) {
            return Some(Reason::Lags);
        }
        if recent(self.late) {
            return Some(Reason::Late);
        }
        if let Some(reason) = rules(seen) {
            return Some(reason);
        }
        let mute = self.mute_since.is_some_and(|since| now.saturating_sub(since) >= CONNECTS);
        mute.then_some(Reason::NoEvents)
    }

    fn note(&mut self, now: Duration, seen: &Observation, late: bool) {
        let (before, last) = self.overflow.unwrap_or((seen.overflow, seen.overflow));
        let told = self.passed.is_some_and(|at| now.saturating_sub(at) < TOLD);
        self.overflow = Some((if told { before } else { last }, seen.overflow));
        if seen.overflow > last {
            self.passed = Some(now);
        }
        let queues = || seen.queues.iter().flatten();
        let dropped = queues().map(Queue::dropped).sum();
        // A restart of Suricata resets the counters, so a smaller count does not mean drops.
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

fn lost(seen: &Observation) -> Reason {
    match seen.mode {
        InspectionMode::Nfq => Reason::QueueDrops,
        InspectionMode::Ids => Reason::CaptureDrops,
        InspectionMode::Inline => Reason::BridgeDrops,
    }
}

fn deaf(seen: &Observation) -> Option<Reason> {
    let missing = seen.queues.iter().filter(|queue| queue.is_none()).count();
    let all = seen.queues.len();
    let bound = all - missing;
    (missing > 0).then_some(match seen.fail {
        FailPolicy::Open => Reason::QueuesOpen { bound, all },
        FailPolicy::Closed => Reason::QueuesClosed { bound, all },
    })
}

fn rules(seen: &Observation) -> Option<Reason> {
    let rules = seen.rules?;
    match (rules.loaded, rules.failed) {
        (0, _) => Some(Reason::NoRules),
        (_, 0) => None,
        (_, 1) => Some(Reason::RuleFailed),
        (_, n) => Some(Reason::RulesFailed { n }),
    }
}
