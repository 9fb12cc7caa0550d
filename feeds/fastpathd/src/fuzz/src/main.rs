// SPDX-License-Identifier: GPL-2.0-or-later
//! libFuzzer on the target that `FUZZ_TARGET` names when this is compiled: a program has the
//! counters of its own target alone, which libFuzzer reads after each input.
#![no_main]

use fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

const TARGET: Target = target(env!("FUZZ_TARGET"));

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
