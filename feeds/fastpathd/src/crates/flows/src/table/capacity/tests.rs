// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::{IpAddr, Ipv4Addr};

use ctnetlink::{Entry, Event, Status, TcpState, Tuple};
use model::{Connection, NextHop, Routing};

use super::Capacity;
use crate::network::{Network, Side};
use crate::table::FlowTable;
use crate::time::Now;

struct Nowhere;

impl Network for Nowhere {
    fn is_local(&self, _: IpAddr) -> bool {
        false
    }
    fn side(&self, _: IpAddr, _: Option<NextHop>) -> Option<Side> {
        None
    }
    fn routing(&self, _: &Connection, _: u32) -> Routing {
        Routing::Destination
    }
    fn name(&self, _: IpAddr) -> Option<&str> {
        None
    }
    fn generation(&self) -> u64 {
        1
    }
}

fn entry(id: u32, status: Status, tcp_state: TcpState) -> Entry {
    let [src, dst] = [id, 1].map(|low| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + low)));
    Entry {
        id,
        zone: 0,
        orig: Tuple { src, dst, proto: 6, sport: 1024, dport: 80 },
        reply: Tuple { src: dst, dst: src, proto: 6, sport: 80, dport: 1024 },
        status,
        timeout_s: Some(60),
        mark: 0,
        tcp_state: Some(tcp_state),
        helper: false,
        seq_adjust: false,
        orig_counters: None,
        reply_counters: None,
        start_ns: None,
    }
}

fn half_open(id: u32) -> Entry {
    entry(id, Status::CONFIRMED, TcpState::SynSent)
}

fn established(id: u32) -> Entry {
    let status = Status::CONFIRMED | Status::SEEN_REPLY | Status::ASSURED;
    entry(id, status, TcpState::Established)
}

fn table_of(most: usize) -> FlowTable {
    FlowTable { capacity: Capacity { most, ..Capacity::default() }, ..FlowTable::default() }
}

fn dump(table: &mut FlowTable, entries: impl Iterator<Item = Entry>) {
    table.dump_begin(Now::default());
    entries.for_each(|entry| table.merge(&entry, Now::default(), &Nowhere));
    table.dump_end(Now::default(), true);
}

#[test]
fn a_larger_machine_has_room_for_more_flows() {
    let flows = |gibibytes: u64| Capacity::of(gibibytes << 30).most;
    assert_eq!([flows(0), flows(1), flows(2)], [210_000; 3]);
    assert!((1_000_000..1_500_000).contains(&flows(16)));
}

#[test]
fn half_open_connections_fill_at_most_half_of_the_table() {
    let mut table = table_of(8);
    let event = |table: &mut FlowTable, event| table.event(&event, Now::default(), &Nowhere);
    for id in 0..100 {
        event(&mut table, Event::New(half_open(id)));
    }
    assert_eq!(table.len(), 4);
    event(&mut table, Event::Update(established(50)));
    assert_eq!(table.len(), 5);
    for id in 100..200 {
        event(&mut table, Event::New(established(id)));
    }
    assert_eq!(table.len(), 8);
    event(&mut table, Event::Destroy(established(50)));
    assert_eq!(table.len(), 7);
}

#[test]
fn a_dump_counts_the_entries_without_a_place() {
    let mut table = table_of(8);
    dump(&mut table, (0..100).map(half_open).chain((100..102).map(established)));
    assert_eq!((table.len(), table.unlisted()), (6, 96));
    dump(&mut table, (100..102).map(established));
    assert_eq!((table.len(), table.unlisted()), (2, 0));
}

#[test]
fn a_failed_dump_keeps_the_count_of_entries_without_a_place() {
    let mut table = table_of(8);
    let failed = |table: &mut FlowTable, last| {
        table.dump_begin(Now::default());
        (0..last).for_each(|id| table.merge(&half_open(id), Now::default(), &Nowhere));
        table.dump_end(Now::default(), false);
        table.unlisted()
    };
    assert_eq!(failed(&mut table, 10), 6);
    assert_eq!(failed(&mut table, 5), 6, "the dump may be incomplete");
    assert_eq!(failed(&mut table, 100), 96);
}

#[test]
fn answered_udp_flows_are_in_use_and_incomplete_handshakes_are_not() {
    let places = Capacity { most: 8, ..Capacity::default() };
    let answered = Status::CONFIRMED | Status::SEEN_REPLY;
    assert!(!places.has_one(4, &entry(1, answered, TcpState::SynRecv)));
    assert!(places.has_one(4, &Entry { tcp_state: None, status: answered, ..half_open(1) }));
    assert!(!places.has_one(4, &Entry { tcp_state: None, ..half_open(1) }));
    assert!(!places.has_one(8, &established(1)));
}
