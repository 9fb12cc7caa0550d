// SPDX-License-Identifier: GPL-2.0-or-later
//! All programs of the gateway in one binary, which saves copies of the standard library and serde.
//! The link name selects the program; each object of rpcd has its own link.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Daemon,
    Ctl,
    Rpcd,
    Rules,
    Bpf,
}

const NAMES: [(&str, Program); 5] = [
    ("fastpathd", Program::Daemon),
    ("fastpathctl", Program::Ctl),
    ("fastpath-rpcd", Program::Rpcd),
    ("fastpath-rules", Program::Rules),
    ("fastpath-bpf", Program::Bpf),
];

fn program(started: &OsStr) -> Option<Program> {
    let link = Path::new(started).file_name()?;
    let named = NAMES.into_iter().find(|(name, _)| link == *name).map(|(_, program)| program);
    named.or_else(|| fastpath_rpcd::links().any(|name| link == name).then_some(Program::Rpcd))
}

/// Aborts on a panic in test builds, as in releases; tokio would catch it and continue.
#[cfg(panic = "unwind")]
fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// Finds no frame: a release has no unwind tables. Replacing libgcc's function lets LTO remove the
/// standard library's decoder of debug information. A static libgcc would conflict.
#[cfg(all(panic = "abort", not(target_feature = "crt-static")))]
#[expect(unsafe_code, reason = "exports a symbol")]
// SAFETY: of libgcc's type, and only Rust's standard library calls it.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_step: *const (), _data: *mut ()) -> i32 {
    5 // _URC_END_OF_STACK
}

#[expect(unsafe_code, reason = "sets the environment before any thread starts")]
fn main() -> ExitCode {
    // SAFETY: no other thread exists yet.
    unsafe { launch::ensure_path() };
    #[cfg(panic = "unwind")]
    abort_on_panic();
    let args: Vec<OsString> = std::env::args_os().collect();
    match args.first().and_then(|started| program(started)) {
        Some(Program::Daemon) => fastpathd::run(args),
        Some(Program::Ctl) => fastpathctl::run(args),
        Some(Program::Rpcd) => fastpath_rpcd::run(args),
        Some(Program::Rules) => rules::run(args),
        Some(Program::Bpf) => ebpf::run(args),
        None => {
            let names = NAMES.map(|(name, _)| name).join(", ");
            let _ = writeln!(std::io::stderr(), "fastpath: start it by a link named {names}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_name_selects_the_program() {
        for (started, expected) in [
            ("/usr/sbin/fastpathd", Some(Program::Daemon)),
            ("fastpathctl", Some(Program::Ctl)),
            ("/usr/libexec/fastpath-rpcd", Some(Program::Rpcd)),
            ("/usr/libexec/rpcd/fastpath.change", Some(Program::Rpcd)),
            ("../fastpath-rules", Some(Program::Rules)),
            ("/usr/libexec/fastpath-bpf", Some(Program::Bpf)),
            ("/usr/sbin/fastpath", None),
            ("/usr/libexec/rpcd/fastpath.unknown", None),
            ("", None),
        ] {
            assert_eq!(program(started.as_ref()), expected, "{started}");
        }
    }
}
