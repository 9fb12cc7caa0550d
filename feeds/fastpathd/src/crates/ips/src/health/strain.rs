// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines why working inspection is degraded: lost or late packets, full or unbound queues,
//! late answers, missing or failed rules, missing events.

use std::time::Duration;

use model::{FailPolicy, InspectionMode};

use super::{Observation, Reason};
use crate::queues::Queue;

/// Minimum time for which a problem is reported, so that the state does not flap.
const REPORT_TIME: Duration = Duration::from_secs(10);
/// Maximum time for which a queue may be half full.
const LAG_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time until Suricata connects to the event socket. It writes counters every 8 s.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Strain {
    /// Overflow count before the current problem, and the last count.
    overflow: Option<(u64, u64)>,
    last_overflow: Option<Duration>,
    dropped: Option<u64>,
    capture_drops: Option<u64>,
    last_loss: Option<Duration>,
    /// Begin of the time for which a queue has been half full.
    full_since: Option<Duration>,
    /// When a queue last exceeded [`LAG_TIMEOUT`].
    last_lag: Option<Duration>,
    last_late: Option<Duration>,
    /// Begin of the time without an event connection.
    disconnected_since: Option<Duration>,
}

impl Strain {
    /// Returns the worst problem, if any. Resets all problems while Suricata does not work.
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
        let recent =
            |at: Option<Duration>| at.is_some_and(|at| now.saturating_sub(at) < REPORT_TIME);
        if let (true, Some((before, all))) = (recent(self.last_overflow), self.overflow) {
            return Some(Reason::QueueFullOpen { n: all.saturating_sub(before) });
        }
        if recent(self.last_loss) {
            return Some(lost(seen));
        }
        if let Some(reason) = unbound_queues(seen) {
            return Some(reason);
        }
        if recent(self.last_lag) {
            return Some(Reason::Lags);
        }
        if recent(self.last_late) {
            return Some(Reason::Late);
        }
        if let Some(reason) = rules(seen) {
            return Some(reason);
        }
        let disconnected = self
            .disconnected_since
            .is_some_and(|since| now.saturating_sub(since) >= CONNECT_TIMEOUT);
        disconnected.then_some(Reason::NoEvents)
    }

    fn note(&mut self, now: Duration, seen: &Observation, late: bool) {
        let (before, last) = self.overflow.unwrap_or((seen.overflow, seen.overflow));
        let reported = self.last_overflow.is_some_and(|at| now.saturating_sub(at) < REPORT_TIME);
        self.overflow = Some((if reported { before } else { last }, seen.overflow));
        if seen.overflow > last {
            self.last_overflow = Some(now);
        }
        let queues = || seen.queues.iter().flatten();
        let dropped = queues().map(Queue::dropped).sum();
        // A restart of Suricata resets the counters, so a decrease is not a loss.
        let grew = |before: Option<u64>, after: u64| before.is_some_and(|before| after > before);
        if grew(self.dropped, dropped) || grew(self.capture_drops, seen.capture_drops) {
            self.last_loss = Some(now);
        }
        self.dropped = Some(dropped);
        self.capture_drops = Some(seen.capture_drops);

        let half = (seen.queue_length / 2).max(1);
        if queues().any(|queue| queue.depth >= half) {
            let since = *self.full_since.get_or_insert(now);
            if now.saturating_sub(since) > LAG_TIMEOUT {
                self.last_lag = Some(now);
            }
        } else {
            self.full_since = None;
        }
        if late {
            self.last_late = Some(now);
        }
        if seen.events {
            self.disconnected_since = None;
        } else {
            self.disconnected_since.get_or_insert(now);
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

fn unbound_queues(seen: &Observation) -> Option<Reason> {
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
