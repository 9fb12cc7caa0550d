// SPDX-License-Identifier: GPL-2.0-or-later
//! Schedules the doctor's own runs: minutes after the start, daily, and after changes of the
//! configuration or the router's state.

use std::time::Duration;

/// Delay of the first run, so that services and the WAN are up.
const FIRST: Duration = Duration::from_secs(180);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Debounce of changes: delay after the last one, and longest delay after the first one.
const SETTLED: Duration = Duration::from_secs(20);
const MAX_SETTLING: Duration = Duration::from_secs(120);
/// Load of all CPUs, from 0 to 1, that postpones a run, and for how long at most.
const BUSY: f64 = 0.9;
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Shortest interval between runs that changes of the router's state trigger, so that a flapping
/// WAN does not keep the router busy.
const STATE_PAUSE: Duration = Duration::from_secs(600);
/// Retry intervals after a failed run, and after a run that found another one under way.
const RETRY: Duration = Duration::from_secs(600);
const AFTER_ANOTHER: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The run wrote a report.
    Well,
    /// Another run was under way.
    Busy,
    /// The run wrote no report.
    Failed,
}

/// Schedule of the doctor's runs. Times count from the daemon's start.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Time of the next run if nothing changes.
    next: Duration,
    /// First and last change of the configuration since the last run began.
    changes: Option<(Duration, Duration)>,
    /// Last change of the router's state since the last run began.
    state_change: Option<Duration>,
    began: Option<Duration>,
    /// Earliest time of the next run.
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

    /// Notes a change of the configuration.
    pub(crate) fn changed(&mut self, now: Duration) {
        let (first, _) = self.changes.unwrap_or((now, now));
        self.changes = Some((first, now));
    }

    /// Notes a changed state of engine, inspection or a WAN. Ignored before the first run, which
    /// covers the changes of the start.
    pub(crate) fn state_changed(&mut self, now: Duration) {
        self.state_change = (now >= FIRST).then_some(now);
    }

    /// Notes a report of a run that began `age` ago, whether the daemon or a client started it.
    pub(crate) fn reported(&mut self, now: Duration, age: Duration) {
        self.next = (now + DAY).saturating_sub(age).max(FIRST);
        self.changes = self.changes.filter(|(_, last)| *last + age > now);
        self.state_change = self.state_change.filter(|at| *at + age > now);
    }

    /// Returns true if a run begins now. `load` is the load of all CPUs. Called once a second.
    pub(crate) fn begins(&mut self, now: Duration, load: f64) -> bool {
        let settled = self.changes.map(|(first, last)| (last + SETTLED).min(first + MAX_SETTLING));
        let calm = self.began.map_or(Duration::ZERO, |began| began + STATE_PAUSE);
        let state = self.state_change.map(|at| (at + SETTLED).max(calm));
        let due = [settled, state].into_iter().flatten().fold(self.next, Duration::min);
        let due = due.max(self.not_before);
        let waits = load >= BUSY && now < due + MAX_WAIT;
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

    /// Notes the end of a run, and schedules a retry if it wrote no report.
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
mod tests;
