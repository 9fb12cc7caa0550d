// SPDX-License-Identifier: GPL-2.0-or-later
//! When to read the conntrack table: the share of a CPU that dumps may take, the longest interval,
//! and at once after lost events.
//!
//! The cost is CPU time of this process, not elapsed time: on a busy router a dump of ten flows may
//! wait long to be scheduled, and counters must not become stale because of that.

use std::time::Duration;

/// A dump may take this share of one CPU: one tenth.
const COST: u32 = 10;
/// Older rates are useless.
const SLOWEST: Duration = Duration::from_secs(30);

/// The pace of the counter refreshes.
#[derive(Debug, Default)]
pub(crate) struct Refresh {
    /// Shortest time between two starts, from the configuration.
    shortest: Duration,
    /// Start of the dump under way, by the clock and in CPU time.
    running: Option<(Duration, Duration)>,
    /// CPU time of the last whole dump.
    took: Duration,
    next: Duration,
    resyncs: u64,
    /// Events were lost: the next dump is due at once.
    lost: bool,
}

impl Refresh {
    pub(crate) fn new() -> Self {
        Self { shortest: Duration::from_secs(1), ..Self::default() }
    }

    pub(crate) fn set_shortest(&mut self, shortest: Duration) {
        self.shortest = shortest;
    }

    /// Whether to start a dump now; true starts it. `cpu` is this process's CPU time so far.
    pub(crate) fn due(&mut self, now: Duration, cpu: Duration) -> bool {
        if self.running.is_some() || (now < self.next && !self.lost) {
            return false;
        }
        self.lost = false;
        self.running = Some((now, cpu));
        true
    }

    /// The dump is over.
    pub(crate) fn done(&mut self, cpu: Duration) {
        if let Some((started, cpu_before)) = self.running.take() {
            self.took = cpu.saturating_sub(cpu_before);
            self.next = started + self.interval();
        }
    }

    /// Events were lost: everything has to be read again.
    pub(crate) fn resync(&mut self) {
        self.resyncs += 1;
        self.lost = true;
    }

    pub(crate) fn interval(&self) -> Duration {
        (self.took * COST).clamp(self.shortest, SLOWEST.max(self.shortest))
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
    fn a_cheap_dump_runs_every_second_however_long_it_waits() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(100)));
        assert!(!refresh.due(ms(1), ms(100)), "one at a time");
        refresh.done(ms(105));
        assert!(!refresh.due(ms(999), ms(105)));
        assert!(refresh.due(ms(1000), ms(105)));
    }

    #[test]
    fn a_dear_dump_takes_a_tenth_of_a_cpu() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(0)));
        refresh.done(ms(500));
        assert_eq!(refresh.interval(), ms(5000));
        assert!(!refresh.due(ms(4999), ms(500)));
        assert!(refresh.due(ms(5000), ms(500)));
        refresh.done(ms(15_000));
        assert_eq!(refresh.interval(), ms(30_000));
    }

    #[test]
    fn lost_events_cannot_wait() {
        let mut refresh = Refresh::new();
        assert!(refresh.due(ms(0), ms(0)));
        refresh.resync();
        assert!(!refresh.due(ms(1), ms(0)), "the dump under way ends first");
        refresh.done(ms(2));
        assert!(refresh.due(ms(3), ms(2)));
        refresh.done(ms(3));
        assert!(!refresh.due(ms(5), ms(3)));
        assert_eq!(refresh.resyncs(), 1);
    }
}
