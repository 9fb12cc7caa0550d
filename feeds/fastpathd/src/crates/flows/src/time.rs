// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversion between monotonic time and Unix time.

use std::time::Duration;

/// Milliseconds of monotonic time; negative before its start.
pub(crate) type Millis = i64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since an arbitrary start.
    pub mono: Duration,
    pub unix_ms: u64,
}

/// Maximum drift of the Unix clock that counts as slewing by an NTP client, not as a jump.
const MAX_SLEW_MS: i64 = 1000;

impl Now {
    /// Returns the Unix ms of an earlier moment by the current clock. The clock may have jumped in
    /// between, because routers without a battery set it after boot.
    #[must_use]
    pub fn unix_ms_at(self, earlier: Now) -> u64 {
        let passed = self.mono.saturating_sub(earlier.mono).as_millis();
        let expected = earlier.unix_ms.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
        let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let jump = signed(self.unix_ms).saturating_sub(signed(expected));
        if jump.abs() <= MAX_SLEW_MS {
            earlier.unix_ms
        } else {
            earlier.unix_ms.saturating_add_signed(jump)
        }
    }

    pub(crate) fn millis(self) -> Millis {
        Millis::try_from(self.mono.as_millis()).unwrap_or(Millis::MAX)
    }

    /// Returns the monotonic time of a Unix time by the current clock.
    pub(crate) fn millis_of(self, unix_ms: u64) -> Millis {
        let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        self.millis().saturating_add(signed(unix_ms).saturating_sub(signed(self.unix_ms)))
    }

    pub(crate) fn unix_ms_of(self, at: Millis) -> u64 {
        self.unix_ms.saturating_add_signed(at.saturating_sub(self.millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, unix_s: u64) -> Now {
        Now { mono: Duration::from_secs(seconds), unix_ms: unix_s * 1000 }
    }

    #[test]
    fn earlier_times_shift_when_the_clock_is_set() {
        let year = 31_536_000;
        let then = at(10, 2 * year);
        assert_eq!(at(70, 2 * year + 60).unix_ms_at(then), then.unix_ms);
        assert_eq!(at(70, 2 * year + 61).unix_ms_at(then), then.unix_ms);
        assert_eq!(at(70, 3 * year + 60).unix_ms_at(then), 3 * year * 1000);
        assert_eq!(at(70, year + 60).unix_ms_at(then), year * 1000);
        assert_eq!(at(70, 0).unix_ms_at(then), 0);
        assert_eq!(at(70, 3).unix_ms_at(at(0, 10)), 0);
    }
}
