// SPDX-License-Identifier: GPL-2.0-or-later
//! Shell patterns, matched with the C library like in rpcd.

use std::ffi::CString;

#[expect(unsafe_code, reason = "calls the C library")]
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (Ok(pattern), Ok(name)) = (CString::new(pattern), CString::new(name)) else {
        return false;
    };
    // SAFETY: both are NUL-terminated and outlive the call, which keeps no pointer.
    unsafe { libc::fnmatch(pattern.as_ptr(), name.as_ptr(), libc::FNM_NOESCAPE) == 0 }
}
