// SPDX-License-Identifier: GPL-2.0-or-later
//! Stand-alone `fastpath-bpf` for this crate's tests. Routers run it from the binary `fastpath`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ebpf::run(std::env::args_os())
}
