// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes conversations into a capture file (raw IP, microseconds), with checksums of zero.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Home,
    Outside,
}

/// Two hosts of one address family, unique per case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) case: u8,
    pub(crate) v6: bool,
}

impl Pair {
    fn address(self, side: Side) -> Vec<u8> {
        let case = self.case;
        match (side, self.v6) {
            (Side::Home, false) => Ipv4Addr::new(10, 9, 0, case).octets().to_vec(),
            (Side::Outside, false) => Ipv4Addr::new(198, 51, 100, case).octets().to_vec(),
            (Side::Home, true) => v6(0xfd00, case),
            (Side::Outside, true) => v6(0x2001, case),
        }
    }
}

fn v6(prefix: u16, case: u8) -> Vec<u8> {
    Ipv6Addr::new(prefix, 0xdb8, 0, 0, 0, 0, 0, u16::from(case)).octets().to_vec()
}

pub(crate) struct Capture {
    bytes: Vec<u8>,
    microseconds: u32,
    port: u16,
}

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const SYN: u8 = 0x02;
const FIN: u8 = 0x01;

impl Capture {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 101] {
            bytes.extend(word.to_le_bytes());
        }
        Self { bytes, microseconds: 0, port: 20_000 }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn packet(&mut self, pair: Pair, from: Side, protocol: u8, payload: &[u8]) {
        let to = if from == Side::Home { Side::Outside } else { Side::Home };
        let length = u16::try_from(payload.len()).expect("a packet's length");
        let mut packet = Vec::new();
        if pair.v6 {
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(length.to_be_bytes());
            packet.extend([protocol, 64]);
        } else {
            packet.extend([0x45, 0]);
            packet.extend((length + 20).to_be_bytes());
            packet.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
        }
        packet.extend(pair.address(from));
        packet.extend(pair.address(to));
        packet.extend(payload);
        self.microseconds += 500;
        let (seconds, rest) = (self.microseconds / 1_000_000, self.microseconds % 1_000_000);
        let length = u32::try_from(packet.len()).expect("a packet's length");
        for word in [1_700_000_000 + seconds, rest, length, length] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend(packet);
    }

    fn next_port(&mut self) -> u16 {
        self.port += 1;
        self.port
    }

    pub(crate) fn udp(&mut self, pair: Pair, initiator: Side, port: u16, said: &[(Side, Vec<u8>)]) {
        let own = self.next_port();
        for (from, payload) in said {
            let (source, target) = if *from == initiator { (own, port) } else { (port, own) };
            let length = u16::try_from(payload.len() + 8).expect("a packet's length");
            let mut datagram = Vec::new();
            for word in [source, target, length, 0] {
                datagram.extend(word.to_be_bytes());
            }
            datagram.extend(payload);
            self.packet(pair, *from, 17, &datagram);
        }
    }

    /// Adds an echo request with `size` bytes of data.
    pub(crate) fn ping(&mut self, pair: Pair, from: Side, size: usize) {
        let mut message = vec![if pair.v6 { 128 } else { 8 }, 0, 0, 0, 0, 1, 0, 1];
        message.extend(vec![b'x'; size]);
        self.packet(pair, from, if pair.v6 { 58 } else { 1 }, &message);
    }

    /// Adds unanswered connection attempts.
    pub(crate) fn attempts(&mut self, pair: Pair, initiator: Side, port: u16, count: usize) {
        for _ in 0..count {
            let own = self.next_port();
            self.segment(pair, initiator, (own, port), (1, 0), SYN, &[]);
        }
    }

    /// Adds a TCP connection from SYN to FIN.
    pub(crate) fn tcp(&mut self, pair: Pair, initiator: Side, port: u16, said: &[(Side, Vec<u8>)]) {
        let own = self.next_port();
        let responder = if initiator == Side::Home { Side::Outside } else { Side::Home };
        let (mut initiator_seq, mut responder_seq) = (1001u32, 5001u32);
        self.segment(pair, initiator, (own, port), (1000, 0), SYN, &[]);
        self.segment(pair, responder, (port, own), (5000, 1001), SYN | ACK, &[]);
        self.segment(pair, initiator, (own, port), (initiator_seq, responder_seq), ACK, &[]);
        for (from, payload) in said {
            for chunk in payload.chunks(1200) {
                let length = u32::try_from(chunk.len()).expect("a packet's length");
                if *from == initiator {
                    let numbers = (initiator_seq, responder_seq);
                    self.segment(pair, initiator, (own, port), numbers, ACK | PSH, chunk);
                    initiator_seq += length;
                    self.segment(
                        pair,
                        responder,
                        (port, own),
                        (responder_seq, initiator_seq),
                        ACK,
                        &[],
                    );
                } else {
                    let numbers = (responder_seq, initiator_seq);
                    self.segment(pair, responder, (port, own), numbers, ACK | PSH, chunk);
                    responder_seq += length;
                    self.segment(
                        pair,
                        initiator,
                        (own, port),
                        (initiator_seq, responder_seq),
                        ACK,
                        &[],
                    );
                }
            }
        }
        self.segment(pair, initiator, (own, port), (initiator_seq, responder_seq), FIN | ACK, &[]);
        self.segment(
            pair,
            responder,
            (port, own),
            (responder_seq, initiator_seq + 1),
            FIN | ACK,
            &[],
        );
        self.segment(
            pair,
            initiator,
            (own, port),
            (initiator_seq + 1, responder_seq + 1),
            ACK,
            &[],
        );
    }

    fn segment(
        &mut self,
        pair: Pair,
        from: Side,
        (source, target): (u16, u16),
        (sequence, acknowledged): (u32, u32),
        flags: u8,
        payload: &[u8],
    ) {
        let mut segment = Vec::new();
        segment.extend(source.to_be_bytes());
        segment.extend(target.to_be_bytes());
        segment.extend(sequence.to_be_bytes());
        segment.extend(acknowledged.to_be_bytes());
        segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(payload);
        self.packet(pair, from, 6, &segment);
    }
}
