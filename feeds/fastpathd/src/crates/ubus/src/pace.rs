// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast answers may go out: 512 KiB at once, then 5 MiB a second.
//!
//! ubusd keeps at most 1 MiB for a client that reads slowly (`UBUS_CLIENT_MAX_TXQ_LEN`) and
//! silently drops the rest: the caller then gets status 0 and no data. All calls from the web share
//! the one connection of uhttpd. So answers go out no faster than uhttpd on a small router can pass
//! them on, and calls wait their turn instead of losing their answers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Half of the bytes that ubusd keeps for a client.
const BURST: f64 = 512.0 * 1024.0;
/// Bytes a second beyond the burst.
const RATE: f64 = 5.0 * 1024.0 * 1024.0;

/// A bucket that answers fill and time empties.
#[derive(Debug)]
struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    fn drain(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level - passed * RATE).max(0.0);
        self.at = now;
    }

    #[expect(clippy::cast_precision_loss, reason = "a message has at most 1 MiB")]
    fn fill(&mut self, bytes: usize, now: Instant) {
        self.drain(now);
        self.level += bytes as f64;
    }

    fn wait(&mut self, now: Instant) -> Duration {
        self.drain(now);
        Duration::from_secs_f64((self.level - BURST).max(0.0) / RATE)
    }
}

/// The pace of one connection.
#[derive(Debug)]
pub(crate) struct Pace(Mutex<Bucket>);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Bucket { level: 0.0, at: Instant::now() }))
    }

    /// An answer of this size goes out.
    pub(crate) fn answered(&self, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes, Instant::now());
    }

    /// How long the next call has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wait(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_waits() {
        let start = Instant::now();
        let mut bucket = Bucket { level: 0.0, at: start };
        for _ in 0..4 {
            bucket.fill(128 * 1024, start);
        }
        assert_eq!(bucket.wait(start), Duration::ZERO);
        bucket.fill(1024 * 1024, start);
        assert_eq!(bucket.wait(start), Duration::from_millis(200));
        assert_eq!(bucket.wait(start + Duration::from_millis(200)), Duration::ZERO);
        bucket.drain(start + Duration::from_secs(60));
        assert!(bucket.level == 0.0, "no credit is saved up: {}", bucket.level);
    }
}
