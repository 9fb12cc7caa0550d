// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs libFuzzer on the target in `FUZZ_TARGET`, set at compile time. A program per target keeps
//! the number of coverage counters low, which libFuzzer reads after each input.
#![no_main]

use fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

const TARGET: Target = target(env!("FUZZ_TARGET"));

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
