// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests frames to other stations, with a wrong IPv4 header checksum, or with another priority.

use ebpf::layout::{FLOW_BEST_EFFORT, Out};
use ebpf::programs::Dsa;
use proptest::prelude::*;

use crate::exits::{for_all, goes, passes};
use crate::frame::{FIN, Packet, RST, SYN};
use crate::kernel::{HOOKS, Kernel, Metadata, allowed};
use crate::table::{flow, links_in, links_out, translations};

/// The frames are for another router, a virtual router (VRRP), or another bridge port.
#[test]
fn passes_frames_to_another_mac() {
    for_all(|kernel, c| {
        let own = c.flow.from.dst;
        for (at, bit) in (0..6).flat_map(|at| [0x02, 0x80].map(|bit| (at, bit))) {
            let mut link = c.flow.from.clone();
            link.dst[at] ^= bit;
            passes(kernel, c, &c.packet.frame(&link), Out::Unknown, "address");
            if c.flow.tcp {
                for flags in [SYN, FIN, RST] {
                    let packet = Packet { flags, ..c.packet.clone() };
                    passes(kernel, c, &packet.frame(&link), Out::Unknown, "end elsewhere");
                    assert_eq!(kernel.get(&c.pair).entry().ended, 0, "{}", c.name);
                }
            }
        }
        for group in [[0xff; 6], [0x01, 0, 0x5e, 0, 0, 1], [own[0] | 1, own[1], 0, 0, 0, 9]] {
            let link = crate::frame::Link { dst: group, ..c.flow.from.clone() };
            passes(kernel, c, &c.packet.frame(&link), Out::Multicast, "group");
        }
        goes(kernel, c, &c.packet);
    });
}

/// A switch tag may precede the MAC.
#[test]
fn passes_switch_frames_to_another_mac() {
    if !allowed() {
        return;
    }
    for switch in [Dsa::Mtk, Dsa::Gswip, Dsa::Qca] {
        let mut kernel = Kernel::new(switch);
        for hook in HOOKS {
            for v6 in [false, true] {
                let (_, old, new) = translations(v6).swap_remove(1);
                let from = crate::switch::received(switch, links_in().swap_remove(1).1, 2);
                let mut flow = flow(&from, &links_out().swap_remove(0).1, (old, new), false);
                flow.ports = (3, 0);
                kernel.put(&flow.pair(hook));
                let packet = Packet::new(old, false, b"for somebody else".to_vec());
                for at in 0..6 {
                    let mut link = from.clone();
                    link.dst[at] ^= 4;
                    let ran = kernel.run(hook, &packet.frame(&link), Metadata::default());
                    assert_eq!(ran.out, Out::Unknown, "{switch:?} {hook:?} {v6} {at}");
                }
                let ran = kernel.run(hook, &packet.frame(&from), Metadata::default());
                assert_eq!(ran.out, Out::Forwarded, "{switch:?} {hook:?} {v6}");
                kernel.remove(&flow.pair(hook));
            }
        }
    }
}

/// The kernel derives the priority of the egress frame from the TOS field.
#[test]
fn passes_packets_that_need_another_tag_priority() {
    for_all(|kernel, c| {
        if c.v6() {
            return;
        }
        for service in 0..=255 {
            let mut frame = c.frame();
            let header = &mut frame[c.ip()..c.ip() + 20];
            header[1] = service;
            header[10..12].fill(0);
            let check = !sum(header);
            header[10..12].copy_from_slice(&check.to_be_bytes());
            let mut pair = c.pair;
            kernel.put(&pair);
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!(ran.out, Out::Forwarded, "{}: {service:#x}, one priority", c.name);
            pair.entry().flags |= FLOW_BEST_EFFORT;
            kernel.put(&pair);
            let wanted = if service & 0x18 == 0 { Out::Forwarded } else { Out::Unknown };
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!(ran.out, wanted, "{}: {service:#x}", c.name);
        }
    });
}

#[test]
fn passes_packets_with_a_wrong_ipv4_header_checksum() {
    for_all(|kernel, c| {
        if c.v6() {
            return;
        }
        // Fields that only the checksum covers: TOS, identification and the checksum itself.
        for (at, bit) in [1, 4, 5, 10, 11].into_iter().flat_map(|at| (0..8).map(move |b| (at, b))) {
            let mut frame = c.frame();
            frame[c.ip() + at] ^= 1 << bit;
            passes(kernel, c, &frame, Out::Malformed, "checksum");
            assert_eq!(kernel.get(&c.pair).entry().ended, 0, "{}", c.name);
        }
        for check in [[0, 0], [0xff, 0xff]] {
            let mut frame = c.frame();
            let at = c.ip() + 10;
            if frame[at..at + 2] != check {
                frame[at..at + 2].copy_from_slice(&check);
                passes(kernel, c, &frame, Out::Malformed, "no checksum");
            }
        }
    });
}

/// Computes the ones' complement sum of RFC 1071.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.fold(0, |sum, word| (sum + word) % 0x1_0000 + (sum + word) / 0x1_0000);
    u16::try_from(sum).expect("16 bits")
}

#[test]
fn forwards_only_packets_with_a_valid_ipv4_header_checksum() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let from = links_in().swap_remove(0).1;
    let (_, old, new) = translations(false).swap_remove(1);
    let flow = flow(&from, &links_out().swap_remove(0).1, (old, new), false);
    let frame = Packet::new(old, false, b"sum".to_vec()).frame(&from);
    let mut runner = proptest::test_runner::TestRunner::default();
    let fields = (any::<u8>(), any::<[u8; 2]>(), 2_u8.., any::<[u8; 2]>(), any::<bool>());
    let kernel = std::cell::RefCell::new(&mut kernel);
    runner
        .run(&fields, |(service, id, ttl, check, repair)| {
            let mut kernel = kernel.borrow_mut();
            let mut frame = frame.clone();
            let header = &mut frame[14..34];
            (header[1], header[8]) = (service, ttl);
            header[4..6].copy_from_slice(&id);
            header[10..12].copy_from_slice(&check);
            if repair {
                header[10..12].fill(0);
                let check = !sum(header);
                header[10..12].copy_from_slice(&check.to_be_bytes());
            }
            let wanted = if sum(header) == 0xffff { Out::Forwarded } else { Out::Malformed };
            for hook in HOOKS {
                kernel.put(&flow.pair(hook));
                prop_assert_eq!(kernel.run(hook, &frame, Metadata::default()).out, wanted);
            }
            Ok(())
        })
        .expect("holds");
}
