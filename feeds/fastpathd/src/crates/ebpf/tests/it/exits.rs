// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests all exits other than "forwarded": the packet stays unchanged, and the exit is counted.

use ebpf::layout::{ENDED_CLOSING, ENDED_RESTARTED, FLOW_DROP, Out};
use ebpf::programs::Dsa;

use crate::flow::{Flow, Pair};
use crate::frame::{ACK, FIN, Link, Packet, RST, SYN, Tuple};
use crate::kernel::{Action, HOOKS, Hook, Kernel, Metadata, allowed};
use crate::table::{flow, forwarded, links_in, links_out, translations};

/// An offloaded flow and one of its packets.
pub(crate) struct Forwarded {
    pub(crate) hook: Hook,
    pub(crate) flow: Flow,
    pub(crate) pair: Pair,
    pub(crate) packet: Packet,
    pub(crate) name: String,
}

impl Forwarded {
    pub(crate) fn frame(&self) -> Vec<u8> {
        self.packet.frame(&self.flow.from)
    }

    pub(crate) fn ip(&self) -> usize {
        self.flow.from.bytes(false, 0).len()
    }

    pub(crate) fn v6(&self) -> bool {
        self.flow.old.is_v6()
    }

    fn l4(&self) -> usize {
        self.ip() + if self.v6() { 40 } else { 20 }
    }
}

/// Runs `test` for both hooks, families and protocols, and all ingress encapsulations.
pub(crate) fn for_all(test: impl Fn(&mut Kernel, &Forwarded)) {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let to = links_out().swap_remove(1).1;
    for hook in HOOKS {
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            let (_, old, new) = translations(v6).swap_remove(1);
            for (encap, from) in links_in() {
                let flow = flow(&from, &to, (old, new), tcp);
                let pair = flow.pair(hook);
                let packet = Packet::new(old, tcp, b"some bytes of payload".to_vec());
                let name = format!("{hook:?}, {encap}, IPv6 {v6}, TCP {tcp}");
                kernel.put(&pair);
                let forwarded = Forwarded { hook, flow, pair, packet, name };
                test(&mut kernel, &forwarded);
                kernel.remove(&pair);
            }
        }
    }
    let exits = kernel.exits();
    assert!(exits.seen() > 0);
    // BPF_PROG_TEST_RUN reports the loopback device as ingress.
    let ports: Vec<_> = kernel.port_exits().ports().map(|(port, _)| port).collect();
    assert_eq!(ports, [LOOPBACK], "counted by ingress port");
}

const LOOPBACK: u32 = 1;

pub(crate) fn passes(kernel: &mut Kernel, c: &Forwarded, frame: &[u8], out: Out, why: &str) {
    let ran = kernel.run(c.hook, frame, Metadata::default());
    assert_eq!((ran.action, ran.out), (Action::Pass, out), "{}: {why}", c.name);
    assert_eq!(ran.frame, frame, "{}: {why}: unchanged", c.name);
    assert_eq!(kernel.get(&c.pair).entry().packets, 0, "{}: {why}: not counted", c.name);
}

pub(crate) fn goes(kernel: &mut Kernel, c: &Forwarded, packet: &Packet) {
    let ran = kernel.run(c.hook, &packet.frame(&c.flow.from), Metadata::default());
    assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{}", c.name);
    assert_eq!(ran.frame, forwarded(packet, &c.flow), "{}", c.name);
    kernel.put(&c.pair);
}

#[test]
fn passes_packets_with_an_expired_ttl() {
    for_all(|kernel, c| {
        for ttl in [0, 1] {
            let packet = Packet { ttl, ..c.packet.clone() };
            passes(kernel, c, &packet.frame(&c.flow.from), Out::Ttl, "TTL");
        }
        for ttl in [2, 255] {
            goes(kernel, c, &Packet { ttl, ..c.packet.clone() });
        }
    });
}

#[test]
fn passes_packets_larger_than_the_egress_mtu() {
    for_all(|kernel, c| {
        let headers = c.l4() - c.ip() + if c.flow.tcp { 20 } else { 8 };
        let sized = |n: usize| Packet { payload: vec![0x5a; n - headers], ..c.packet.clone() };
        goes(kernel, c, &sized(1499));
        goes(kernel, c, &sized(1500));
        passes(kernel, c, &sized(1501).frame(&c.flow.from), Out::Mtu, "MTU");
        if c.hook == Hook::Xdp {
            // A multi-buffer frame.
            passes(kernel, c, &sized(9000).frame(&c.flow.from), Out::Mtu, "MTU");
            let mut wide = c.pair;
            wide.entry().mtu = 9000;
            kernel.put(&wide);
            goes(kernel, c, &sized(9000));
        }
    });
}

