// SPDX-License-Identifier: GPL-2.0-or-later
//! Keys and entries of both directions of a connection (new addresses and ports, checksum deltas,
//! header, MTU), and reasons why a connection cannot be offloaded. `layout.rs` and `wire.rs` have
//! their binary form.

use std::net::IpAddr;

use ctnetlink::Tuple;

use crate::entry_side::{Encapsulation, EntrySide};
use crate::header::{Header, header};

// IP protocol numbers.
pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;

// Minimum MTU of each family (RFC 791, RFC 8200).
const MIN_MTU4: u32 = 68;
const MIN_MTU6: u32 = 1280;

/// Key for packets of one direction: `struct key4` and `key6` of `layout.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub src: IpAddr,
    /// Destination, of the same family as `src`.
    pub dst: IpAddr,
    pub sport: u16,
    pub dport: u16,
    /// TCP or UDP.
    pub proto: u8,
    /// Index of the lowest ingress device.
    pub device: u32,
    pub encapsulation: Encapsulation,
}

/// Action for packets of one direction: `struct entry4` and `entry6` of `layout.h`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Index of the lowest egress device.
    pub device: u32,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// New header before the IP header.
    pub header: Header,
    /// True if addresses or ports change.
    pub nat: bool,
    /// New source address.
    pub src: IpAddr,
    /// New destination address.
    pub dst: IpAddr,
    /// New source port.
    pub sport: u16,
    /// New destination port.
    pub dport: u16,
    /// Delta of the IPv4 header checksum, 0 for IPv6. All deltas are ones' complement sums of
    /// 16-bit words in memory order.
    pub l3_delta: u16,
    /// Delta for the pseudo header.
    pub address_delta: u16,
    /// Delta for the ports.
    pub port_delta: u16,
    /// Sum of `address_delta` and `port_delta`, for the transport checksum.
    pub l4_delta: u16,
    /// Ingress device and encapsulation of the other direction.
    pub back: (u32, Encapsulation),
    /// The gateway's MAC at ingress. Frames to another address are not forwarded.
    pub own: [u8; 6],
    /// IPv4: packets with service bits have other 802.1p priorities and are not forwarded.
    pub best_effort: bool,
    /// Rule for which packets are dropped; `None` if they are forwarded.
    pub drop: Option<u32>,
}

impl Entry {
    /// Returns the key of the other direction: the new addresses swapped, at the egress device.
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
    /// The connection is translated between IPv4 and IPv6.
    #[error("the addresses have different families")]
    Family,
    #[error("the link-layer address of the next hop is unknown")]
    NoNeighbour,
    /// The MTU is unknown or too small for any packet.
    #[error("the path MTU is below the protocol's minimum")]
    Mtu,
    /// IPv6: packets keep the priority of their ingress frame, so an entry cannot set it.
    #[error("the 802.1p priority depends on the ingress frame")]
    Priority,
    /// Another connection has the same addresses, ports and ingress device.
    #[error("another connection has the same tuple")]
    Twin,
    /// The table is full, and no connection has been idle long enough for eviction.
    #[error("the maps are full")]
    Full,
}

/// Returns the entries of a connection; the direction from the initiator comes first.
///
/// # Errors
/// Fails if the connection cannot be offloaded.
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

/// Returns the entry that turns `before` from `from` into the reverse of `after` towards `to`.
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
    // ip_forward() replaces the priority of the ingress frame; ip6_forward() keeps it.
    if !family && from.classified && to.priorities != [[0; 4]; 2] {
        return Err(InstallRefusal::Priority);
    }
    let key = key(before, from);
    let (src, dst, sport, dport) = (after.dst, after.src, after.dport, after.sport);
    let address_delta = folded(moved(before.src, src) + moved(before.dst, dst));
    let port_delta = folded(
        step(before.sport.to_be_bytes(), sport.to_be_bytes())
            + step(before.dport.to_be_bytes(), dport.to_be_bytes()),
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
        l3_delta: if family { folded(u32::from(address_delta) + one_hop()) } else { 0 },
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

/// Returns entries that drop a connection's packets for `rule`. No packet leaves, so next hop and
/// MTU may be unknown.
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

/// Returns the change of a ones' complement sum for a changed 16-bit word (RFC 1624, equation 3).
fn step(old: [u8; 2], new: [u8; 2]) -> u32 {
    u32::from(!u16::from_ne_bytes(old)) + u32::from(u16::from_ne_bytes(new))
}

fn moved(old: IpAddr, new: IpAddr) -> u32 {
    match (old, new) {
        (IpAddr::V4(old), IpAddr::V4(new)) => words(&old.octets(), &new.octets()),
        (IpAddr::V6(old), IpAddr::V6(new)) => words(&old.octets(), &new.octets()),
        _ => 0,
    }
}

fn words(old: &[u8], new: &[u8]) -> u32 {
    let pairs = old.as_chunks::<2>().0.iter().zip(new.as_chunks::<2>().0);
    pairs.map(|(old, new)| step(*old, *new)).sum()
}

/// Returns the change for a decremented TTL, which is the first byte of its 16-bit word.
fn one_hop() -> u32 {
    step([1, 0], [0, 0])
}

/// Folds a sum into 16 bits. Both 0 and 0xffff mean "no change"; the result is 0 then.
fn folded(sum: u32) -> u16 {
    (sum % 0xffff) as u16
}

#[cfg(test)]
mod tests;
