// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests DSA tags. Formats: `net/dsa/tag_mtk.c`, `tag_gswip.c` and `tag_qca.c` of Linux.

use ebpf::layout::{ENDED_CLOSING, Out};
use ebpf::programs::Dsa;

use crate::flow::Flow;
use crate::frame::{FIN, Link, Packet};
use crate::kernel::{Action, HOOKS, Hook, Kernel, Metadata, allowed};
use crate::table::{flow, forwarded, links_in, links_out, translations};

const SWITCHES: [Dsa; 3] = [Dsa::Mtk, Dsa::Gswip, Dsa::Qca];

/// Adds the tag of a frame that the switch received at `port`.
pub(crate) fn received(switch: Dsa, mut link: Link, port: u8) -> Link {
    match switch {
        Dsa::None => {}
        Dsa::Mtk => link.instead = vec![0, port, 0, 0],
        Dsa::Gswip => link.before = vec![0x01, 0x02, 0, 0, 0, 0, 0, 0x80 | port << 4],
        // Version 2, type 0 (frame), port.
        Dsa::Qca => link.instead = vec![0x80, 0x18 & 0x3f & !7 | port],
    }
    link
}

/// Adds the tag of a frame that the switch sends at `port`.
fn sent(switch: Dsa, mut link: Link, port: u8) -> Link {
    match switch {
        Dsa::None => {}
        Dsa::Mtk => link.instead = vec![0, 1 << port, 0, 0],
        Dsa::Gswip => link.before = vec![0, 0, 1 << port, 0],
        Dsa::Qca => link.instead = vec![0x80, 0x80 | 1 << port],
    }
    link
}

/// Calls `test` for each pair of links with each kind of flow. Ports alternate, so that each pair
/// of links has all of them.
fn cases(switch: Dsa, mut test: impl FnMut(&str, Flow)) {
    let mut ports = [(0, 4), (4, 0), (3, 3)].into_iter().cycle();
    for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
        for (nat, old, new) in translations(v6) {
            for (ingress, from) in links_in() {
                for (egress, to) in links_out() {
                    let (port_in, port_out) = ports.next().unwrap_or_default();
                    let from = received(switch, from.clone(), port_in);
                    let to = sent(switch, to, port_out);
                    let mut flow = flow(&from, &to, (old, new), tcp);
                    flow.ports = (port_in + 1, port_out + 1);
                    let name = format!("{switch:?} {ingress} to {egress} {nat} {v6} {tcp}");
                    test(&name, flow);
                }
            }
        }
    }
}

/// Checks that a FIN ends both directions. The key of the other direction includes the port.
fn ends_both(kernel: &mut Kernel, hook: Hook, flow: &Flow, name: &str) {
    if !flow.tcp {
        return;
    }
    let back = flow.back().pair(hook);
    kernel.put(&back);
    let mut packet = Packet::new(flow.old, true, Vec::new());
    packet.flags |= FIN;
    let ran = kernel.run(hook, &packet.frame(&flow.from), Metadata::default());
    assert_eq!((ran.action, ran.out), (Action::Pass, Out::Tcp), "{name}");
    assert_eq!(kernel.get(&back).entry().ended, ENDED_CLOSING, "{name}");
    kernel.remove(&back);
}

#[test]
fn forwards_between_switch_ports() {
    if !allowed() {
        return;
    }
    for switch in SWITCHES {
        let mut kernel = Kernel::new(switch);
        for hook in HOOKS {
            cases(switch, |name, flow| {
                let packet = Packet::new(flow.old, flow.tcp, b"through a switch".to_vec());
                let pair = flow.pair(hook);
                kernel.put(&pair);
                let ran = kernel.run(hook, &packet.frame(&flow.from), Metadata::default());
                assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{name}");
                assert_eq!(ran.frame, forwarded(&packet, &flow), "{hook:?} {name}");
                ends_both(&mut kernel, hook, &flow, name);
                kernel.remove(&pair);
            });
        }
    }
}

