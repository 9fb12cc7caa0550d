// SPDX-License-Identifier: GPL-2.0-or-later
//! Schedules the doctor's own runs: after the start, daily, and after changes.

use std::time::Duration;

/// Delay of the first run, so that services and the WAN are up.
const FIRST_RUN_DELAY: Duration = Duration::from_secs(180);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Debounce of changes: delay after the last change, and longest delay after the first one.
const DEBOUNCE: Duration = Duration::from_secs(20);
const MAX_DEBOUNCE: Duration = Duration::from_secs(120);
/// Load of all CPUs, from 0 to 1, that postpones a run, and the longest postponement.
const HIGH_LOAD: f64 = 0.9;
const MAX_LOAD_DELAY: Duration = Duration::from_secs(600);
/// Minimum interval between runs after changes of the router's state, so that a flapping WAN does
/// not keep the router busy.
const MIN_STATE_INTERVAL: Duration = Duration::from_secs(600);
/// Retry intervals after a failed run, and after a run that was refused because of another one.
const RETRY_INTERVAL: Duration = Duration::from_secs(600);
const BUSY_RETRY_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Succeeded,
    /// Another run was in progress.
    Busy,
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
            next: FIRST_RUN_DELAY,
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

    pub(crate) fn changed(&mut self, now: Duration) {
        let (first, _) = self.changes.unwrap_or((now, now));
        self.changes = Some((first, now));
    }

    /// Records a changed state of engine, inspection or a WAN. Changes before the first run are
    /// ignored, because that run covers them.
    pub(crate) fn state_changed(&mut self, now: Duration) {
        self.state_change = (now >= FIRST_RUN_DELAY).then_some(now);
    }

    /// Records the report of a run that began `age` ago, by the daemon or by a client.
    pub(crate) fn reported(&mut self, now: Duration, age: Duration) {
        self.next = (now + DAY).saturating_sub(age).max(FIRST_RUN_DELAY);
        self.changes = self.changes.filter(|(_, last)| *last + age > now);
        self.state_change = self.state_change.filter(|at| *at + age > now);
    }

    /// Returns true if a run begins now. `load` is the load of all CPUs. Called once a second.
    pub(crate) fn begins(&mut self, now: Duration, load: f64) -> bool {
        let settled = self.changes.map(|(first, last)| (last + DEBOUNCE).min(first + MAX_DEBOUNCE));
        let earliest = self.began.map_or(Duration::ZERO, |began| began + MIN_STATE_INTERVAL);
        let state = self.state_change.map(|at| (at + DEBOUNCE).max(earliest));
        let due = [settled, state].into_iter().flatten().fold(self.next, Duration::min);
        let due = due.max(self.not_before);
        let waits = load >= HIGH_LOAD && now < due + MAX_LOAD_DELAY;
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

    /// Ends a run, and schedules a retry if it wrote no report.
    pub(crate) fn ended(&mut self, now: Duration, how: Ended) {
        self.running = false;
        let pause = match how {
            Ended::Succeeded => return,
            Ended::Busy => BUSY_RETRY_INTERVAL,
            Ended::Failed => RETRY_INTERVAL,
        };
        self.not_before = now + pause;
        self.next = self.next.min(self.not_before);
    }
}

#[cfg(test)]
mod tests;
