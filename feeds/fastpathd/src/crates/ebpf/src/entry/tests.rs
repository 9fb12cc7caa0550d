// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::entry_side::{Hook, Tag};

fn side(device: u32, encapsulation: Encapsulation) -> EntrySide {
    let last = u8::try_from(device).unwrap();
    EntrySide {
        device,
        hook: Hook::Tc,
        encapsulation,
        local: [2, 0, 0, 0, 0, last],
        next_hop: Some([2, 0, 0, 0, 1, last]),
        priorities: [[0; 4]; 2],
        classified: false,
        mtu: 1500,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn tag(vid: u16) -> Option<Tag> {
    Some(Tag { vid, service: false })
}

fn tuple(src: &str, dst: &str, proto: u8) -> Tuple {
    let end = |text: &str| {
        let end: std::net::SocketAddr = text.parse().unwrap();
        (end.ip(), end.port())
    };
    let ((src, sport), (dst, dport)) = (end(src), end(dst));
    Tuple { src, dst, proto, sport, dport }
}

/// Returns a masqueraded connection from VLAN 20 (device 3) over PPPoE in VLAN 35 (device 5).
fn masqueraded() -> (Tuple, Tuple, EntrySide, EntrySide) {
    let orig = tuple("10.0.20.2:40000", "203.0.113.9:443", TCP);
    let reply = tuple("203.0.113.9:443", "198.51.100.7:40001", TCP);
    let host = side(3, Encapsulation { outer: tag(20), ..Encapsulation::default() });
    let encapsulation = Encapsulation { outer: tag(35), inner: None, session: Some(0x1234) };
    (orig, reply, host, EntrySide { mtu: 1492, ..side(5, encapsulation) })
}

#[test]
fn translates_a_masqueraded_connection_over_pppoe() {
    let (orig, reply, host, wan) = masqueraded();
    let [(out, there), (back, here)] = connect(&orig, &reply, &host, &wan).unwrap();
    assert_eq!(
        (out.device, out.encapsulation.outer, out.encapsulation.session),
        (3, tag(20), None)
    );
    assert_eq!((out.src, out.sport), (orig.src, 40000));
    assert_eq!((there.device, there.mtu, there.nat), (5, 1492, true));
    assert_eq!((there.src, there.sport), (reply.dst, 40001));
    assert_eq!((there.dst, there.dport), (orig.dst, 443));
    assert_eq!(
        (back.device, back.encapsulation.outer, back.encapsulation.session),
        (5, tag(35), Some(0x1234))
    );
    assert_eq!((back.dst, back.dport), (reply.dst, 40001));
    assert_eq!((here.device, here.mtu, here.nat), (3, 1500, true));
    assert_eq!((here.dst, here.dport), (orig.src, 40000));
}

/// Returns a connection of either family over a WAN with two tags.
fn prioritised(v6: bool, priorities: [[u8; 4]; 2]) -> (Tuple, Tuple, EntrySide, EntrySide) {
    let (mut orig, mut reply, host, mut wan) = masqueraded();
    if v6 {
        orig = tuple("[2001:db8::2]:40000", "[2001:db8:1::9]:443", TCP);
        reply = tuple("[2001:db8:1::9]:443", "[2001:db8::2]:40000", TCP);
    }
    wan.encapsulation.inner = tag(36);
    wan.priorities = priorities;
    (orig, reply, host, wan)
}

#[test]
fn headers_have_the_tag_priorities_of_the_egress() {
    for v6 in [false, true] {
        for (priorities, one) in [
            ([[5; 4], [1; 4]], true),
            ([[5, 0, 0, 0], [0; 4]], v6),
            ([[0, 0, 5, 0], [0; 4]], v6),
            ([[5; 4], [1, 1, 1, 2]], v6),
            ([[0; 4]; 2], true),
        ] {
            let (orig, reply, host, wan) = prioritised(v6, priorities);
            let [(_, there), (_, here)] = connect(&orig, &reply, &host, &wan).unwrap();
            let first = priorities.map(|tag| tag[0]);
            assert_eq!(there.header.priorities, first);
            assert_eq!(there.best_effort, !one, "IPv6 {v6}, {priorities:?}");
            assert_eq!((here.header.priorities, here.best_effort), ([0; 2], false));
            let host = EntrySide { hook: Hook::Xdp, ..host };
            let [(_, there), _] = connect(&orig, &reply, &host, &wan).unwrap();
            let tci = |at: usize| there.header.bytes[at] >> 5;
            assert_eq!([tci(14), tci(18)], first, "{:x?}", there.header.bytes);
            assert_eq!(there.header.bytes[15], 35);
        }
    }
}

#[test]
fn refuses_priorities_that_depend_on_the_ingress_frame() {
    for (v6, priorities, refused) in [
        (true, [[5, 0, 0, 0], [0; 4]], true),
        (true, [[5; 4], [0; 4]], true),
        (true, [[0; 4]; 2], false),
        (false, [[5, 0, 0, 0], [0; 4]], false),
    ] {
        let (orig, reply, host, wan) = prioritised(v6, priorities);
        let host = EntrySide { classified: true, ..host };
        let got = connect(&orig, &reply, &host, &wan).err();
        assert_eq!(got, refused.then_some(InstallRefusal::Priority), "{v6} {priorities:?}");
    }
}

#[test]
fn tc_keeps_tags_in_the_metadata() {
    let (orig, reply, host, wan) = masqueraded();
    let [(_, there), (_, here)] = connect(&orig, &reply, &host, &wan).unwrap();
    let header =
        [2, 0, 0, 0, 1, 5, 2, 0, 0, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0x12, 0x34, 0, 0, 0x00, 0x21];
    assert_eq!(there.header.bytes, header);
    assert_eq!((there.header.outer, there.header.inner), (tag(35), None));
    assert!(there.header.pppoe);
    assert_eq!(here.header.bytes, [2, 0, 0, 0, 1, 3, 2, 0, 0, 0, 0, 3, 8, 0]);
    assert_eq!(here.header.outer, tag(20));
    assert!(!here.header.pppoe);
}

#[test]
fn xdp_writes_tags_into_the_frame() {
    let (orig, reply, mut host, mut wan) = masqueraded();
    host.hook = Hook::Xdp;
    wan.encapsulation.inner = Some(Tag { vid: 36, service: false });
    wan.encapsulation.outer = Some(Tag { vid: 35, service: true });
    let [(_, there), (_, here)] = connect(&orig, &reply, &host, &wan).unwrap();
    let tags = [0x88, 0xa8, 0, 35, 0x81, 0, 0, 36, 0x88, 0x64, 0x11, 0];
    assert_eq!(there.header.bytes[12..24], tags);
    assert_eq!(there.header.bytes.len(), 30);
    assert_eq!((there.header.outer, there.header.inner), (None, None));
    assert_eq!(here.header.outer, tag(20));
}

#[test]
fn ipv6_has_no_header_checksum_delta() {
    let orig = tuple("[2001:db8::2]:40000", "[2001:db8:1::9]:53", UDP);
    let reply = tuple("[2001:db8:1::9]:53", "[2001:db8::2]:40000", UDP);
    let (a, b) = (side(1, Encapsulation::default()), side(2, Encapsulation::default()));
    let [(_, there), _] = connect(&orig, &reply, &a, &b).unwrap();
    assert_eq!((there.l3_delta, there.address_delta, there.port_delta), (0, 0, 0));
    assert!(!there.nat);
    assert_eq!(there.header.bytes[12..], [0x86, 0xdd]);
}

#[test]
fn refuses_connections_that_cannot_be_offloaded() {
    let (orig, reply, host, wan) = masqueraded();
    let refused = |orig: &Tuple, reply: &Tuple, host: &EntrySide, wan: &EntrySide| {
        connect(orig, reply, host, wan).unwrap_err()
    };
    let icmp = |tuple: Tuple| Tuple { proto: 1, ..tuple };
    assert_eq!(refused(&icmp(orig), &icmp(reply), &host, &wan), InstallRefusal::Protocol);
    let other = Tuple { src: "2001:db8::1".parse().unwrap(), ..reply };
    assert_eq!(refused(&orig, &other, &host, &wan), InstallRefusal::Family);
    for (host, wan) in [
        (EntrySide { next_hop: None, ..host.clone() }, wan.clone()),
        (host.clone(), EntrySide { next_hop: None, ..wan.clone() }),
    ] {
        assert_eq!(refused(&orig, &reply, &host, &wan), InstallRefusal::NoNeighbour);
    }
    let narrow = EntrySide { mtu: 0, ..host.clone() };
    assert_eq!(refused(&orig, &reply, &narrow, &wan), InstallRefusal::Mtu);
}

/// Computes the checksum of RFC 1071.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for pair in parts.concat().chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

/// Updates a checksum in memory order, like `updated_check()` of `rewrite.h`.
fn corrected(check: u16, deltas: &[u16]) -> u16 {
    let check = u16::from_ne_bytes(check.to_be_bytes());
    let mut sum = u32::from(!check) + deltas.iter().map(|delta| u32::from(*delta)).sum::<u32>();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    u16::from_be_bytes((!u16::try_from(sum).unwrap()).to_ne_bytes())
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn header4(src: IpAddr, dst: IpAddr, ttl: u8, length: u16, id: u16) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend([0x40, 0, ttl, TCP, 0, 0]);
    bytes.extend(octets(src));
    bytes.extend(octets(dst));
    bytes
}

/// Computes the TCP checksum over pseudo header, ports and `rest`.
fn segment(src: IpAddr, dst: IpAddr, ports: [u16; 2], rest: &[u8]) -> u16 {
    let length = u32::try_from(rest.len()).unwrap() + 4;
    let ports = ports.map(u16::to_be_bytes).concat();
    checksum(&[&octets(src), &octets(dst), &length.to_be_bytes(), &[0, TCP], &ports, rest])
}

fn tuples() -> impl Strategy<Value = (Tuple, Tuple)> {
    // Few values, so that many bytes of the addresses stay the same.
    let byte = prop_oneof![Just(0_u8), Just(255), any::<u8>()];
    let v4 = [byte.clone(), byte.clone(), byte.clone(), byte];
    let v4 = v4.prop_map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
    let v6 = prop_oneof![Just(0), Just(u128::MAX), any::<u128>()];
    let v6 = v6.prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits)));
    let ends =
        prop_oneof![proptest::collection::vec(v4, 4..=4), proptest::collection::vec(v6, 4..=4)];
    let nat = prop_oneof![Just([false; 2]), any::<[bool; 2]>()];
    (ends, any::<[u16; 4]>(), nat).prop_map(|(ends, ports, nat)| {
        let orig =
            Tuple { src: ends[0], dst: ends[1], proto: TCP, sport: ports[0], dport: ports[1] };
        let mut reply = Tuple {
            src: orig.dst,
            dst: orig.src,
            proto: TCP,
            sport: orig.dport,
            dport: orig.sport,
        };
        if nat[0] {
            (reply.dst, reply.dport) = (ends[2], ports[2]);
        }
        if nat[1] {
            (reply.src, reply.sport) = (ends[3], ports[3]);
        }
        (orig, reply)
    })
}

