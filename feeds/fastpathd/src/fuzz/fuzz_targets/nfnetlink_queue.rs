// SPDX-License-Identifier: GPL-2.0-or-later
//! Any text as /proc/net/netfilter/nfnetlink_queue.
#![no_main]

use ips::{parse_queues, queues_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let queues = parse_queues(text);
    assert!(queues.len() <= text.lines().count());
    assert_eq!(queues_of(&queues, 0..=3).len(), 4);
});
