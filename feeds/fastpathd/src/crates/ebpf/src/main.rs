// SPDX-License-Identifier: GPL-2.0-or-later
//! fastpath-bpf alone, for this crate's tests. Routers have it in the program of crate
//! `fastpath`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ebpf::run(std::env::args_os())
}
