// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as a stream of frames: no panic, and decoded messages can be encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ubus::{Blobmsg, Decoder};

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = Decoder::default();
    decoder.extend(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        for table in [frame.data(), frame.signature()].into_iter().flatten() {
            // Bytes that are not UTF-8 grow when they are read, so writing may hit the limit.
            if let Ok(map) = table.decode()
                && let Ok(written) = Blobmsg::encode(&map)
            {
                assert_eq!(written.decode().as_ref(), Ok(&map));
            }
        }
    }
});