proptest! {
    #[test]
    fn deltas_match_fully_computed_checksums(
        (orig, reply) in tuples(),
        ttl in 2_u8..,
        length: u16,
        id: u16,
        rest in proptest::collection::vec(any::<u8>(), 16..60),
    ) {
        let (a, b) = (side(1, Encapsulation::default()), side(2, Encapsulation::default()));
        for (key, entry) in connect(&orig, &reply, &a, &b).unwrap() {
            if key.src.is_ipv4() {
                let before = checksum(&[&header4(key.src, key.dst, ttl, length, id)]);
                let after = checksum(&[&header4(entry.src, entry.dst, ttl - 1, length, id)]);
                prop_assert_eq!(corrected(before, &[entry.l3_delta]), after);
            }
            let before = segment(key.src, key.dst, [key.sport, key.dport], &rest);
            let after = segment(entry.src, entry.dst, [entry.sport, entry.dport], &rest);
            prop_assert_eq!(corrected(before, &[entry.address_delta, entry.port_delta]), after);
            prop_assert_eq!(corrected(before, &[entry.l4_delta]), after);
            // A partial checksum covers only the pseudo header.
            let pseudo = |src, dst| !segment(src, dst, [0, 0], &[]);
            let moved = corrected(!pseudo(key.src, key.dst), &[entry.address_delta]);
            prop_assert_eq!(!moved, pseudo(entry.src, entry.dst));
        }
    }

    #[test]
    fn deltas_are_zero_without_nat((orig, reply) in tuples()) {
        let (a, b) = (side(1, Encapsulation::default()), side(2, Encapsulation::default()));
        for (key, entry) in connect(&orig, &reply, &a, &b).unwrap() {
            let same = (key.src, key.dst, key.sport, key.dport)
                == (entry.src, entry.dst, entry.sport, entry.dport);
            prop_assert_eq!(entry.nat, !same);
            if same {
                prop_assert_eq!((entry.address_delta, entry.port_delta), (0, 0));
            }
        }
    }

    #[test]
    fn back_key_is_the_key_of_the_reply((orig, reply) in tuples(), vid in 0_u16..4095, id: u16) {
        let encapsulation = Encapsulation { outer: tag(vid), inner: None, session: Some(id) };
        let (a, b) = (side(1, Encapsulation::default()), side(2, encapsulation));
        let [(out, there), (back, here)] = connect(&orig, &reply, &a, &b).unwrap();
        prop_assert_eq!(there.back_key(TCP), back);
        prop_assert_eq!(here.back_key(TCP), out);
    }

    #[test]
    fn headers_are_even_and_fit_the_layout(
        hook in prop_oneof![Just(Hook::Tc), Just(Hook::Xdp)],
        tags in any::<[Option<(u16, bool)>; 2]>(),
        session: Option<u16>,
    ) {
        let (orig, reply, host, wan) = masqueraded();
        let tag = |tag: Option<(u16, bool)>| tag.map(|(vid, service)| Tag { vid, service });
        let encapsulation = Encapsulation { outer: tag(tags[0]), inner: tag(tags[1]), session };
        let (host, wan) = (EntrySide { hook, ..host }, EntrySide { encapsulation, ..wan });
        let [(_, there), _] = connect(&orig, &reply, &host, &wan).unwrap();
        let len = there.header.bytes.len();
        prop_assert!(len.is_multiple_of(2) && (14..=crate::layout::HEADER_MAX).contains(&len));
    }
}
