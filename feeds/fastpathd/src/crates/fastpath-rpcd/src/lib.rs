// SPDX-License-Identifier: GPL-2.0-or-later
//! fastpath-rpcd: rpcd runs it for each call of one of our objects that needs root; no process
//! stays. `/usr/libexec/rpcd` has a link to it for each object. The list of objects and of other
//! commands.

use std::ffi::OsString;
use std::process::ExitCode;

/// The objects, each named as its link.
const OBJECTS: &[&plugin::Object] = &[
    &access::OBJECT,
    &change::OBJECT,
    &doctor::OBJECT,
    &fastpath_config::OBJECT,
    &wireless::OBJECT,
];
/// Other commands, for init scripts and itself.
const SUBCOMMANDS: &[plugin::Subcommand] = &[
    ("boot", change::boot),
    ("leave", change::leave),
    ("login", access::login_grant),
    ("secrets", access::close_secrets),
    ("settle", change::settle),
];

/// The names of the links: of each object, that is.
pub fn links() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|object| object.name)
}

/// The whole program. The first of `args` is the name it was started by.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    plugin::main("fastpath-rpcd", args, OBJECTS, SUBCOMMANDS)
}