#[test]
fn passes_packets_after_the_heartbeat_has_expired() {
    for_all(|kernel, c| {
        kernel.stop_heartbeat();
        passes(kernel, c, &c.frame(), Out::Stale, "silence");
        kernel.heartbeat(1_000_000);
        goes(kernel, c, &c.packet);
    });
}

#[test]
fn passes_packets_of_entries_with_another_secret() {
    for_all(|kernel, c| {
        goes(kernel, c, &c.packet);
        let secret = kernel.secret();
        kernel.set_secret(1_000_000, secret ^ 2);
        for _ in 0..2 {
            let ran = kernel.run(c.hook, &c.frame(), Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::Unknown), "{}", c.name);
            assert_eq!(ran.frame, c.frame(), "{}: unchanged", c.name);
            // A heartbeat keeps the secret.
            kernel.heartbeat(1_000_000);
        }
        assert!(!kernel.start(&c.pair, &c.pair), "{}", c.name);
        kernel.set_secret(1_000_000, secret);
        goes(kernel, c, &c.packet);
    });
}

#[test]
fn drop_entries_drop_and_count_packets() {
    for_all(|kernel, c| {
        let mut drop = c.pair;
        drop.entry().flags |= FLOW_DROP;
        kernel.put(&drop);
        let ran = kernel.run(c.hook, &c.frame(), Metadata::default());
        assert_eq!((ran.action, ran.out), (Action::Drop, Out::Dropped), "{}", c.name);
        let counted = *kernel.get(&drop).entry();
        assert_eq!((counted.packets, counted.bytes), (1, c.packet.bytes().len() as u64));
    });
}

#[test]
fn passes_packets_that_differ_from_the_key() {
    for_all(|kernel, c| {
        let unknown = |kernel: &mut Kernel, packet: &Packet, link: &Link, why| {
            passes(kernel, c, &packet.frame(link), Out::Unknown, why);
        };
        let t = c.flow.old;
        let other = |tuple| Packet { tuple, ..c.packet.clone() };
        let strange = translations(c.v6()).pop().expect("some").2;
        unknown(kernel, &other(Tuple { src: strange.src, ..t }), &c.flow.from, "source");
        unknown(kernel, &other(Tuple { dst: strange.dst, ..t }), &c.flow.from, "destination");
        unknown(kernel, &other(Tuple { sport: 9, ..t }), &c.flow.from, "source port");
        unknown(kernel, &other(Tuple { dport: 9, ..t }), &c.flow.from, "destination port");
        let packet = Packet { tcp: !c.packet.tcp, ..c.packet.clone() };
        unknown(kernel, &packet, &c.flow.from, "protocol");
        for (encap, from) in links_in() {
            if from != c.flow.from {
                unknown(kernel, &c.packet, &from, encap);
            }
        }
        let mut link = c.flow.from.clone();
        for n in 0..link.tags.len() {
            link.tags[n].tci ^= 1;
            unknown(kernel, &c.packet, &link, "VID");
            link.tags[n].tci = 0;
            unknown(kernel, &c.packet, &link, "VID 0");
            link.tags[n] = c.flow.from.tags[n];
            link.tags[n].proto ^= 0x8100 ^ 0x88a8;
            unknown(kernel, &c.packet, &link, "protocol of a tag");
            link = c.flow.from.clone();
            link.tags[n].tci |= 0xe000;
            let frame = c.packet.frame(&link);
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!(ran.frame, forwarded(&c.packet, &c.flow), "{}: priority", c.name);
            kernel.put(&c.pair);
        }
        if let Some(session) = link.session {
            let link = Link { session: Some(session + 1), ..link };
            unknown(kernel, &c.packet, &link, "session");
        }
        let mut elsewhere = c.pair;
        match &mut elsewhere {
            Pair::V4(key, _) => key.ifindex = 99,
            Pair::V6(key, _) => key.ifindex = 99,
        }
        kernel.remove(&c.pair);
        kernel.put(&elsewhere);
        let ran = kernel.run(c.hook, &c.frame(), Metadata::default());
        assert_eq!((ran.action, ran.out), (Action::Pass, Out::Unknown), "{}: device", c.name);
        kernel.remove(&elsewhere);
        kernel.put(&c.pair);
    });
}

/// A hash may be that of two flows.
#[test]
fn passes_packets_that_only_share_the_hash_of_an_entry() {
    for_all(|kernel, c| {
        let mut pair = c.pair;
        let size = pair.key_bytes().len();
        for at in 0..size {
            pair.key_bytes()[at] ^= 0x10;
            kernel.put_at(&c.pair, &pair);
            passes(kernel, c, &c.frame(), Out::Unknown, &format!("byte {at} of the key"));
            pair.key_bytes()[at] ^= 0x10;
        }
        kernel.put_at(&c.pair, &pair);
        goes(kernel, c, &c.packet);
    });
}

