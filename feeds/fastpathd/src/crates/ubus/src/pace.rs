// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits the rate of answers to what uhttpd on a small router can read. ubusd buffers at most 1
//! MiB for a slow client (`UBUS_CLIENT_MAX_TXQ_LEN`) and silently drops further answers, so that
//! the caller gets status 0 without data.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a burst, half of ubusd's buffer for a client.
const BURST: f64 = 512.0 * 1024.0;
/// Bytes per second after the burst.
const RATE: f64 = 5.0 * 1024.0 * 1024.0;

/// A leaky bucket.
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

#[derive(Debug)]
pub(crate) struct Pace(Mutex<Bucket>);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Bucket { level: 0.0, at: Instant::now() }))
    }

    pub(crate) fn answered(&self, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes, Instant::now());
    }

    pub(crate) fn wait(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wait(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_calls_after_a_burst_of_answers() {
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
