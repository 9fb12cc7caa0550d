// SPDX-License-Identifier: GPL-2.0-or-later
//! Standalone program for tests. Routers run it as part of crate `fastpath`.

use std::process::ExitCode;

#[expect(unsafe_code, reason = "sets the environment before any thread starts")]
fn main() -> ExitCode {
    // SAFETY: no other thread exists yet.
    unsafe { launch::ensure_path() };
    fastpath_rpcd::run(std::env::args_os())
}
