// SPDX-License-Identifier: GPL-2.0-or-later
//! The program behind our privileged objects. rpcd runs `/usr/libexec/rpcd/OBJECT`, a link to this
//! program, for each call; no process stays.

use std::ffi::OsString;
use std::process::ExitCode;

/// Each object has a link of its name.
const OBJECTS: &[&plugin::Object] = &[
    &access::OBJECT,
    &change::OBJECT,
    &doctor::OBJECT,
    &fastpath_config::OBJECT,
    &wireless::OBJECT,
];
/// Commands without an object, for init scripts and for the program itself.
const SUBCOMMANDS: &[plugin::Subcommand] = &[
    ("boot", change::boot),
    ("leave", change::leave),
    ("login", access::login_grant),
    ("secrets", access::close_secrets),
    ("settle", change::settle),
];

/// Returns the names of all links.
pub fn links() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|object| object.name)
}

/// Runs the program. The first of `args` is the name of the link.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    plugin::main("fastpath-rpcd", args, OBJECTS, SUBCOMMANDS)
}
