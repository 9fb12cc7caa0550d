// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as a datagram of the kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut entries = Vec::new();
    ctnetlink::entries(bytes, &mut entries);
    let _ = ctnetlink::entry(bytes);
    let _ = ctnetlink::events(bytes).count();
});
