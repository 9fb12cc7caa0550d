// SPDX-License-Identifier: GPL-2.0-or-later
//! Computes the map keys and entries of a connection. `layout.rs` defines their binary form.

use std::net::IpAddr;

use ctnetlink::Tuple;

use crate::entry_side::{Encapsulation, EntrySide};
use crate::header::{Header, header};

pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;

// Minimum MTU of each family (RFC 791, RFC 8200).
const MIN_MTU4: u32 = 68;
const MIN_MTU6: u32 = 1280;

/// Key of one direction: `struct key4` and `key6` of `layout.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub src: IpAddr,
    /// Same family as `src`.
    pub dst: IpAddr,
    pub sport: u16,
    pub dport: u16,
    pub proto: u8,
    /// Index of the lowest ingress device.
    pub device: u32,
    pub encapsulation: Encapsulation,
}

/// Entry of one direction: `struct entry4` and `entry6` of `layout.h`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Index of the lowest egress device.
    pub device: u32,
    pub mtu: u16,
    pub header: Header,
    /// True if addresses or ports change.
    pub nat: bool,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub sport: u16,
    pub dport: u16,
    /// Delta of the IPv4 header checksum; 0 for IPv6. Deltas are ones' complement sums of 16-bit
    /// words in memory order.
    pub l3_delta: u16,
    pub address_delta: u16,
    pub port_delta: u16,
    /// Delta of the transport checksum: the sum of `address_delta` and `port_delta`.
    pub l4_delta: u16,
    /// Ingress device and encapsulation of the other direction.
    pub back: (u32, Encapsulation),
    /// The gateway's MAC at ingress. Frames to other addresses are not forwarded.
    pub own: [u8; 6],
    /// IPv4: do not forward packets with service bits, which need other 802.1p priorities.
    pub best_effort: bool,
    /// Rule on whose behalf packets are dropped; `None` if they are forwarded.
    pub drop: Option<u32>,
}

impl Entry {
    #[must_use]
    pub fn back_key(&self, proto: u8) -> Key {
        Key {
            src: self.dst,
            dst: self.src,
            sport: self.dport,
            dport: self.sport,
            proto,
            device: self.back.0,
            encapsulation: self.back.1,
        }
    }
}

/// Reasons why a connection cannot be offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum InstallRefusal {
    #[error("neither TCP nor UDP")]
    Protocol,
    #[error("the addresses have different families")]
    Family,
    #[error("the link-layer address of the next hop is unknown")]
    NoNeighbour,
    #[error("the path MTU is below the protocol's minimum")]
    Mtu,
    /// IPv6: the kernel takes the priority from the ingress frame, which an entry cannot do.
    #[error("the 802.1p priority depends on the ingress frame")]
    Priority,
    #[error("another connection has the same tuple")]
    DuplicateTuple,
    /// The table is full, and no connection is idle enough for eviction.
    #[error("the maps are full")]
    Full,
}

/// Returns the entries for packets from and to the initiator.
pub fn connect(
    orig: &Tuple,
    reply: &Tuple,
    initiator: &EntrySide,
    responder: &EntrySide,
) -> Result<[(Key, Entry); 2], InstallRefusal> {
    Ok([
        direction(orig, reply, initiator, responder)?,
        direction(reply, orig, responder, initiator)?,
    ])
}

