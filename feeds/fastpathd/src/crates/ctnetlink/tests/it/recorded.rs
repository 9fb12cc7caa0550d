// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes a recorded dump.

use std::net::IpAddr;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use netlink::messages;

use crate::support::recording::KINDS;

fn recorded() -> Vec<Entry> {
    let mut entries = Vec::new();
    ctnetlink::entries(&KINDS, &mut entries);
    entries
}

fn find(holds: impl Fn(&Entry) -> bool) -> Entry {
    recorded().into_iter().find(|entry| holds(entry)).expect("recorded")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn decodes_every_recorded_message() {
    let entries = recorded();
    assert_eq!(entries.len(), messages(&KINDS).count());
    assert_eq!(entries.len(), 46);
    assert!(entries.iter().all(|entry| entry.id != 0 && entry.status.has(Status::CONFIRMED)));
    assert!(entries.iter().all(|entry| entry.orig_counters.is_some_and(|c| c.packets > 0)));
    assert!(entries.iter().all(|entry| entry.start_ns.is_some_and(|ns| ns > 1 << 60)));
}

#[test]
fn decodes_tcp_state_and_counters() {
    let entry = find(|entry| entry.tcp_state == Some(TcpState::Established));
    assert!(entry.status.has(Status::SEEN_REPLY | Status::ASSURED));
    assert_eq!(entry.orig_counters, Some(Counters { packets: 2, bytes: 112 }));
    assert_eq!(entry.reply_counters, Some(Counters { packets: 1, bytes: 60 }));
    assert_eq!(entry.timeout_s, Some(431_999));
    assert_eq!(entry.mark, 0x2000_0000);
    assert_eq!((entry.orig.src, entry.orig.dst), (entry.reply.dst, entry.reply.src));
}

#[test]
fn decodes_the_tcp_state_of_every_tcp_entry() {
    let states: Vec<TcpState> = recorded().iter().filter_map(|entry| entry.tcp_state).collect();
    for state in [TcpState::SynSent, TcpState::Established, TcpState::TimeWait] {
        assert!(states.contains(&state), "{state:?}");
    }
    let tcp = recorded().iter().filter(|entry| entry.orig.proto == 6).count();
    assert_eq!(states.len(), tcp, "only TCP entries have a state");
}

#[test]
fn source_nat_shows_in_the_reply_tuple() {
    let entry = find(|e| e.orig.dst == address("203.0.113.4") && e.orig.proto == 17);
    assert!(entry.status.has(Status::SRC_NAT) && !entry.status.has(Status::DST_NAT));
    assert_eq!(entry.orig.src, address("10.10.0.20"));
    assert_eq!(entry.reply.dst, address("100.64.0.1"));
}

#[test]
fn destination_nat_shows_in_the_reply_tuple() {
    let entry = find(|e| e.orig.dst == address("192.0.2.1"));
    assert!(entry.status.has(Status::DST_NAT) && !entry.status.has(Status::SEEN_REPLY));
    assert_eq!((entry.reply.src, entry.reply.sport), (address("10.20.0.80"), 8443));
}

#[test]
fn decodes_ipv6_multicast_and_zones() {
    let v6 = find(|entry| entry.orig.src.is_ipv6());
    assert_eq!((v6.orig.src, v6.orig.proto), (address("fd00:10::14"), 17));
    assert!(recorded().iter().any(|entry| entry.orig.dst.is_multicast()));
    let zoned = find(|entry| entry.zone == 7);
    assert_eq!(zoned.orig.dst.to_string().rsplit_once('.').expect("v4").0, "198.19.7");
}

#[test]
fn decodes_ports_as_0_for_protocols_without_ports() {
    for proto in [47, 50] {
        let Tuple { sport, dport, .. } = find(|entry| entry.orig.proto == proto).orig;
        assert_eq!((sport, dport), (0, 0), "protocol {proto}");
    }
    let ping = find(|entry| entry.orig.proto == 1);
    assert_eq!((ping.orig.sport, ping.orig.dport), (0x1234, 8 << 8), "id, type and code");
    assert_eq!((ping.reply.sport, ping.reply.dport), (0x1234, 0), "an echo reply has type 0");
}
