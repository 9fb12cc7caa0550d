// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests updates of transport checksums: complete, verified by the device, absent, wrong.

use ebpf::layout::Out;
use ebpf::programs::Dsa;

use crate::dissect::check;
use crate::flow::Flow;
use crate::frame::Packet;
use crate::kernel::{Action, HOOKS, Hook, Kernel, Metadata, allowed};
use crate::table::{expected, flow, forwarded, links_in, links_out, translations};

fn goes(
    kernel: &mut Kernel,
    hook: Hook,
    flow: &Flow,
    packet: &Packet,
    metadata: Metadata,
    why: &str,
) {
    let same = (flow.old.src, flow.old.dst) == (flow.new.src, flow.new.dst);
    if metadata.complete && same && flow.to.session.is_some() {
        // set_pppoe_protocol() moves tags, after which the kernel's sum is wrong in test runs.
        return;
    }
    let pair = flow.pair(hook);
    kernel.put(&pair);
    let ran = kernel.run(hook, &packet.frame(&flow.from), metadata);
    assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{why}");
    assert_eq!(ran.frame, forwarded(packet, flow), "{why}: {metadata:?}");
    kernel.remove(&pair);
}

/// Returns the checksum states that a test run can have at this hook.
fn states(hook: Hook) -> Vec<Metadata> {
    let none = Metadata::default();
    match hook {
        Hook::Xdp => vec![none],
        Hook::Tc => {
            vec![none, Metadata { verified: true, ..none }, Metadata { complete: true, ..none }]
        }
    }
}

/// Returns flows of all families, protocols and translations between two encapsulations.
fn flows(ingress: usize, egress: usize) -> Vec<(String, Flow)> {
    let (from_name, from) = links_in().swap_remove(ingress);
    let (to_name, to) = links_out().swap_remove(egress);
    let mut flows = Vec::new();
    for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
        for (nat, old, new) in translations(v6) {
            let name = format!("{from_name} to {to_name}, IPv6 {v6}, TCP {tcp}, NAT {nat}");
            flows.push((name, flow(&from, &to, (old, new), tcp)));
        }
    }
    flows
}

/// Builds a packet whose checksum for the old or new tuple is `raw`, before UDP replaces 0.
fn with_sum(flow: &Flow, new: bool, raw: u16) -> Packet {
    let tuple = if new { flow.new } else { flow.old };
    let mut packet = Packet::new(tuple, flow.tcp, b"??of a known sum".to_vec());
    packet.payload[..2].fill(0);
    let zero = packet.bytes();
    let at = packet.check_at();
    let without = u16::from_be_bytes([zero[at], zero[at + 1]]);
    // The rest of the packet sums to ~without; this word makes the sum ~raw.
    let word = (u32::from(!raw) + u32::from(without)) % 0xffff;
    packet.payload[..2].copy_from_slice(&u16::try_from(word).expect("a rest").to_be_bytes());
    packet.tuple = flow.old;
    packet
}

#[test]
fn updates_checksums_verified_by_the_device() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let verified = Metadata { verified: true, ..Metadata::default() };
    for encap in 0..links_in().len() {
        for (name, flow) in flows(encap, 1) {
            let packet = Packet::new(flow.old, flow.tcp, b"payload".to_vec());
            goes(&mut kernel, Hook::Tc, &flow, &packet, verified, &name);
        }
    }
}

/// The kernel fails a test run with a wrong sum.
#[test]
fn updates_the_packet_sum_of_the_device() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let complete = Metadata { complete: true, ..Metadata::default() };
    // Egress headers that move no tag into or out of the packet.
    let untagged = [0, 1, 2, 5, 6];
    let pairs = [0, 1, 2].into_iter().flat_map(|i| untagged.map(|o| (i, o)));
    for (ingress, egress) in pairs {
        for (name, flow) in flows(ingress, egress) {
            let packet = Packet::new(flow.old, flow.tcp, b"payload".to_vec());
            goes(&mut kernel, Hook::Tc, &flow, &packet, complete, &name);
        }
    }
}

#[test]
fn forwards_udp_without_a_checksum() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let mut frames = Vec::new();
    for hook in HOOKS {
        for metadata in states(hook) {
            for (name, flow) in flows(0, 6) {
                if flow.tcp || flow.old.is_v6() {
                    continue;
                }
                let mut packet = Packet::new(flow.old, false, b"unchecked".to_vec());
                packet.unchecked = true;
                goes(&mut kernel, hook, &flow, &packet, metadata, &name);
                frames.push((forwarded(&packet, &flow), expected(&packet, &flow, &name)));
            }
        }
    }
    check(&frames);
}

/// A UDP checksum of 0 means "no checksum" (RFC 768).
#[test]
fn udp_checksums_of_zero_are_sent_as_0xffff() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let mut frames = Vec::new();
    for hook in HOOKS {
        for metadata in states(hook) {
            for (name, flow) in flows(0, 0) {
                for raw in [0, 1, 0xff, 0x100, 0x8000, 0xfffe] {
                    for of_new in [false, true] {
                        let packet = with_sum(&flow, of_new, raw);
                        let why = format!("{hook:?} {name}: {raw:04x}, of new {of_new}");
                        goes(&mut kernel, hook, &flow, &packet, metadata, &why);
                        let bytes = forwarded(&packet, &flow);
                        if of_new && raw == 0 {
                            let at = 14 + packet.check_at();
                            let sent = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
                            assert_eq!(sent, if flow.tcp { 0 } else { 0xffff }, "{why}");
                        }
                        frames.push((bytes, expected(&packet, &flow, &why)));
                    }
                }
            }
        }
    }
    check(&frames);
}

/// The receiver must detect the error.
#[test]
fn wrong_checksums_stay_wrong() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    for hook in HOOKS {
        for (name, flow) in flows(0, 0) {
            let packet = Packet::new(flow.old, flow.tcp, b"to be spoiled".to_vec());
            let mut frame = packet.frame(&flow.from);
            let last = frame.len() - 1;
            frame[last] ^= 1;
            let mut wanted = forwarded(&packet, &flow);
            wanted[last] ^= 1;
            kernel.put(&flow.pair(hook));
            let ran = kernel.run(hook, &frame, Metadata::default());
            assert_eq!(ran.frame, wanted, "{hook:?} {name}");
        }
    }
}

/// One of 65,536 sums carries twice.
#[test]
fn folds_sums_that_carry_twice() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let mut number = 0;
    for hook in HOOKS {
        for metadata in states(hook) {
            for (name, flow) in flows(0, 0) {
                let mut pair = flow.pair(hook);
                let e = pair.entry();
                let deltas = u32::from(e.address_delta) + u32::from(e.port_delta);
                for sum in [0xffff, 0x1_0000, 0x1_fffe, 0x1_ffff, 0x2_fffd] {
                    let Some(Ok(old)) = u32::checked_sub(sum, deltas).map(u16::try_from) else {
                        continue;
                    };
                    let raw = u16::from_be_bytes((!old).to_ne_bytes());
                    let packet = with_sum(&flow, false, raw);
                    goes(&mut kernel, hook, &flow, &packet, metadata, &format!("{name} {sum:x}"));
                    number += 1;
                }
            }
        }
    }
    assert!(number > 100, "{number}");
}