/// Returns the entry for packets from `from` to `to`. `before` is the tuple at ingress, `after` the
/// tuple of the other direction.
fn direction(
    before: &Tuple,
    after: &Tuple,
    from: &EntrySide,
    to: &EntrySide,
) -> Result<(Key, Entry), InstallRefusal> {
    if !matches!(before.proto, TCP | UDP) || before.proto != after.proto {
        return Err(InstallRefusal::Protocol);
    }
    let family = before.src.is_ipv4();
    if [before.dst, after.src, after.dst].iter().any(|address| address.is_ipv4() != family) {
        return Err(InstallRefusal::Family);
    }
    let next_hop = to.next_hop.ok_or(InstallRefusal::NoNeighbour)?;
    if to.mtu < if family { MIN_MTU4 } else { MIN_MTU6 } {
        return Err(InstallRefusal::Mtu);
    }
    // ip6_forward() keeps the priority of the ingress frame, ip_forward() sets a new one.
    if !family && from.classified && to.priorities != [[0; 4]; 2] {
        return Err(InstallRefusal::Priority);
    }
    let key = key(before, from);
    let (src, dst, sport, dport) = (after.dst, after.src, after.dport, after.sport);
    let address_delta = folded(ip_delta(before.src, src) + ip_delta(before.dst, dst));
    let port_delta = folded(
        word_delta(before.sport.to_be_bytes(), sport.to_be_bytes())
            + word_delta(before.dport.to_be_bytes(), dport.to_be_bytes()),
    );
    let entry = Entry {
        device: to.device,
        mtu: u16::try_from(to.mtu).unwrap_or(u16::MAX),
        header: header(from.hook, to, next_hop, family),
        nat: (src, dst, sport, dport) != (key.src, key.dst, key.sport, key.dport),
        src,
        dst,
        sport,
        dport,
        l3_delta: if family { folded(u32::from(address_delta) + ttl_delta()) } else { 0 },
        address_delta,
        port_delta,
        l4_delta: folded(u32::from(address_delta) + u32::from(port_delta)),
        back: (to.device, to.encapsulation),
        own: from.local,
        best_effort: family && to.priorities.iter().any(|tag| tag.iter().any(|one| *one != tag[0])),
        drop: None,
    };
    Ok((key, entry))
}

/// Returns entries that drop all packets of a connection on behalf of `rule`. Next hop and MTU may
/// be unknown.
///
/// # Errors
/// Fails as [`connect`] does, except for an unknown next hop or MTU.
pub fn reject(
    orig: &Tuple,
    reply: &Tuple,
    initiator: &EntrySide,
    responder: &EntrySide,
    rule: u32,
) -> Result<[(Key, Entry); 2], InstallRefusal> {
    let there = |side: &EntrySide| EntrySide {
        next_hop: Some([0; 6]),
        mtu: u16::MAX.into(),
        ..side.clone()
    };
    let mut entries = connect(orig, reply, &there(initiator), &there(responder))?;
    for (_, entry) in &mut entries {
        entry.drop = Some(rule);
    }
    Ok(entries)
}

fn key(tuple: &Tuple, from: &EntrySide) -> Key {
    Key {
        src: tuple.src,
        dst: tuple.dst,
        sport: tuple.sport,
        dport: tuple.dport,
        proto: tuple.proto,
        device: from.device,
        encapsulation: from.encapsulation,
    }
}

/// Returns the checksum delta of a 16-bit word (RFC 1624, equation 3).
fn word_delta(old: [u8; 2], new: [u8; 2]) -> u32 {
    u32::from(!u16::from_ne_bytes(old)) + u32::from(u16::from_ne_bytes(new))
}

fn ip_delta(old: IpAddr, new: IpAddr) -> u32 {
    match (old, new) {
        (IpAddr::V4(old), IpAddr::V4(new)) => bytes_delta(&old.octets(), &new.octets()),
        (IpAddr::V6(old), IpAddr::V6(new)) => bytes_delta(&old.octets(), &new.octets()),
        _ => 0,
    }
}

fn bytes_delta(old: &[u8], new: &[u8]) -> u32 {
    let pairs = old.as_chunks::<2>().0.iter().zip(new.as_chunks::<2>().0);
    pairs.map(|(old, new)| word_delta(*old, *new)).sum()
}

/// Returns the checksum delta of a decremented TTL, the first byte of its 16-bit word.
fn ttl_delta() -> u32 {
    word_delta([1, 0], [0, 0])
}

/// Folds a sum into 16 bits. Returns 0 for no change, which 0xffff also means.
fn folded(sum: u32) -> u16 {
    (sum % 0xffff) as u16
}

#[cfg(test)]
mod tests;
