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

impl Now {
    pub(crate) fn millis(self) -> Millis {
        Millis::try_from(self.mono.as_millis()).unwrap_or(Millis::MAX)
    }

    /// A monotonic moment in Unix ms. Only the present relation of the clocks is known: moments
    /// before a jump of the Unix clock are given as if it had not jumped.
    pub(crate) fn unix_ms_of(self, at: Millis) -> u64 {
        self.unix_ms.saturating_add_signed(at.saturating_sub(self.millis()))
    }
}
