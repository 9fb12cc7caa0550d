// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests GRO packets at TC.

use ebpf::layout::Out;
use ebpf::programs::Dsa;

use crate::frame::{Packet, TIMESTAMPS};
use crate::kernel::{Action, Hook, Kernel, Metadata, allowed};
use crate::table::{flow, forwarded, links_in, links_out, translations};

const PIECES: u32 = 2;

/// Returns the length of the IP and transport headers.
fn headers(v6: bool, tcp: bool, options: &[u8]) -> usize {
    (if v6 { 40 } else { 20 }) + if tcp { 20 + options.len() } else { 8 }
}

#[test]
fn counts_gro_packets_as_on_the_wire() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    let options = [vec![], TIMESTAMPS.to_vec()];
    let kinds = [(false, false), (false, true), (true, false), (true, true)];
    for ((v6, tcp), options) in kinds.into_iter().flat_map(|k| options.iter().map(move |o| (k, o)))
    {
        let (_, old, new) = translations(v6).swap_remove(1);
        for (ingress, from) in links_in() {
            for (egress, to) in links_out() {
                if from.session.is_some() {
                    // Removing PPPoE needs a GSO type that a test run cannot set.
                    continue;
                }
                let name = format!("IPv6 {v6}, TCP {tcp}, from {ingress} to {egress}");
                let flow = flow(&from, &to, (old, new), tcp);
                let size = 1500 - headers(v6, tcp, options);
                let metadata = |size: usize| Metadata {
                    gso_size: u32::try_from(size).expect("short"),
                    gso_segs: PIECES,
                    ..Metadata::default()
                };
                let mut packet = Packet::new(old, tcp, vec![0x5a; 2 * size]);
                packet.options.clone_from(options);
                let pair = flow.pair(Hook::Tc);
                kernel.put(&pair);
                let frame = packet.frame(&from);
                let ran = kernel.run(Hook::Tc, &frame, metadata(size + 1));
                assert_eq!((ran.action, ran.out), (Action::Pass, Out::Mtu), "{name}");
                assert_eq!(ran.frame, frame, "{name}");
                let ran = kernel.run(Hook::Tc, &frame, metadata(size));
                if to.session.is_some() {
                    assert_eq!((ran.action, ran.out), (Action::Pass, Out::Gso), "{name}");
                    assert_eq!(ran.frame, frame, "{name}");
                } else {
                    assert_eq!((ran.action, ran.out), (Action::Redirect, Out::Forwarded), "{name}");
                    assert_eq!(ran.frame, forwarded(&packet, &flow), "{name}");
                    let counted = *kernel.get(&pair).entry();
                    let bytes = packet.bytes().len() + headers(v6, tcp, options);
                    assert_eq!(counted.packets, u64::from(PIECES), "{name}");
                    assert_eq!(counted.bytes, bytes as u64, "{name}");
                }
                kernel.remove(&pair);
            }
        }
    }
}
