// SPDX-License-Identifier: GPL-2.0-or-later
//! Standalone program `fastpath-rules` for this crate's tests. Routers have it in the program of
//! crate `fastpath`.

use std::process::ExitCode;

#[expect(unsafe_code, reason = "sets the environment before any thread starts")]
fn main() -> ExitCode {
    // SAFETY: this is the first statement of `main`, so no thread has started yet.
    unsafe { launch::ensure_path() };
    rules::run(std::env::args_os())
}
