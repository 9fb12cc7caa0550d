// SPDX-License-Identifier: GPL-2.0-or-later
//! libFuzzer on the target that `FUZZ_TARGET` names: one program for all targets, so that it is
//! linked once.
#![no_main]

use std::sync::OnceLock;

use fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("FUZZ_TARGET: there is no target '{name}'")).1
}

fuzz_target!(|bytes: &[u8]| TARGET.get_or_init(chosen)(bytes));