#[test]
fn passes_frames_that_are_not_ip() {
    for_all(|kernel, c| {
        let mut frame = c.frame();
        let kind = c.ip() - 2;
        let kinds: &[[u8; 2]] = if c.flow.from.session.is_some() {
            // LCP, IPCP, compressed data.
            &[[0xc0, 0x21], [0x80, 0x21], [0, 0x2d]]
        } else {
            // ARP, LLDP, PPPoE discovery, an 802.3 length.
            &[[8, 6], [0x88, 0xcc], [0x88, 0x63], [0, 60]]
        };
        for other in kinds {
            frame[kind..kind + 2].copy_from_slice(other);
            passes(kernel, c, &frame, Out::NotIp, "type");
        }
        if c.flow.from.session.is_some() {
            let mut frame = c.frame();
            frame[c.ip() - 7] = 0xa7;
            passes(kernel, c, &frame, Out::NotIp, "code of PPPoE");
            let mut frame = c.frame();
            frame[c.ip() - 8] = 0x21;
            passes(kernel, c, &frame, Out::NotIp, "version of PPPoE");
        }
        let mut link = c.flow.from.clone();
        while link.tags.len() < 3 {
            link = link.tag(0x8100, 5);
        }
        passes(kernel, c, &c.packet.frame(&link), Out::NotIp, "three tags");
    });
}

#[test]
fn passes_frames_to_group_addresses() {
    for_all(|kernel, c| {
        for dst in [[0xff; 6], [1, 0, 0x5e, 1, 2, 3], [0x33, 0x33, 0, 0, 0, 1]] {
            let link = Link { dst, ..c.flow.from.clone() };
            passes(kernel, c, &c.packet.frame(&link), Out::Multicast, "group");
        }
    });
}

#[test]
fn passes_truncated_frames() {
    for_all(|kernel, c| {
        let frame = c.frame();
        for length in 14..frame.len() {
            let behind =
                usize::from(c.hook == Hook::Tc && length >= 18 && !c.flow.from.tags.is_empty());
            if c.hook == Hook::Tc && length - 4 * behind < 14 + 40 {
                // BPF_PROG_TEST_RUN refuses frames too short for an IP header.
                continue;
            }
            let ran = kernel.run(c.hook, &frame[..length], Metadata::default());
            assert_eq!(ran.action, Action::Pass, "{}: cut at {length}", c.name);
            assert_eq!(ran.frame, frame[..length], "{}: cut at {length}", c.name);
            assert_eq!(ran.out, Out::Malformed, "{}: cut at {length}", c.name);
        }
    });
}

