// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts addresses to numbers, and from the kernel's encoding.

use std::net::IpAddr;

/// Returns the address as a left-aligned 128-bit number.
pub(crate) fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

pub(crate) fn mask(bits: u128, prefix: u8) -> u128 {
    let host = 128 - u32::from(prefix.min(128));
    bits.checked_shr(host).and_then(|net| net.checked_shl(host)).unwrap_or(0)
}

pub(crate) fn ip(value: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(value)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from))
        .ok()
}
