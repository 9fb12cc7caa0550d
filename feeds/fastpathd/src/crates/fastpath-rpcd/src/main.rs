// SPDX-License-Identifier: GPL-2.0-or-later
//! fastpath-rpcd: what rpcd runs for each call of an object of ours that needs root, and no
//! process that stays. `/usr/libexec/rpcd` has a link to it for each object.

use std::process::ExitCode;

/// The objects, each named as its link.
const OBJECTS: &[&plugin::Object] = &[
    &access::OBJECT,
    &change::OBJECT,
    &doctor::OBJECT,
    &fastpath_config::OBJECT,
    &wireless::OBJECT,
];
/// What it does besides, for init scripts and itself.
const ERRANDS: &[plugin::Errand] =
    &[("boot", change::boot), ("login", access::gate), ("settle", change::settle)];

fn main() -> ExitCode {
    // SAFETY: this is the first thing done, and only later does anything start a thread.
    unsafe { launch::ensure_path() };
    plugin::main("fastpath-rpcd", OBJECTS, ERRANDS)
}
