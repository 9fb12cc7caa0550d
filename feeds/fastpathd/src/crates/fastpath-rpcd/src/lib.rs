// SPDX-License-Identifier: GPL-2.0-or-later
//! The program of our privileged objects. rpcd runs `/usr/libexec/rpcd/OBJECT`, a link to this
//! program, for each call.

use std::ffi::OsString;
use std::process::ExitCode;

static OBJECTS: &[&plugin::Object] = &[
    &access::OBJECT,
    &change::OBJECT,
    &change::DEVICE,
    &doctor::OBJECT,
    &fastpath_config::OBJECT,
    &wireless::OBJECT,
];
/// Commands for init scripts and for internal use.
const SUBCOMMANDS: &[plugin::Subcommand] = &[
    ("boot", change::boot),
    ("free", change::free),
    ("leave", change::leave),
    ("login", access::login_grant),
    ("secrets", access::close_secrets),
    ("settle", change::settle),
];

pub fn links() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|object| object.name)
}

/// Runs the program. The first of `args` is the name of the link.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    plugin::main("fastpath-rpcd", args, OBJECTS, SUBCOMMANDS)
}
