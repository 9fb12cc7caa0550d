// SPDX-License-Identifier: GPL-2.0-or-later
//! Token bucket. The rates of events are in `reader.rs`.

use std::time::Duration;

/// Rate of a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens added per second.
    pub per_second: u32,
    /// Maximum number of tokens.
    pub burst: u32,
}

/// Token bucket. It counts in thousandths, so that no fraction is lost between two readings of the
/// clock.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    thousandths: u64,
    filled: Duration,
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        let thousandths = u64::from(rate.burst) * 1000;
        Self { rate, thousandths, filled: Duration::ZERO }
    }

    /// Takes a token; false if there is none.
    pub(super) fn take(&mut self, now: Duration) -> bool {
        let enough = self.is_ready(now);
        if enough {
            self.thousandths -= 1000;
        }
        enough
    }

    /// Reports whether there is a token.
    pub(super) fn is_ready(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled);
        // Whole milliseconds are credited; the rest counts next time, since `filled` does not
        // include it.
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        if millis > 0 {
            let new = millis.saturating_mul(self.rate.per_second.into());
            let full = u64::from(self.rate.burst) * 1000;
            self.thousandths = self.thousandths.saturating_add(new).min(full);
            self.filled += Duration::from_millis(millis);
        }
        self.thousandths >= 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = Bucket::new(Rate { per_second: 500, burst: 2000 });
        let mut taken =
            |ms: u64| (0..10_000).filter(|_| bucket.take(Duration::from_millis(ms))).count();
        assert_eq!(taken(0), 2000);
        assert_eq!(taken(0), 0);
        assert_eq!(taken(1), 0, "half a token");
        assert_eq!(taken(2), 1);
        assert_eq!(taken(1002), 500);
        assert_eq!(taken(500), 0, "a clock that is set back adds nothing");
        assert_eq!(taken(100_000), 2000, "never more than the burst");
    }
}