#[test]
fn passes_packets_with_inconsistent_lengths() {
    for_all(|kernel, c| {
        let at = c.ip() + if c.v6() { 4 } else { 2 };
        let right = c.frame();
        let length = u16::from_be_bytes([right[at], right[at + 1]]);
        let headers: u16 = if c.v6() { 0 } else { 20 } + if c.flow.tcp { 20 } else { 8 };
        for wrong in [0, headers - 1, length + 1, 0xffff] {
            let mut frame = right.clone();
            frame[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
            passes(kernel, c, &frame, Out::Malformed, "length of IP");
        }
        if c.flow.from.session.is_some() {
            let at = c.ip() - 4;
            let length = u16::from_be_bytes([right[at], right[at + 1]]);
            for wrong in [0, 1, 2, 3, length - 1] {
                let mut frame = right.clone();
                frame[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
                passes(kernel, c, &frame, Out::Malformed, "length of PPPoE");
            }
        }
        for first in [0x55, 0x44, 0x40, 0x05, 0x65, 0x35] {
            if first >> 4 == 6 && c.v6() {
                continue;
            }
            let mut frame = right.clone();
            frame[c.ip()] = first;
            passes(kernel, c, &frame, Out::Malformed, "version");
        }
    });
}

/// Padding is not counted.
#[test]
fn forwards_the_padding_of_short_frames() {
    for_all(|kernel, c| {
        let packet = Packet { payload: b"ab".to_vec(), ..c.packet.clone() };
        let length = packet.bytes().len();
        // IPv6 with UDP has the minimum length without padding.
        for behind in (length + 1..=46).map(|padded| vec![0xaa; padded - length]) {
            let frame = [packet.frame(&c.flow.from), behind.clone()].concat();
            let wanted = [forwarded(&packet, &c.flow), behind].concat();
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!((ran.out, ran.frame), (Out::Forwarded, wanted), "{}", c.name);
            let counted = *kernel.get(&c.pair).entry();
            assert_eq!(counted.bytes, length as u64, "{}", c.name);
            kernel.put(&c.pair);
        }
    });
}

/// The kernel trims trailing bytes.
#[test]
fn passes_packets_with_trailing_bytes() {
    for_all(|kernel, c| {
        for payload in [2, 21, 1400] {
            let packet = Packet { payload: vec![0x5a; payload], ..c.packet.clone() };
            goes(kernel, c, &packet);
            let length = packet.bytes().len();
            for behind in [47_usize.saturating_sub(length).max(1), 60, 1000] {
                let frame = [packet.frame(&c.flow.from), vec![0xaa; behind]].concat();
                passes(kernel, c, &frame, Out::Malformed, "bytes behind");
            }
        }
    });
}

#[test]
fn passes_options_fragments_and_other_protocols() {
    for_all(|kernel, c| {
        let with = |at: usize, bytes: &[u8]| {
            let mut frame = c.frame();
            frame[c.ip() + at..c.ip() + at + bytes.len()].copy_from_slice(bytes);
            frame
        };
        if c.v6() {
            for next in [0, 43, 60] {
                passes(kernel, c, &with(6, &[next]), Out::Options, "extension");
            }
            passes(kernel, c, &with(6, &[44]), Out::Fragment, "fragment");
            for next in [58, 50, 51, 132, 255] {
                passes(kernel, c, &with(6, &[next]), Out::Protocol, "protocol");
            }
        } else {
            for first in [0x46, 0x4f] {
                passes(kernel, c, &with(0, &[first]), Out::Options, "options");
            }
            // First, middle and last fragments.
            for fragment in [[0x20, 0], [0x20, 1], [0, 1], [0x1f, 0xff]] {
                passes(kernel, c, &with(6, &fragment), Out::Fragment, "fragment");
            }
            for protocol in [1, 2, 47, 50, 132] {
                passes(kernel, c, &with(9, &[protocol]), Out::Protocol, "protocol");
            }
        }
    });
}

#[test]
fn syn_fin_and_rst_end_both_directions() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        let flagged = |flags| Packet { flags, ..c.packet.clone() }.frame(&c.flow.from);
        let back = c.flow.back().pair(c.hook);
        kernel.put(&back);
        for (flags, ended) in [
            (SYN, ENDED_RESTARTED),
            (SYN | ACK, ENDED_RESTARTED),
            (FIN | ACK, ENDED_CLOSING),
            (RST, ENDED_CLOSING),
            (RST | ACK, ENDED_CLOSING),
            (FIN | SYN, ENDED_CLOSING),
        ] {
            passes(kernel, c, &flagged(flags), Out::Tcp, "begin or end");
            assert_eq!(kernel.get(&c.pair).entry().ended, ended);
            assert_eq!(kernel.get(&back).entry().ended, ended, "{}", c.name);
            passes(kernel, c, &flagged(ACK), Out::Tcp, "after the end");
            kernel.put(&c.pair);
            kernel.put(&back);
        }
        goes(kernel, c, &c.packet);
        kernel.remove(&back);
    });
}

#[test]
fn passes_packets_to_devices_without_xdp_sending() {
    for_all(|kernel, c| {
        if c.hook == Hook::Xdp {
            let mut elsewhere = c.pair;
            elsewhere.entry().ifindex = 2;
            kernel.put(&elsewhere);
            passes(kernel, c, &c.frame(), Out::NoDevice, "device");
        }
    });
}

#[test]
fn drops_packets_if_the_header_length_is_invalid() {
    for_all(|kernel, c| {
        for length in [0, 12, 13, 15, 41, 44, 255] {
            let mut wrong = c.pair;
            wrong.entry().header_len = length;
            kernel.put(&wrong);
            let ran = kernel.run(c.hook, &c.frame(), Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Drop, Out::NoRoom), "{}: {length}", c.name);
        }
    });
}

#[test]
fn tc_returns_the_action_of_the_verdict() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let (from, to) = (links_in().swap_remove(0).1, links_out().swap_remove(0).1);
    let (_, old, new) = translations(false).swap_remove(1);
    let flow = flow(&from, &to, (old, new), false);
    let mut pair = flow.pair(Hook::Tc);
    let frame = Packet::new(old, false, Vec::new()).frame(&from);
    assert_eq!(kernel.tc_returns(&frame), u32::MAX, "next program");
    kernel.put(&pair);
    assert_eq!(kernel.tc_returns(&frame), 7, "redirect");
    pair.entry().flags |= FLOW_DROP;
    kernel.put(&pair);
    assert_eq!(kernel.tc_returns(&frame), 2, "drop");
}
