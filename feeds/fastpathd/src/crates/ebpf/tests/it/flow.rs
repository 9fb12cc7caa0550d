// SPDX-License-Identifier: GPL-2.0-or-later
//! Computes keys and entries independently of the daemon's code.

use ebpf::layout::{
    Encap, Entry, Entry4, Entry6, FLOW_NAT, FLOW_PLAIN, FLOW_PPPOE, HEADER_MAX, Key4, Key6,
    TAG_8021AD, TAG_PRESENT,
};

use crate::frame::{Link, Tag, Tuple, octets};
use crate::kernel::{Hook, bytes_mut};

/// One direction of a connection through the gateway.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) from: Link,
    pub(crate) to: Link,
    pub(crate) old: Tuple,
    pub(crate) new: Tuple,
    pub(crate) tcp: bool,
    pub(crate) mtu: u16,
    /// Ingress and egress device.
    pub(crate) devices: (u32, u32),
    /// Switch ports of ingress and egress.
    pub(crate) ports: (u8, u8),
}

/// Key and entry of either version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pair {
    V4(Key4, Entry4),
    V6(Key6, Entry6),
}

impl Pair {
    pub(crate) fn entry(&mut self) -> &mut Entry {
        match self {
            Self::V4(_, to) => &mut to.e,
            Self::V6(_, to) => &mut to.e,
        }
    }

    /// Returns the key that the programs compare.
    pub(crate) fn key_bytes(&mut self) -> &mut [u8] {
        match self {
            Self::V4(_, to) => bytes_mut(&mut to.key),
            Self::V6(_, to) => bytes_mut(&mut to.key),
        }
    }
}

pub(crate) fn encap(link: &Link) -> Encap {
    let tag = |n: usize| {
        link.tags.get(n).map_or(0, |t: &Tag| {
            (t.tci & 0xfff) | TAG_PRESENT | if t.proto == 0x88a8 { TAG_8021AD } else { 0 }
        })
    };
    let session = link.session.unwrap_or(0).to_be_bytes();
    Encap { outer: tag(0), inner: tag(1), session }
}

/// Returns the ones' complement sum of ~old and new 16-bit words in memory order.
fn delta(old: &[u8], new: &[u8]) -> u16 {
    let mut sum = 0_u64;
    for (old, new) in old.chunks(2).zip(new.chunks(2)) {
        sum += u64::from(!u16::from_ne_bytes([old[0], old[1]]));
        sum += u64::from(u16::from_ne_bytes([new[0], new[1]]));
    }
    u16::try_from(sum % 0xffff).expect("a remainder")
}

impl Flow {
    fn address_delta(&self) -> u16 {
        let all = |t: &Tuple| [octets(t.src), octets(t.dst)].concat();
        delta(&all(&self.old), &all(&self.new))
    }

    fn port_delta(&self) -> u16 {
        let all = |t: &Tuple| [t.sport.to_be_bytes(), t.dport.to_be_bytes()].concat();
        delta(&all(&self.old), &all(&self.new))
    }

    fn entry(&self, hook: Hook) -> Entry {
        let mut e = Entry { ifindex: self.devices.1, mtu: self.mtu, ..Entry::default() };
        if self.old != self.new {
            e.flags |= FLOW_NAT;
        }
        if self.to.session.is_some() {
            e.flags |= FLOW_PPPOE;
        }
        e.sport = self.new.sport.to_be_bytes();
        e.dport = self.new.dport.to_be_bytes();
        let mut within = self.to.clone();
        if hook == Hook::Tc && within.instead.is_empty() && within.before.is_empty() {
            let mut tags = std::mem::take(&mut within.tags).into_iter();
            if let Some(tag) = tags.next() {
                (e.outer_tci, e.outer_proto) = (tag.tci, tag.proto.to_be_bytes());
            }
            if let Some(tag) = tags.next() {
                (e.inner_tci, e.inner_proto) = (tag.tci, tag.proto.to_be_bytes());
            }
        }
        let mut header = within.bytes(self.old.is_v6(), 0);
        if self.to.session.is_some() {
            // Each packet's length is filled in.
            let end = header.len();
            header[end - 4..end - 2].fill(0);
        }
        let header_len = header.len();
        e.header_len = u8::try_from(header_len).expect("a short header");
        header.resize(HEADER_MAX, 0);
        e.header.copy_from_slice(&header);
        e.address_delta = self.address_delta();
        e.port_delta = self.port_delta();
        let both = u32::from(e.address_delta) + u32::from(e.port_delta);
        e.l4_delta = u16::try_from(both % 0xffff).expect("a remainder");
        if header_len == 14 && e.outer_proto == [0; 2] {
            e.flags |= FLOW_PLAIN;
        }
        // The TTL is the first byte of its word, and is decremented.
        let ttl = delta(&[64, 0], &[63, 0]);
        if !self.old.is_v6() {
            let sum = u32::from(e.address_delta) + u32::from(ttl);
            e.l3_delta = u16::try_from(sum % 0xffff).expect("a remainder");
        }
        e.back = encap(&self.to);
        e.back_ifindex = self.devices.1;
        e.back_port = self.ports.1;
        let own = self.from.dst;
        e.own_begin = [own[0], own[1]];
        e.own_end = [own[2], own[3], own[4], own[5]];
        e
    }

    pub(crate) fn pair(&self, hook: Hook) -> Pair {
        let e = self.entry(hook);
        let proto = if self.tcp { 6 } else { 17 };
        let (sport, dport) = (self.old.sport.to_be_bytes(), self.old.dport.to_be_bytes());
        let (ifindex, encap, port) = (self.devices.0, encap(&self.from), self.ports.0);
        let bytes = |a| octets(a);
        if self.old.is_v6() {
            let long = |a| <[u8; 16]>::try_from(bytes(a)).expect("IPv6");
            let (src, dst) = (long(self.old.src), long(self.old.dst));
            let key = Key6 { src, dst, sport, dport, ifindex, encap, proto, port };
            Pair::V6(key, Entry6 { e, src: long(self.new.src), dst: long(self.new.dst), key })
        } else {
            let four = |a| <[u8; 4]>::try_from(bytes(a)).expect("IPv4");
            let (src, dst) = (four(self.old.src), four(self.old.dst));
            let key = Key4 { src, dst, sport, dport, ifindex, encap, proto, port };
            Pair::V4(key, Entry4 { e, src: four(self.new.src), dst: four(self.new.dst), key })
        }
    }

    /// Returns the other direction, as its packets arrive.
    pub(crate) fn back(&self) -> Self {
        Self {
            from: self.to.opposite(),
            to: self.from.opposite(),
            old: self.new.reply(),
            new: self.old.reply(),
            devices: (self.devices.1, self.devices.0),
            ports: (self.ports.1, self.ports.0),
            ..self.clone()
        }
    }
}
