// SPDX-License-Identifier: GPL-2.0-or-later
//! Stand-alone `fastpath-bpf` for tests of this crate. Routers run `fastpath`, which includes it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ebpf::run(std::env::args_os())
}
