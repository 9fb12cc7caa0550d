// SPDX-License-Identifier: GPL-2.0-or-later
//! A dump recorded from Linux 6.18, with as many kinds of entries as loopback allows. Made with
//! `cargo run -p gateway --features lab --example scale -- fixture tests/data/kinds.nl`.

use std::sync::LazyLock;

/// The dump in native byte order; the recording is little-endian.
pub(crate) static KINDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = include_bytes!("../../data/kinds.nl").to_vec();
    if cfg!(target_endian = "big") {
        turn_messages(&mut bytes);
    }
    bytes
});

/// Swaps the fields with native byte order: `struct nlmsghdr` and the attribute headers. Values of
/// conntrack are always big-endian.
fn turn_messages(mut bytes: &mut [u8]) {
    while let Some(head) = bytes.first_chunk::<4>() {
        let length = u32::from_le_bytes(*head) as usize;
        turn(bytes, &[4, 2, 2, 4, 4]);
        turn_attributes(&mut bytes[20..length]);
        bytes = bytes.get_mut(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn turn_attributes(mut bytes: &mut [u8]) {
    const NESTED: u16 = 1 << 15;
    while let Some(&[l0, l1, k0, k1]) = bytes.first_chunk() {
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        turn(bytes, &[2, 2]);
        if u16::from_le_bytes([k0, k1]) & NESTED != 0 {
            turn_attributes(&mut bytes[4..length]);
        }
        bytes = bytes.get_mut(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// Reverses the bytes of leading fields with these sizes.
fn turn(mut bytes: &mut [u8], sizes: &[usize]) {
    for size in sizes {
        let (field, rest) = bytes.split_at_mut(*size);
        field.reverse();
        bytes = rest;
    }
}
