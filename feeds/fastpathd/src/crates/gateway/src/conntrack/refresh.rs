// SPDX-License-Identifier: GPL-2.0-or-later
//! Schedules dumps of the conntrack table. Dumps use at most a share of a CPU, run at least every
//! `MAX_INTERVAL`, and run at once after lost events. Repeated losses raise both limits.
//!
//! The cost is measured in CPU time of this process, not in elapsed time: on a busy router even a
//! small dump may wait long to be scheduled, which must not make counters stale.

use std::time::Duration;

/// Interval as a multiple of a dump's CPU time: dumps use at most a twentieth of a CPU.
const INTERVAL_FACTOR: u32 = 20;
/// Multiple while a flood causes losses during each dump: at most a quarter of a CPU.
const LOSS_INTERVAL_FACTOR: u32 = 4;
/// Time that `status.health` shows lost events.
const LOSS_SHOWN_TIME: Duration = Duration::from_secs(60);
/// Longest interval between dumps; rates that are older are useless.
const MAX_INTERVAL: Duration = Duration::from_secs(30);
/// Longest interval while each dump loses events. In a flood a dump can take ten seconds of CPU
/// time, and a dump every 30 s would cause the next losses.
const MAX_LOSS_INTERVAL: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
pub(crate) struct Refresh {
    /// Shortest interval between two starts, from the configuration.
    min_interval: Duration,
    /// Start of the current dump, on the clock and in CPU time.
    running: Option<(Duration, Duration)>,
    /// CPU time of the last dump, including its sweep.
    took: Duration,
    dumps: u64,
    spent: Duration,
    next: Duration,
    resyncs: u64,
    /// Events were lost: the next dump is due at once.
    lost: bool,
    lost_at: Option<Duration>,
    /// Lost events caused the current dump, or the last one.
    forced: bool,
    /// Lost events may force a dump from this time on.
    forced_from: Duration,
}

impl Refresh {
    pub(crate) fn new() -> Self {
        Self { min_interval: Duration::from_secs(1), ..Self::default() }
    }

    pub(crate) fn set_min_interval(&mut self, min_interval: Duration) {
        self.min_interval = min_interval;
    }

    /// Returns true if a dump is due, and starts it. `cpu` is the CPU time of this process so far.
    pub(crate) fn due(&mut self, now: Duration, cpu: Duration) -> bool {
        let forced = self.lost && now >= self.forced_from;
        if self.running.is_some() || (now < self.next && !forced) {
            return false;
        }
        self.forced = self.lost;
        self.lost = false;
        self.running = Some((now, cpu));
        true
    }

    pub(crate) fn done(&mut self, cpu: Duration) {
        if let Some((started, cpu_before)) = self.running.take() {
            self.took = cpu.saturating_sub(cpu_before);
            self.dumps += 1;
            self.spent += self.took;
            self.next = started + self.interval();
            self.forced_from = started;
            if self.forced {
                self.forced_from += (self.took * LOSS_INTERVAL_FACTOR).min(MAX_LOSS_INTERVAL);
            }
            if self.forced && self.lost {
                self.next = self.next.max(self.forced_from);
            }
        }
    }

    pub(crate) fn resync(&mut self, now: Duration) {
        self.resyncs += 1;
        self.lost = true;
        self.lost_at = Some(now);
    }

    /// Returns true if events were lost within the last minute, or a dump after a loss is pending.
    pub(crate) fn lost_lately(&self, now: Duration) -> bool {
        self.lost || self.lost_at.is_some_and(|at| now.saturating_sub(at) < LOSS_SHOWN_TIME)
    }

    pub(crate) fn interval(&self) -> Duration {
        (self.took * INTERVAL_FACTOR).clamp(self.min_interval, MAX_INTERVAL.max(self.min_interval))
    }

    /// Returns the number of dumps since the start, and their total CPU time.
    pub(crate) fn totals(&self) -> (u64, Duration) {
        (self.dumps, self.spent)
    }

    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    pub(crate) fn resyncs(&self) -> u64 {
        self.resyncs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_cheap_dump_runs_every_second() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(100)));
        assert!(!refresh.due(ms(1), ms(100)), "one at a time");
        refresh.done(ms(105));
        assert!(!refresh.due(ms(999), ms(105)));
        assert_eq!(refresh.totals(), (1, ms(5)));
        assert!(refresh.due(ms(1000), ms(105)));
    }

    #[test]
    fn an_expensive_dump_takes_at_most_a_twentieth_of_a_cpu() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(0)));
        refresh.done(ms(500));
        assert_eq!(refresh.interval(), ms(10_000));
        assert!(!refresh.due(ms(9999), ms(500)));
        assert!(refresh.due(ms(10_000), ms(500)));
        refresh.done(ms(15_000));
        assert_eq!(refresh.interval(), ms(30_000));
    }

    #[test]
    fn lost_events_start_a_dump_at_once() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(0)));
        refresh.resync(ms(1));
        assert!(!refresh.due(ms(1), ms(0)), "the current dump ends first");
        refresh.done(ms(2));
        assert!(refresh.due(ms(3), ms(2)));
        refresh.done(ms(3));
        assert!(!refresh.due(ms(5), ms(3)));
        assert_eq!(refresh.resyncs(), 1);
    }

    /// Without this limit a flood would keep a CPU busy with dumps.
    #[test]
    fn dumps_that_lose_events_take_at_most_a_quarter_of_a_cpu() {
        let mut refresh = Refresh::new();
        refresh.resync(ms(0));
        assert!(refresh.due(ms(0), ms(0)));
        refresh.resync(ms(900));
        refresh.done(ms(1000));
        assert!(!refresh.due(ms(1500), ms(1000)));
        assert!(refresh.due(ms(4000), ms(1000)));
        refresh.done(ms(2000));
        assert!(!refresh.due(ms(23_000), ms(2000)), "no more losses: a twentieth");
        assert!(refresh.due(ms(24_000), ms(2000)));
        refresh.resync(ms(24_100));
        refresh.done(ms(3000));
        assert!(refresh.due(ms(25_000), ms(3000)), "the first loss for a while");
    }

    #[test]
    fn expensive_dumps_that_lose_events_have_a_longer_interval() {
        let mut refresh = Refresh::new();
        refresh.resync(ms(0));
        assert!(refresh.due(ms(0), ms(0)));
        refresh.resync(ms(5000));
        refresh.done(ms(13_000));
        assert!(!refresh.due(ms(51_999), ms(13_000)), "not after 30 s");
        assert!(refresh.due(ms(52_000), ms(13_000)));
        refresh.resync(ms(60_000));
        refresh.done(ms(73_000));
        assert!(!refresh.due(ms(171_999), ms(73_000)));
        assert!(refresh.due(ms(172_000), ms(73_000)), "at the latest after two minutes");
        refresh.done(ms(133_000));
        assert!(refresh.due(ms(202_000), ms(133_000)), "no more losses: 30 s");
    }

    #[test]
    fn a_loss_is_shown_for_a_minute() {
        let mut refresh = Refresh::new();
        assert!(!refresh.lost_lately(ms(0)));
        refresh.resync(ms(1000));
        assert!(refresh.due(ms(1000), ms(0)));
        assert!(refresh.lost_lately(ms(60_999)));
        assert!(!refresh.lost_lately(ms(61_000)));
        assert_eq!(refresh.resyncs(), 1);
    }
}
