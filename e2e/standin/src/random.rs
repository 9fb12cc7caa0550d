// SPDX-License-Identifier: GPL-2.0-or-later
//! Random ids.

use std::fs::File;
use std::io::{self, Read};

fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns 128 random bits as 32 hexadecimal digits.
pub(crate) fn hex_id() -> io::Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(bytes()?)))
}

/// Returns an id for the bus. The fallback is guessable, but bus ids are public.
pub(crate) fn number() -> u32 {
    bytes().map_or_else(|_| std::process::id().wrapping_mul(0x9e37_79b1), u32::from_be_bytes)
}
