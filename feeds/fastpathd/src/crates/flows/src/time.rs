// SPDX-License-Identifier: GPL-2.0-or-later
//! A moment on the monotonic clock and in Unix milliseconds, and how one becomes the other.

use std::time::Duration;

/// Milliseconds on the monotonic clock; negative: before its start.
pub(crate) type Millis = i64;

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since an arbitrary start.
    pub mono: Duration,
    /// Unix time, milliseconds.
    pub unix_ms: u64,
}

/// Unix time that differs less from the monotonic clock is not adjusted: an NTP client slews.
const SLEWED_MS: i64 = 1000;

impl Now {
    /// Unix milliseconds of an earlier moment, by the Unix clock of this one: it may have jumped
    /// since, as when a router without a battery gets its time.
    #[must_use]
    pub fn unix_ms_at(self, earlier: Now) -> u64 {
        let passed = self.mono.saturating_sub(earlier.mono).as_millis();
        let expected = earlier.unix_ms.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
        let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let jump = signed(self.unix_ms).saturating_sub(signed(expected));
        if jump.abs() <= SLEWED_MS {
            earlier.unix_ms
        } else {
            earlier.unix_ms.saturating_add_signed(jump)
        }
    }

    pub(crate) fn millis(self) -> Millis {
        Millis::try_from(self.mono.as_millis()).unwrap_or(Millis::MAX)
    }

    /// A monotonic moment in Unix ms. Only the present relation of the clocks is known: moments
    /// before a jump of the Unix clock are given as if it had not jumped.
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
    fn a_moment_moves_with_the_clock() {
        let year = 31_536_000;
        let then = at(10, 2 * year);
        assert_eq!(at(70, 2 * year + 60).unix_ms_at(then), then.unix_ms);
        // An NTP client corrects a little.
        assert_eq!(at(70, 2 * year + 61).unix_ms_at(then), then.unix_ms);
        assert_eq!(at(70, 3 * year + 60).unix_ms_at(then), 3 * year * 1000);
        assert_eq!(at(70, year + 60).unix_ms_at(then), year * 1000);
        // Before 1970.
        assert_eq!(at(70, 0).unix_ms_at(then), 0);
        assert_eq!(at(70, 3).unix_ms_at(at(0, 10)), 0);
    }
}
