// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds frames byte by byte, with full checksum computations.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const ACK: u8 = 0x10;

/// Common TCP options: two NOPs and timestamps.
pub(crate) const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) proto: u16,
    pub(crate) tci: u16,
}

/// Link-layer headers of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) dst: [u8; 6],
    pub(crate) src: [u8; 6],
    /// VLAN tags, the outer one first.
    pub(crate) tags: Vec<Tag>,
    pub(crate) session: Option<u16>,
    /// Switch tag in front of the frame.
    pub(crate) before: Vec<u8>,
    /// Switch tag in front of the `EtherType`.
    pub(crate) instead: Vec<u8>,
}

impl Link {
    pub(crate) fn new(dst: [u8; 6], src: [u8; 6]) -> Self {
        let (tags, before, instead) = (Vec::new(), Vec::new(), Vec::new());
        Self { dst, src, tags, session: None, before, instead }
    }

    pub(crate) fn tag(mut self, proto: u16, tci: u16) -> Self {
        self.tags.push(Tag { proto, tci });
        self
    }

    pub(crate) fn pppoe(mut self, session: u16) -> Self {
        self.session = Some(session);
        self
    }

    /// Returns the headers of the other direction.
    pub(crate) fn opposite(&self) -> Self {
        Self { dst: self.src, src: self.dst, ..self.clone() }
    }

    /// Returns the headers of a frame with an IP packet of `length` bytes.
    pub(crate) fn bytes(&self, v6: bool, length: usize) -> Vec<u8> {
        let mut bytes = self.before.clone();
        bytes.extend(self.dst);
        bytes.extend(self.src);
        bytes.extend(&self.instead);
        for tag in &self.tags {
            bytes.extend(tag.proto.to_be_bytes());
            bytes.extend(tag.tci.to_be_bytes());
        }
        if let Some(session) = self.session {
            bytes.extend([0x88, 0x64, 0x11, 0]);
            bytes.extend(session.to_be_bytes());
            bytes.extend(u16::try_from(length + 2).expect("a short packet").to_be_bytes());
            bytes.extend(if v6 { [0, 0x57] } else { [0, 0x21] });
        } else {
            bytes.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
        }
        bytes
    }
}

/// Addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuple {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) sport: u16,
    pub(crate) dport: u16,
}

impl Tuple {
    pub(crate) fn v4(src: [u8; 4], sport: u16, dst: [u8; 4], dport: u16) -> Self {
        Self { src: Ipv4Addr::from(src).into(), dst: Ipv4Addr::from(dst).into(), sport, dport }
    }

    pub(crate) fn v6(src: u16, sport: u16, dst: u16, dport: u16) -> Self {
        let address = |n| Ipv6Addr::new(0x2001, 0xdb8, n, 0, 0x1234, 0x5678, 0x9abc, 0xde00 | n);
        Self { src: address(src).into(), dst: address(dst).into(), sport, dport }
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.src.is_ipv6()
    }

    pub(crate) fn reply(&self) -> Self {
        Self { src: self.dst, dst: self.src, sport: self.dport, dport: self.sport }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) tuple: Tuple,
    pub(crate) tcp: bool,
    pub(crate) flags: u8,
    /// TCP sequence number.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) ttl: u8,
    pub(crate) payload: Vec<u8>,
    /// UDP over IPv4 without a checksum.
    pub(crate) unchecked: bool,
    /// TCP options; the length is a multiple of four.
    pub(crate) options: Vec<u8>,
}

impl Packet {
    pub(crate) fn new(tuple: Tuple, tcp: bool, payload: Vec<u8>) -> Self {
        let options = Vec::new();
        let (seq, ack) = (0x1234_5678, 0x9abc_def0);
        Self { tuple, tcp, flags: ACK, seq, ack, ttl: 64, payload, unchecked: false, options }
    }

    pub(crate) fn proto(&self) -> u8 {
        if self.tcp { 6 } else { 17 }
    }

    /// Returns the TCP or UDP segment with checksum 0, and the offset of the checksum.
    fn transport(&self) -> (Vec<u8>, usize) {
        let mut bytes = self.tuple.sport.to_be_bytes().to_vec();
        bytes.extend(self.tuple.dport.to_be_bytes());
        let at = if self.tcp {
            bytes.extend([self.seq.to_be_bytes(), self.ack.to_be_bytes()].concat());
            let words = u8::try_from(5 + self.options.len() / 4).expect("few options");
            bytes.extend([words << 4, self.flags, 0x20, 0, 0, 0, 0, 0]);
            bytes.extend(&self.options);
            16
        } else {
            bytes.extend(u16::try_from(8 + self.payload.len()).expect("short").to_be_bytes());
            bytes.extend([0, 0]);
            6
        };
        bytes.extend(&self.payload);
        (bytes, at)
    }

    fn pseudo(&self, length: usize) -> Vec<u8> {
        let mut bytes = octets(self.tuple.src);
        bytes.extend(octets(self.tuple.dst));
        bytes.extend(u32::try_from(length).expect("short").to_be_bytes());
        bytes.extend([0, 0, 0, self.proto()]);
        bytes
    }

    /// Returns the sum of the pseudo header, which a packet with `CHECKSUM_PARTIAL` contains.
    pub(crate) fn partial(&self) -> [u8; 2] {
        let (l4, _) = self.transport();
        (!checksum(&[&self.pseudo(l4.len())])).to_be_bytes()
    }

    /// Returns the offset of the transport checksum in [`Packet::bytes`].
    pub(crate) fn check_at(&self) -> usize {
        let ip = if self.tuple.is_v6() { 40 } else { 20 };
        ip + if self.tcp { 16 } else { 6 }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (mut l4, at) = self.transport();
        let check = checksum(&[&self.pseudo(l4.len()), &l4]);
        let check = if !self.tcp && check == 0 { 0xffff } else { check };
        if !self.unchecked {
            l4[at..at + 2].copy_from_slice(&check.to_be_bytes());
        }
        let mut bytes = Vec::new();
        let length = |n: usize| u16::try_from(n).expect("short").to_be_bytes();
        if self.tuple.is_v6() {
            bytes.extend([0x60, 0x0a, 0xbc, 0xde]);
            bytes.extend(length(l4.len()));
            bytes.extend([self.proto(), self.ttl]);
        } else {
            bytes.extend([0x45, 0x28]);
            bytes.extend(length(20 + l4.len()));
            bytes.extend([0xab, 0xcd, 0x40, 0, self.ttl, self.proto(), 0, 0]);
        }
        bytes.extend(octets(self.tuple.src));
        bytes.extend(octets(self.tuple.dst));
        if !self.tuple.is_v6() {
            let check = checksum(&[&bytes]);
            bytes[10..12].copy_from_slice(&check.to_be_bytes());
        }
        bytes.extend(l4);
        bytes
    }

    pub(crate) fn frame(&self, link: &Link) -> Vec<u8> {
        let ip = self.bytes();
        let mut bytes = link.bytes(self.tuple.is_v6(), ip.len());
        bytes.extend(ip);
        bytes
    }
}

pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// Computes the checksum of RFC 1071. All parts but the last must have an even length.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}
