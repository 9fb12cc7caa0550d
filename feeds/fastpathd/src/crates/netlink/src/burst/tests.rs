// SPDX-License-Identifier: GPL-2.0-or-later

use rustix::net::SocketFlags;

use super::*;
use crate::message::{REQUEST, message, messages};
use crate::socket::Protocol;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;

/// Returns a socket with `number` queued answers about the loopback device.
fn with_answers(number: u32) -> Socket {
    let socket = Socket::open(Protocol::Route, SocketFlags::NONBLOCK).expect("a socket");
    let mut of_loopback = [0; 16];
    of_loopback[4..8].copy_from_slice(&1_u32.to_ne_bytes());
    for seq in 1..=number {
        socket.send(&message(RTM_GETLINK, REQUEST, seq, &of_loopback)).expect("sent");
    }
    socket
}

#[test]
fn receives_at_most_a_burst_of_datagrams_in_order() {
    let socket = with_answers(70);
    let mut burst = Burst::new();
    let mut seqs = Vec::new();
    for expected in [BURST, 70 - BURST] {
        assert_eq!(burst.receive(&socket).expect("answers"), expected);
        for datagram in burst.datagrams() {
            let found = messages(datagram.expect("a whole datagram")).next().expect("a message");
            assert_eq!(found.kind, RTM_NEWLINK);
            seqs.push(found.seq);
        }
    }
    assert!(seqs.iter().copied().eq(1..=70), "{seqs:?}");
    let empty = burst.receive(&socket).expect_err("nothing is left");
    assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
    assert_eq!(burst.datagrams().count(), 0);
}

#[test]
fn rejects_a_truncated_datagram() {
    let socket = with_answers(1);
    let mut burst = Burst::of(32);
    assert_eq!(burst.receive(&socket).expect("an answer"), 1);
    let cut = burst.datagrams().next().expect("a datagram").expect_err("it is longer");
    assert_eq!(cut.raw_os_error(), Some(libc::EMSGSIZE));
}
