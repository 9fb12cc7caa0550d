// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines whether Suricata is absent, starting, crashed, hanging or working.

use std::time::Duration;

use model::InspectionMode;

use super::Observation;

/// Time without progress and answers after which Suricata hangs, while packets wait.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
/// Time without answers after which Suricata hangs, while no packets wait.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time without answers after which a Suricata that handles packets is late.
const LATE_TIMEOUT: Duration = Duration::from_secs(4);
/// Time that Suricata has to work after a hang.
const RECOVERY_TIME: Duration = Duration::from_secs(1);
/// Maximum time from a request to the appearance of the process.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum duration of a start. A slow router takes minutes to load 50,000 rules.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time from the first answer to bound queues.
const BIND_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time from a request to the restart, including `suricata -T`.
const RESTART_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum interval between observations; a longer one resets the timeouts of hangs.
const MAX_GAP: Duration = Duration::from_millis(1500);

/// State of the process.
///
/// ```text
///requested ─> Starts ─ answers and binds a queue ─> Works <─> Hangs
///             Starts ─ no process within 1 s ─────> Absent
///             Starts ─ binds no queue ────────────> Unbound
///             Starts ─ 300 s ─────────────────────> NeverReady
///any ─ process ends without a request ─> Crashed ─ answers and binds a queue ─> Works
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Absent,
    /// A start was requested and has not failed yet.
    Starts,
    /// The process ended without a request, and its successor is not ready.
    Crashed,
    /// Suricata answers commands, but has bound no queue.
    Unbound,
    /// Suricata neither handles packets nor answers commands.
    Hangs,
    NeverReady,
    /// Suricata handles packets, or would if there were any.
    Works,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Demand {
    runs: bool,
    asked: Option<Duration>,
    refused: bool,
}

/// Facts from earlier observations that determine the [`Presence`].
#[derive(Debug)]
pub(super) struct Progress {
    demand: Demand,
    /// Last request, or last appearance or end of the process.
    changed: Duration,
    /// End of the time in which a requested restart excuses the end of a working process.
    restart_until: Option<Duration>,
    /// End of the time in which a process that ends without an answer counts as `suricata -T`.
    test_until: Option<Duration>,
    crashed: bool,
    present: bool,
    /// Last observation without a process. Earlier answers are from a previous process.
    last_absent: Duration,
    answers: Option<(Duration, Duration)>,
    /// Packets that the queues handled, modulo 2³². `None` without a listener.
    handled: Option<u32>,
    advanced_at: Duration,
    /// Begin of the observations without a gap.
    continuous_since: Duration,
    last_observed: Duration,
    hung: bool,
    /// Begin of the recovery after a hang.
    recovering_since: Option<Duration>,
}

/// Returns whether there is a process. Bound queues show a process whose id is still unknown.
fn has_process(seen: &Observation) -> bool {
    seen.running || seen.queues.iter().any(Option::is_some)
}

