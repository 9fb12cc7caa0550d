// SPDX-License-Identifier: GPL-2.0-or-later
//! Ids nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Bytes of the kernel's random pool.
fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// An id of 128 bits as 32 hexadecimal digits.
pub(crate) fn hex_id() -> io::Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(bytes()?)))
}

/// A number for the bus. Without a random pool ids merely become guessable: they are not secret.
pub(crate) fn number() -> u32 {
    bytes().map_or_else(|_| std::process::id().wrapping_mul(0x9e37_79b1), u32::from_be_bytes)
}
