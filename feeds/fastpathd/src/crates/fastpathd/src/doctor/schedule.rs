// SPDX-License-Identifier: GPL-2.0-or-later
//! When the doctor runs by itself: minutes after a start, daily, and after changes of the
//! configuration; how long a busy router puts it off, and when it is tried again.

use std::time::Duration;

/// After a start: services and the WAN come up first.
const FIRST: Duration = Duration::from_secs(180);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// After the last of several changes, and at most after the first of them.
const SETTLED: Duration = Duration::from_secs(20);
const LONGEST_SETTLING: Duration = Duration::from_secs(120);
/// Share of all CPUs from which the router is busy with something more important, and for how long
/// a run waits for that to end.
const BUSY: f64 = 0.9;
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Pause between runs because of the router's state: a line that comes and goes must not keep the
/// router busy.
const STATE_PAUSE: Duration = Duration::from_secs(600);
/// After a run that failed, and after one that found another one under way.
const RETRY: Duration = Duration::from_secs(600);
const AFTER_ANOTHER: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With a report.
    Well,
    /// Others run checks.
    Busy,
    /// Without a report.
    Failed,
}

/// Times are since the daemon started.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The next run without a change.
    next: Duration,
    /// The first and the last change since the last run began.
    changes: Option<(Duration, Duration)>,
    /// The last change of the router's state since the last run began, and when that was.
    state_change: Option<Duration>,
    began: Option<Duration>,
    /// Not before this.
    not_before: Duration,
    running: bool,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            next: FIRST,
            changes: None,
            state_change: None,
            began: None,
            not_before: Duration::ZERO,
            running: false,
        }
    }
}

impl Schedule {
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    /// The configuration has changed.
    pub(crate) fn changed(&mut self, now: Duration) {
        let (first, _) = self.changes.unwrap_or((now, now));
        self.changes = Some((first, now));
    }

    /// Engine, inspection or a line has changed its state. The first run sees what the start
    /// brings.
    pub(crate) fn state_changed(&mut self, now: Duration) {
        self.state_change = (now >= FIRST).then_some(now);
    }

    /// There is a report of a run that began so long ago, by the daemon or at a request.
    pub(crate) fn reported(&mut self, now: Duration, age: Duration) {
        self.next = (now + DAY).saturating_sub(age).max(FIRST);
        self.changes = self.changes.filter(|(_, last)| *last + age > now);
        self.state_change = self.state_change.filter(|at| *at + age > now);
    }

    /// Once a second, with the load of all CPUs: whether a run begins now.
    pub(crate) fn begins(&mut self, now: Duration, load: f64) -> bool {
        let settled =
            self.changes.map(|(first, last)| (last + SETTLED).min(first + LONGEST_SETTLING));
        let calm = self.began.map_or(Duration::ZERO, |began| began + STATE_PAUSE);
        let state = self.state_change.map(|at| (at + SETTLED).max(calm));
        let due = [settled, state].into_iter().flatten().fold(self.next, Duration::min);
        let due = due.max(self.not_before);
        let waits = load >= BUSY && now < due + LONGEST_WAIT;
        if self.running || now < due || waits {
            return false;
        }
        self.running = true;
        self.changes = None;
        self.state_change = None;
        self.began = Some(now);
        self.next = now + DAY;
        true
    }

    /// The run has ended.
    pub(crate) fn ended(&mut self, now: Duration, how: Ended) {
        self.running = false;
        let pause = match how {
            Ended::Well => return,
            Ended::Busy => AFTER_ANOTHER,
            Ended::Failed => RETRY,
        };
        self.not_before = now + pause;
        self.next = self.next.min(self.not_before);
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
