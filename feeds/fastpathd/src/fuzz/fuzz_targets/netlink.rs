// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as a datagram of the kernel: messages, their ends and their attributes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netlink::{HEADER, attributes, message, messages, push_attribute};

fuzz_target!(|bytes: &[u8]| {
    let mut length = 0;
    for found in messages(bytes) {
        length += HEADER + found.payload.len();
        let _ = (found.end(), found.is_interrupted());
        let again = message(found.kind, found.flags, found.seq, found.payload);
        assert_eq!(messages(&again).next(), Some(found));
    }
    assert!(length <= bytes.len());
    let mut written = Vec::new();
    for (kind, value) in attributes(bytes) {
        push_attribute(&mut written, kind, value);
    }
    assert!(attributes(&written).eq(attributes(bytes)));
});
