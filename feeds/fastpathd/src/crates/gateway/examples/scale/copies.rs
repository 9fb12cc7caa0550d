// SPDX-License-Identifier: GPL-2.0-or-later
//! Multiplies recorded conntrack messages: each copy has other client addresses and ids.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Failure;

/// Bytes per batch, like a datagram of a netlink dump.
pub(crate) const BATCH: usize = 32 * 1024;
/// Mark of a connection that has passed the rules in both directions.
const PASSED: u32 = 0x3000_0000;
/// `struct nfgenmsg`, which follows the netlink header.
const NFGEN_HEADER: usize = 4;

// Attributes of `enum ctattr_type`, and their nested ones.
const TUPLE_ORIG: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const MARK: u16 = 8;
const COUNTERS_ORIG: u16 = 9;
const COUNTERS_REPLY: u16 = 10;
const ID: u16 = 12;
const TUPLE_IP: u16 = 1;

/// Reads a dump in batches of complete messages, with at most two batches in memory.
pub(crate) fn batches(
    file: &Path,
    mut each: impl FnMut(&mut [u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut file = File::open(file)?;
    let mut buffer = Vec::new();
    loop {
        let wanted = 2 * BATCH - buffer.len();
        Read::by_ref(&mut file).take(wanted as u64).read_to_end(&mut buffer)?;
        if buffer.is_empty() {
            return Ok(());
        }
        let len = batch_len(&buffer);
        each(&mut buffer[..len])?;
        buffer.drain(..len);
    }
}

/// Returns the length of the complete messages that fit into a batch, at least one message.
pub(crate) fn batch_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    for message in netlink::messages(bytes) {
        let next = len + (netlink::HEADER + message.payload.len()).next_multiple_of(4);
        if len > 0 && next > BATCH {
            break;
        }
        len = next;
    }
    if len == 0 { bytes.len() } else { len.min(bytes.len()) }
}

/// Turns messages into those of copy number `copy`, whose counters have grown `rounds` times.
pub(crate) fn vary(messages: &mut [u8], copy: u8, rounds: u8) {
    let mut rest = messages;
    while let Some(head) = rest.first_chunk::<4>() {
        let length = (u32::from_ne_bytes(*head) as usize).max(netlink::HEADER);
        let (message, next) = rest.split_at_mut(length.next_multiple_of(4).min(rest.len()));
        if let Some(attributes) = message.get_mut(netlink::HEADER + NFGEN_HEADER..) {
            each(attributes, &mut |kind, value| match kind {
                TUPLE_ORIG | TUPLE_REPLY => each(value, &mut |kind, value| {
                    if kind == TUPLE_IP {
                        each(value, &mut |_, address| move_address(address, copy));
                    }
                }),
                COUNTERS_ORIG | COUNTERS_REPLY => {
                    each(value, &mut |_, counter| add(counter, u32::from(rounds) * 1000));
                }
                ID => add(value, u32::from(copy).wrapping_mul(0x9e37_79b9)),
                MARK => value.copy_from_slice(&PASSED.to_be_bytes()),
                _ => {}
            });
        }
        rest = next;
    }
}

/// Passes each attribute to `visit`.
fn each(mut attributes: &mut [u8], visit: &mut dyn FnMut(u16, &mut [u8])) {
    while let Some([a, b, c, d]) = attributes.first_chunk::<4>().copied() {
        let length = usize::from(u16::from_ne_bytes([a, b])).clamp(4, attributes.len());
        let kind = u16::from_ne_bytes([c, d]) & 0x3fff;
        let (attribute, rest) =
            attributes.split_at_mut(length.next_multiple_of(4).min(attributes.len()));
        visit(kind, &mut attribute[4..length]);
        attributes = rest;
    }
}

/// Moves the clients, and the address that they are translated to.
fn move_address(address: &mut [u8], copy: u8) {
    match address {
        [10, 10, ..] | [100, 64, 0, 1] => address[1] += copy,
        [0xfd, 0, 0, 0x10, ..] => address[2] = copy,
        _ => {}
    }
}

/// Adds to a big-endian number.
fn add(number: &mut [u8], what: u32) {
    let Some(low) = number.last_chunk_mut::<4>() else { return };
    *low = u32::from_be_bytes(*low).wrapping_add(what).to_be_bytes();
}