impl Progress {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            demand: Demand::default(),
            changed: now,
            restart_until: None,
            test_until: None,
            crashed: false,
            present: false,
            last_absent: now,
            answers: None,
            handled: None,
            advanced_at: now,
            continuous_since: now,
            last_observed: now,
            hung: false,
            recovering_since: None,
        }
    }

    /// Returns whether a Suricata that has not answered yet may keep its queues: it listens, and
    /// packets do not wait for long. Applies during a start and after a restart of the daemon.
    pub(super) fn takes_packets(&self, now: Duration, seen: &Observation) -> bool {
        let mut queues = seen.queues.iter().flatten().peekable();
        let still = now.saturating_sub(self.advanced_at.max(self.continuous_since));
        self.answers.is_none()
            && queues.peek().is_some()
            && (still < STALL_TIMEOUT || queues.all(|queue| queue.depth == 0))
    }

    pub(super) fn answers_late(&self, now: Duration) -> bool {
        self.silence(now) >= LATE_TIMEOUT
    }

    pub(super) fn follow(&mut self, now: Duration, seen: &Observation) -> Presence {
        if now.saturating_sub(self.last_observed) > MAX_GAP {
            self.continuous_since = now;
        }
        self.last_observed = now;
        self.note_demand(now, seen);
        self.note_process(now, seen);
        self.note_handled(now, seen);
        let presence = self.judge(now, seen);
        if presence == Presence::Works {
            self.crashed = false;
        }
        presence
    }

    fn note_demand(&mut self, now: Duration, seen: &Observation) {
        let before = self.demand;
        let refused = seen.refused.is_some();
        self.demand = Demand { runs: seen.enabled, asked: seen.asked, refused };
        // An accepted configuration, perhaps after several refusals, is followed by a start.
        let accepted = before.refused && !refused;
        if accepted || self.demand != (Demand { refused, ..before }) {
            self.changed = now;
            self.crashed = false;
            self.restart_until =
                (self.present || has_process(seen)).then_some(now + RESTART_TIMEOUT);
            self.test_until = Some(now + RESTART_TIMEOUT);
        }
    }

    fn note_process(&mut self, now: Duration, seen: &Observation) {
        let present = has_process(seen);
        if self.present && !present {
            let deadline =
                if self.answers.is_some() { &mut self.restart_until } else { &mut self.test_until };
            let excused = deadline.take().is_some_and(|until| now <= until);
            self.crashed |= !excused;
        }
        if self.present != present {
            self.changed = now;
        }
        self.present = present;
        if present {
            let new_answer = seen.answered.filter(|at| *at > self.last_absent && *at <= now);
            if let Some(at) = new_answer {
                let first = self.answers.map_or(at, |(first, _)| first);
                self.answers = Some((first, at));
            }
        } else {
            self.last_absent = now;
            self.answers = None;
            self.hung = false;
        }
    }

    fn note_handled(&mut self, now: Duration, seen: &Observation) {
        let queues = seen.queues.iter().flatten();
        let handled = queues.map(|queue| queue.handled).reduce(u32::wrapping_add);
        if handled != self.handled {
            self.advanced_at = now;
        }
        self.handled = handled;
    }

    fn judge(&mut self, now: Duration, seen: &Observation) -> Presence {
        let since_start = now.saturating_sub(self.changed);
        if !self.present {
            return match self.crashed {
                true => Presence::Crashed,
                false if since_start < PROCESS_TIMEOUT => Presence::Starts,
                false => Presence::Absent,
            };
        }
        let bound = seen.mode != InspectionMode::Nfq || seen.queues.iter().any(Option::is_some);
        match self.answers {
            Some((first, _)) if !bound && now.saturating_sub(first) >= BIND_TIMEOUT => {
                Presence::Unbound
            }
            Some(_) if bound => self.judge_bound(now, seen),
            _ if self.crashed => Presence::Crashed,
            _ if since_start < START_TIMEOUT => Presence::Starts,
            _ => Presence::NeverReady,
        }
    }

    fn judge_bound(&mut self, now: Duration, seen: &Observation) -> Presence {
        let waiting = seen.queues.iter().flatten().any(|queue| queue.depth > 0);
        if self.hangs(now, seen, waiting) {
            self.hung = true;
            self.recovering_since = None;
            return Presence::Hangs;
        }
        if !self.hung {
            return Presence::Works;
        }
        // The gate is open during a hang, so waiting packets are from before the hang.
        let recent = self.answers.is_some_and(|(_, last)| now.saturating_sub(last) < STALL_TIMEOUT);
        if !recent || waiting {
            self.recovering_since = None;
            return Presence::Hangs;
        }
        if now.saturating_sub(*self.recovering_since.get_or_insert(now)) < RECOVERY_TIME {
            return Presence::Hangs;
        }
        self.hung = false;
        Presence::Works
    }

    fn hangs(&self, now: Duration, seen: &Observation, waiting: bool) -> bool {
        let still = now.saturating_sub(self.advanced_at.max(self.continuous_since));
        let silence = self.silence(now);
        match (seen.mode, waiting) {
            (InspectionMode::Nfq, true) => still >= STALL_TIMEOUT && silence >= STALL_TIMEOUT,
            (InspectionMode::Nfq, false) => still >= SILENCE_TIMEOUT && silence >= SILENCE_TIMEOUT,
            (InspectionMode::Ids | InspectionMode::Inline, _) => silence >= SILENCE_TIMEOUT,
        }
    }

    fn silence(&self, now: Duration) -> Duration {
        let last = self.answers.map_or(self.last_absent, |(_, last)| last);
        now.saturating_sub(last.max(self.continuous_since))
    }
}
