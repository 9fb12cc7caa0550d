// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

/// Token bucket. It counts thousandths of a token to keep fractions between two calls.
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

    pub(super) fn take(&mut self, now: Duration) -> bool {
        let enough = self.is_ready(now);
        if enough {
            self.thousandths -= 1000;
        }
        enough
    }

    pub(super) fn is_ready(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled);
        // Adds whole milliseconds only; `filled` keeps the remainder for the next call.
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
    fn allows_a_burst_and_then_the_rate() {
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
