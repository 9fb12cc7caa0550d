// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests packets of another connection with the same tuple: before the start, after a SYN, and
//! without a heartbeat.

use ebpf::layout::{ENDED_CLOSING, ENDED_RESTARTED, Out};

use crate::exits::{Forwarded, for_all, goes, passes};
use crate::flow::Pair;
use crate::frame::{ACK, FIN, Packet, RST, SYN};
use crate::kernel::Kernel;

/// Writes both entries in the waiting state.
fn waiting(kernel: &mut Kernel, c: &Forwarded) -> [Pair; 2] {
    let mut pairs = [c.pair, c.flow.back().pair(c.hook)];
    for pair in &mut pairs {
        pair.entry().waiting = 1;
        kernel.put(pair);
    }
    pairs
}

fn flagged(c: &Forwarded, flags: u8) -> Vec<u8> {
    Packet { flags, ..c.packet.clone() }.frame(&c.flow.from)
}

#[test]
fn waiting_entries_pass_packets_until_the_start() {
    for_all(|kernel, c| {
        let [there, back] = waiting(kernel, c);
        passes(kernel, c, &c.frame(), Out::Unknown, "waiting");
        assert!(kernel.start(&there, &back), "{}", c.name);
        assert!(kernel.start(&back, &there), "again, {}", c.name);
        goes(kernel, c, &c.packet);
        kernel.remove(&back);
        assert!(!kernel.start(&there, &back), "one is missing, {}", c.name);
    });
}

#[test]
fn start_fails_after_a_syn_fin_or_rst() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        for flags in [SYN, SYN | ACK, FIN | ACK, RST, RST | ACK] {
            let [there, back] = waiting(kernel, c);
            passes(kernel, c, &flagged(c, flags), Out::Tcp, "end");
            for pair in [&there, &back] {
                assert_eq!(kernel.get(pair).entry().ended, ENDED_RESTARTED, "{}", c.name);
            }
            assert!(!kernel.start(&there, &back) && !kernel.start(&back, &there), "{}", c.name);
            passes(kernel, c, &flagged(c, ACK), Out::Tcp, "the next connection");
            // Only one direction has ended.
            kernel.put(&back);
            assert!(!kernel.start(&there, &back) && !kernel.start(&back, &there), "{}", c.name);
            kernel.remove(&back);
        }
    });
}

/// The handshake of the next connection must reach conntrack.
#[test]
fn a_started_entry_passes_packets_after_a_syn() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        for flags in [SYN, SYN | ACK] {
            let [there, back] = waiting(kernel, c);
            assert!(kernel.start(&there, &back));
            passes(kernel, c, &flagged(c, flags), Out::Tcp, "SYN");
            passes(kernel, c, &flagged(c, ACK), Out::Tcp, "handshake");
            for pair in [&there, &back] {
                let entry = *kernel.get(pair).entry();
                assert_eq!((entry.waiting, entry.ended), (0, ENDED_RESTARTED), "{}", c.name);
            }
            assert!(!kernel.start(&there, &back), "{}", c.name);
            kernel.remove(&back);
        }
    });
}

#[test]
fn records_ends_without_a_heartbeat() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        for (flags, ended) in
            [(SYN, ENDED_RESTARTED), (FIN | ACK, ENDED_CLOSING), (RST, ENDED_CLOSING)]
        {
            let [there, back] = waiting(kernel, c);
            assert!(kernel.start(&there, &back));
            kernel.stop_heartbeat();
            passes(kernel, c, &flagged(c, flags), Out::Tcp, "no heartbeat");
            kernel.heartbeat(1_000_000);
            passes(kernel, c, &flagged(c, ACK), Out::Tcp, "the next connection");
            assert_eq!(kernel.get(&back).entry().ended, ended, "{}", c.name);
            kernel.remove(&back);
        }
    });
}
