// SPDX-License-Identifier: GPL-2.0-or-later
#![expect(unsafe_code, reason = "the ioctl has no safe form")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Returns the bytes that the peer's kernel has not acknowledged (`SIOCOUTQ`).
pub(crate) fn unacknowledged(stream: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int, and the descriptor is open.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    u64::try_from(bytes).map_err(io::Error::other)
}