#[test]
fn forwards_from_a_switch_port_to_another_device() {
    if !allowed() {
        return;
    }
    for switch in SWITCHES {
        let mut kernel = Kernel::new(switch);
        for hook in HOOKS {
            cases(switch, |name, mut flow| {
                (flow.to.before, flow.to.instead) = (Vec::new(), Vec::new());
                flow.ports.1 = 0;
                let packet = Packet::new(flow.old, flow.tcp, b"through a switch".to_vec());
                let pair = flow.pair(hook);
                kernel.put(&pair);
                let ran = kernel.run(hook, &packet.frame(&flow.from), Metadata::default());
                assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{name}");
                assert_eq!(ran.frame, forwarded(&packet, &flow), "{hook:?} {name}");
                kernel.remove(&pair);
            });
        }
    }
}

#[test]
fn the_switch_port_is_part_of_the_key() {
    if !allowed() {
        return;
    }
    for switch in SWITCHES {
        let mut kernel = Kernel::new(switch);
        for hook in HOOKS {
            let (_, old, new) = translations(false).swap_remove(1);
            let link = links_in().swap_remove(1).1;
            let from = received(switch, link.clone(), 2);
            let to = sent(switch, links_out().swap_remove(0).1, 1);
            let mut flow = flow(&from, &to, (old, new), false);
            flow.ports = (3, 0);
            let pair = flow.pair(hook);
            kernel.put(&pair);
            let packet = Packet::new(old, false, b"elsewhere".to_vec());
            let frame = packet.frame(&received(switch, link, 1));
            let ran = kernel.run(hook, &frame, Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::Unknown), "{hook:?} {switch:?}");
            assert_eq!(ran.frame, frame);
        }
    }
}

#[test]
fn passes_replies_of_the_switch_and_unknown_tag_versions() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::Qca);
    let (_, old, _) = translations(false).swap_remove(0);
    let packet = Packet::new(old, false, b"for the driver".to_vec());
    for hook in HOOKS {
        for tag in [[0x81, 0], [0x84, 0], [0x80, 0x40], [0x80, 0x80], [0x40, 0], [0xc0, 0]] {
            let mut from = received(Dsa::Qca, links_in().swap_remove(0).1, 1);
            from.instead = tag.to_vec();
            let frame = packet.frame(&from);
            let ran = kernel.run(hook, &frame, Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::NotIp), "{hook:?} {tag:02x?}");
            assert_eq!(ran.frame, frame);
        }
    }
}

#[test]
fn passes_truncated_and_multicast_switch_frames() {
    if !allowed() {
        return;
    }
    for switch in SWITCHES {
        let mut kernel = Kernel::new(switch);
        let (_, old, _) = translations(false).swap_remove(0);
        let packet = Packet::new(old, false, b"to many".to_vec());
        let mut from = received(switch, links_in().swap_remove(0).1, 1);
        let frame = packet.frame(&from);
        for length in 14..frame.len() - b"to many".len() {
            let ran = kernel.run(Hook::Xdp, &frame[..length], Metadata::default());
            assert_eq!(ran.out, Out::Malformed, "{switch:?}: {length}");
            assert_eq!(ran.frame, frame[..length]);
        }
        from.dst[0] |= 1;
        for hook in HOOKS {
            let ran = kernel.run(hook, &packet.frame(&from), Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::Multicast), "{switch:?}");
        }
    }
}

/// The kernel cannot segment packets with a switch tag.
#[test]
fn passes_gro_packets_of_a_switch() {
    if !allowed() {
        return;
    }
    for switch in SWITCHES {
        let mut kernel = Kernel::new(switch);
        let (_, old, new) = translations(false).swap_remove(1);
        let from = received(switch, links_in().swap_remove(0).1, 1);
        let to = sent(switch, links_out().swap_remove(0).1, 2);
        let mut flow = flow(&from, &to, (old, new), true);
        flow.ports = (2, 3);
        kernel.put(&flow.pair(Hook::Tc));
        let frame = Packet::new(old, true, vec![0; 2800]).frame(&from);
        let metadata = Metadata { gso_size: 1400, gso_segs: 2, ..Metadata::default() };
        let ran = kernel.run(Hook::Tc, &frame, metadata);
        assert_eq!((ran.action, ran.out), (Action::Pass, Out::Gso), "{switch:?}");
        assert_eq!(ran.frame, frame);
    }
}
