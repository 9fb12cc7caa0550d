// SPDX-License-Identifier: GPL-2.0-or-later
#![expect(unsafe_code, reason = "rustix has no adjtimex")]

/// Returns whether a time client has synchronised the clock (no `STA_UNSYNC`).
pub(crate) fn is_synchronised() -> bool {
    // SAFETY: all bytes 0 is a valid `timex`, and `modes` 0 only reads.
    unsafe {
        let mut state: libc::timex = std::mem::zeroed();
        libc::adjtimex(&raw mut state) >= 0 && state.status & libc::STA_UNSYNC == 0
    }
}
