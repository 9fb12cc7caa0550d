// SPDX-License-Identifier: GPL-2.0-or-later
//! Forwards all combinations of ingress and egress encapsulation, NAT, family, protocol and hook.

use ebpf::layout::Out;
use ebpf::programs::Dsa;

use crate::dissect::{Expected, check};
use crate::flow::Flow;
use crate::frame::{Link, Packet, TIMESTAMPS, Tuple};
use crate::kernel::{Action, HOOKS, Hook, Kernel, Metadata, allowed};

const STATION: [u8; 6] = [0x02, 0, 0, 0, 0x11, 1];
const GATEWAY_IN: [u8; 6] = [0x02, 0, 0, 0, 0x22, 2];
const GATEWAY_OUT: [u8; 6] = [0x02, 0, 0, 0, 0x33, 3];
const NEXT_HOP: [u8; 6] = [0x02, 0, 0, 0, 0x44, 4];

/// Returns all encapsulations. `n` makes tags and sessions of both ends differ.
pub(crate) fn links(dst: [u8; 6], src: [u8; 6], n: u16) -> Vec<(&'static str, Link)> {
    let plain = || Link::new(dst, src);
    vec![
        ("untagged", plain()),
        ("tag", plain().tag(0x8100, 10 + n)),
        ("service tag", plain().tag(0x88a8, 20 + n)),
        ("two tags", plain().tag(0x88a8, 30 + n).tag(0x8100, 40 + n)),
        ("two like tags", plain().tag(0x8100, 50 + n).tag(0x8100, 60 + n)),
        ("PPPoE", plain().pppoe(0x700 + n)),
        ("PPPoE over tag", plain().tag(0x8100, 70 + n).pppoe(0x800 + n)),
        ("PPPoE over two tags", plain().tag(0x88a8, 80 + n).tag(0x8100, 90 + n).pppoe(0x900 + n)),
    ]
}

pub(crate) fn links_in() -> Vec<(&'static str, Link)> {
    links(GATEWAY_IN, STATION, 1)
}

pub(crate) fn links_out() -> Vec<(&'static str, Link)> {
    links(NEXT_HOP, GATEWAY_OUT, 2)
}

/// Returns name, old tuple and new tuple of each translation.
pub(crate) fn translations(v6: bool) -> Vec<(&'static str, Tuple, Tuple)> {
    let tuple = |src: u8, sport, dst: u8, dport| {
        if v6 {
            Tuple::v6(src.into(), sport, dst.into(), dport)
        } else {
            Tuple::v4([192, 168, 1, src], sport, [203, 0, 113, dst], dport)
        }
    };
    let old = tuple(5, 40_000, 80, 443);
    vec![
        ("none", old, old),
        ("source", old, tuple(9, 51_234, 80, 443)),
        ("source address", old, tuple(9, 40_000, 80, 443)),
        ("destination", old, tuple(5, 40_000, 200, 8443)),
        ("ports", old, tuple(5, 1_024, 80, 65_535)),
        ("both", old, tuple(77, 1, 201, 2)),
    ]
}

pub(crate) fn flow(from: &Link, to: &Link, tuples: (Tuple, Tuple), tcp: bool) -> Flow {
    Flow {
        from: from.clone(),
        to: to.clone(),
        old: tuples.0,
        new: tuples.1,
        tcp,
        mtu: 1500,
        devices: (1, 1),
        ports: (0, 0),
    }
}

/// Builds the expected egress frame.
pub(crate) fn forwarded(packet: &Packet, flow: &Flow) -> Vec<u8> {
    let mut next = packet.clone();
    next.tuple = flow.new;
    next.ttl -= 1;
    next.frame(&flow.to)
}

pub(crate) fn expected(packet: &Packet, flow: &Flow, name: &str) -> Expected {
    Expected {
        name: name.to_owned(),
        link: flow.to.clone(),
        tuple: flow.new,
        tcp: flow.tcp,
        ttl: packet.ttl - 1,
        unchecked: packet.unchecked,
        ip_length: packet.bytes().len(),
    }
}

#[test]
fn forwards_every_encapsulation_and_translation() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let mut number = 0;
    let mut sent = Vec::new();
    for hook in HOOKS {
        for v6 in [false, true] {
            for tcp in [false, true] {
                for (nat, old, new) in translations(v6) {
                    for (ingress, from) in links_in() {
                        for (egress, to) in links_out() {
                            let name = format!(
                                "{hook:?} IPv{} {} from {ingress} to {egress} NAT {nat}",
                                if v6 { 6 } else { 4 },
                                if tcp { "TCP" } else { "UDP" },
                            );
                            let flow = flow(&from, &to, (old, new), tcp);
                            let name = name.as_str();
                            sent.push(one(&mut kernel, hook, &flow, name, number));
                            number += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(kernel.exits().seen(), number);
    check(&sent);
    println!("{number} cases");
}

fn one(
    kernel: &mut Kernel,
    hook: Hook,
    flow: &Flow,
    name: &str,
    number: u64,
) -> (Vec<u8>, Expected) {
    let mut payload = format!("{number} {name}").into_bytes();
    // Vary the checksum, and the length between odd and even.
    payload.push(u8::try_from(number % 251).expect("a byte"));
    let mut packet = Packet::new(flow.old, flow.tcp, payload);
    packet.options = if number.is_multiple_of(2) { Vec::new() } else { TIMESTAMPS.to_vec() };
    let pair = flow.pair(hook);
    kernel.put(&pair);
    let ran = kernel.run(hook, &packet.frame(&flow.from), Metadata::default());
    assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{name}");
    assert_eq!(ran.frame, forwarded(&packet, flow), "{name}");
    let counted = *kernel.get(&pair).entry();
    let length = u64::try_from(packet.bytes().len()).expect("short");
    assert_eq!((counted.packets, counted.bytes), (1, length), "{name}");
    let beaten = kernel.control.get(&0, 0).expect("there").now;
    assert!(counted.used >= beaten && beaten > 0, "{name}");
    kernel.remove(&pair);
    (ran.frame, expected(&packet, flow, name))
}
