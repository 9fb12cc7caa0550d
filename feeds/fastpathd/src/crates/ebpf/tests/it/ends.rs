// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that only genuine FINs and RSTs end a flow, not those of an off-path attacker.

use ebpf::layout::{ENDED_CLOSING, Out};

use crate::exits::{Forwarded, for_all};
use crate::flow::Pair;
use crate::frame::{ACK, FIN, Packet, RST, SYN};
use crate::kernel::{Action, Kernel, Metadata};
use crate::table::forwarded;

// Sequence and acknowledgement numbers of the other direction, close to wrapping around.
const SENT: u32 = 0xffff_fc00;
const ACKED: u32 = 0xffff_ff00;
const FAR: u32 = 1 << 30;

/// Flags, and distances of sequence and acknowledgement number from the other direction's.
type End = (u8, u32, u32);

const GENUINE: [End; 11] = [
    // Replies of an end that does not know the connection.
    (RST, 0, FAR),
    (RST | ACK, 0, FAR),
    // With data in flight, in either direction.
    (RST | ACK, 1000, 0),
    (RST | ACK, (1 << 20) - 1, 0),
    (RST | ACK, 1000, 500_000),
    (RST | ACK, 1000, 500_000_u32.wrapping_neg()),
    (FIN | ACK, 0, 0),
    (FIN | ACK, 1000, 0),
    (FIN | ACK, 10_000_000, 10_000_000_u32.wrapping_neg()),
    // Merged with earlier data by GRO or a retransmission.
    (FIN | ACK, 60_000_u32.wrapping_neg(), 0),
    (FIN | ACK, 0, 10_000_000),
];

/// Sent by an attacker who guesses the numbers.
const FORGED: [End; 13] = [
    (RST, 1, 0),
    (RST, 1_u32.wrapping_neg(), 0),
    (RST, FAR, 0),
    (RST | ACK, 1_u32.wrapping_neg(), 0),
    (RST | ACK, 1 << 20, 0),
    (RST | ACK, FAR, 0),
    (RST | ACK, 1000, FAR),
    (RST | ACK, 1000, 2_000_000),
    (RST | ACK, 1000, 2_000_000_u32.wrapping_neg()),
    (FIN, 0, 0),
    (FIN | ACK, FAR, 0),
    (FIN | ACK, FAR.wrapping_neg(), 0),
    (FIN | ACK, 0, FAR),
];

/// Installs the entry of the other direction and forwards a packet with it.
fn opposite(kernel: &mut Kernel, c: &Forwarded) -> Pair {
    let back = c.flow.back();
    let pair = back.pair(c.hook);
    kernel.put(&pair);
    let payload = b"some bytes of the other end".to_vec();
    let packet = Packet { seq: SENT, ack: ACKED, ..Packet::new(back.old, true, payload) };
    let ran = kernel.run(c.hook, &packet.frame(&back.from), Metadata::default());
    assert_eq!(ran.out, Out::Forwarded, "{}", c.name);
    pair
}

fn ending(c: &Forwarded, (flags, ahead, apart): End) -> Packet {
    let (seq, ack) = (ACKED.wrapping_add(ahead), SENT.wrapping_add(apart));
    Packet { flags, seq, ack, ..c.packet.clone() }
}

/// Returns the `ended` bits of both entries.
fn states(kernel: &Kernel, c: &Forwarded, back: &Pair) -> [u8; 2] {
    [&c.pair, back].map(|pair| kernel.get(pair).entry().ended)
}

#[test]
fn genuine_fin_and_rst_end_the_flow() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        for end in GENUINE {
            let back = opposite(kernel, c);
            let frame = ending(c, end).frame(&c.flow.from);
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::Tcp), "{}: {end:x?}", c.name);
            assert_eq!(ran.frame, frame, "{}: {end:x?}", c.name);
            assert_eq!(states(kernel, c, &back), [ENDED_CLOSING; 2], "{}: {end:x?}", c.name);
            kernel.put(&c.pair);
            kernel.remove(&back);
        }
    });
}

/// The destination checks the packet (RFC 9293, 3.10.7.4, and RFC 5961).
#[test]
fn forged_fin_and_rst_do_not_end_the_flow() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        let back = opposite(kernel, c);
        for end in FORGED {
            let packet = ending(c, end);
            let ran = kernel.run(c.hook, &packet.frame(&c.flow.from), Metadata::default());
            assert_eq!(ran.out, Out::Forwarded, "{}: {end:x?}", c.name);
            assert_eq!(ran.frame, forwarded(&packet, &c.flow), "{}: {end:x?}", c.name);
            assert_eq!(states(kernel, c, &back), [0; 2], "{}: {end:x?}", c.name);
        }
        // Invalid flags, which conntrack rejects.
        for flags in [SYN | RST, SYN | FIN, SYN | RST | ACK] {
            let frame = ending(c, (flags, FAR, FAR)).frame(&c.flow.from);
            let ran = kernel.run(c.hook, &frame, Metadata::default());
            assert_eq!((ran.action, ran.out), (Action::Pass, Out::Tcp), "{}", c.name);
            assert_eq!(states(kernel, c, &back), [0; 2], "{}: {flags}", c.name);
        }
        let frame = ending(c, (RST, 0, 0)).frame(&c.flow.from);
        kernel.run(c.hook, &frame, Metadata::default());
        assert_eq!(states(kernel, c, &back), [ENDED_CLOSING; 2], "{}", c.name);
        kernel.put(&c.pair);
        kernel.remove(&back);
    });
}

#[test]
fn passes_forged_packets_larger_than_the_mtu() {
    for_all(|kernel, c| {
        if !c.flow.tcp {
            return;
        }
        let back = opposite(kernel, c);
        let long = Packet { payload: vec![0x5a; 1500], ..ending(c, (FIN | ACK, FAR, 0)) };
        let ran = kernel.run(c.hook, &long.frame(&c.flow.from), Metadata::default());
        assert_eq!((ran.action, ran.out), (Action::Pass, Out::Mtu), "{}", c.name);
        assert_eq!(states(kernel, c, &back), [0; 2], "{}", c.name);
        // A packet larger than the MTU updates the position, too.
        let tuple = c.flow.back().old;
        let packet = Packet::new(tuple, true, vec![0x5a; 1500]);
        let packet = Packet { seq: SENT + 10, ack: ACKED + 10, ..packet };
        let ran = kernel.run(c.hook, &packet.frame(&c.flow.back().from), Metadata::default());
        assert_eq!(ran.out, Out::Mtu, "{}", c.name);
        let frame = ending(c, (RST, 10, 0)).frame(&c.flow.from);
        kernel.run(c.hook, &frame, Metadata::default());
        assert_eq!(states(kernel, c, &back), [ENDED_CLOSING; 2], "{}", c.name);
        kernel.put(&c.pair);
        kernel.remove(&back);
    });
}
