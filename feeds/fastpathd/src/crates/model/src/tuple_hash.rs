// SPDX-License-Identifier: GPL-2.0-or-later
//! Hash of a packet's tuple, equal to nft's `jhash … mod 0xffffffff` over protocol, source address,
//! source port, destination address and destination port (`net/netfilter/nft_hash.c`).

use std::net::IpAddr;

use ctnetlink::Tuple;

/// Seed of the hash in our rules.
pub const SEED: u32 = 0x6661_7374;
pub const MODULUS: u32 = u32::MAX;

/// Returns the hash of packets with this tuple.
#[must_use]
pub fn tuple_hash(tuple: &Tuple) -> u32 {
    scale(jhash(&registers(tuple), SEED))
}

/// `reciprocal_scale`.
fn scale(hash: u32) -> u32 {
    u32::try_from((u64::from(hash) * u64::from(MODULUS)) >> 32).unwrap_or(MODULUS)
}

/// Returns the fields as in nft's registers, each padded to four bytes.
fn registers(tuple: &Tuple) -> Vec<u8> {
    let mut bytes = vec![tuple.proto, 0, 0, 0];
    for (address, port) in [(tuple.src, tuple.sport), (tuple.dst, tuple.dport)] {
        match address {
            IpAddr::V4(v4) => bytes.extend(v4.octets()),
            IpAddr::V6(v6) => bytes.extend(v6.octets()),
        }
        bytes.extend(port.to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes
}

/// The kernel's `jhash` (`include/linux/jhash.h`) of a length that is a multiple of four.
fn jhash(bytes: &[u8], seed: u32) -> u32 {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let start = 0xdead_beef_u32.wrapping_add(length).wrapping_add(seed);
    let mut state = [start; 3];
    let last = bytes.len().saturating_sub(1) / 12 * 12;
    for block in bytes[..last].chunks_exact(12) {
        add(&mut state, block, u32::from_ne_bytes);
        mix(&mut state);
    }
    // The kernel reads the last block byte by byte.
    add(&mut state, &bytes[last..], u32::from_le_bytes);
    finish(&mut state);
    state[2]
}

fn add(state: &mut [u32; 3], block: &[u8], read: fn([u8; 4]) -> u32) {
    for (value, word) in state.iter_mut().zip(block.chunks_exact(4)) {
        *value = value.wrapping_add(read([word[0], word[1], word[2], word[3]]));
    }
}

/// `__jhash_mix`.
fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: u32, by: u32| {
        *x = x.wrapping_sub(*y) ^ y.rotate_left(by);
        *y = y.wrapping_add(z);
    };
    step(a, c, *b, 4);
    step(b, a, *c, 6);
    step(c, b, *a, 8);
    step(a, c, *b, 16);
    step(b, a, *c, 19);
    step(c, b, *a, 4);
}

/// `__jhash_final`.
fn finish([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: u32, by: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(by));
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(src: &str, dst: &str) -> Tuple {
        let [src, dst] = [src, dst].map(|text| text.parse().expect("an address"));
        Tuple { src, dst, sport: 1000, dport: 99, proto: 17 }
    }

    /// Elements that Linux stored for these packets, with seed 1.
    #[test]
    fn hash_equals_the_kernels() {
        if cfg!(target_endian = "big") {
            return;
        }
        let hash = |tuple: &Tuple| scale(jhash(&registers(tuple), 1));
        assert_eq!(hash(&tuple("127.0.0.1", "127.0.0.1")), 0x6571_c859);
        assert_eq!(hash(&tuple("::1", "::1")), 0x38ec_533c);
    }
}
