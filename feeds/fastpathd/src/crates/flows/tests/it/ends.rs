// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests finding flows by their ends.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use crate::support::{Net, TCP, UDP, address, at, dump, entry, tuple, uncounted, watching, web};
use ctnetlink::{Entry, Event};
use flows::{FlowTable, Network, Side};
use model::{Connection, NextHop, Routing};
use proptest::prelude::*;

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("a socket address")
}

/// Finds a flow, and asserts the same result with swapped ends.
fn find(table: &FlowTable, proto: u8, a: &str, b: &str) -> Option<u64> {
    let found = table.find(proto, socket(a), socket(b));
    assert_eq!(table.find(proto, socket(b), socket(a)), found, "{a} {b}");
    found
}

/// Returns a connection from 10.10.0.2:40001 to 203.0.113.9:80, translated to a connection from
/// 10.20.0.1:50000 to 10.20.0.80:8080.
fn translated_twice() -> Entry {
    let mut entry = entry(1, tuple(TCP, "10.10.0.2", 40_001, "203.0.113.9", 80));
    entry.reply = tuple(TCP, "10.20.0.80", 8080, "10.20.0.1", 50_000);
    entry
}

#[test]
fn finds_a_flow_before_between_and_after_translation() {
    let mut table = watching();
    dump(&mut table, 1.0, &[translated_twice(), web(2)]);
    assert_eq!(find(&table, TCP, "10.10.0.2:40001", "203.0.113.9:80"), Some(1));
    assert_eq!(find(&table, TCP, "10.10.0.2:40001", "10.20.0.80:8080"), Some(1));
    assert_eq!(find(&table, TCP, "10.20.0.1:50000", "10.20.0.80:8080"), Some(1));
    assert_eq!(find(&table, TCP, "10.20.0.1:50000", "203.0.113.9:80"), None, "no such packet");
    assert_eq!(find(&table, UDP, "10.10.0.2:40001", "203.0.113.9:80"), None);
    assert_eq!(find(&table, TCP, "10.10.0.2:40002", "192.0.2.80:443"), Some(2));
    assert_eq!(find(&table, TCP, "10.10.0.2:443", "192.0.2.80:40002"), None);
}

#[test]
fn finds_the_newest_flow_of_a_protocol_without_ports() {
    let mut table = watching();
    let ping = |id, kind: u16| entry(id, tuple(1, "10.10.0.2", 77, "192.0.2.1", kind << 8));
    let gre = entry(3, tuple(47, "10.10.0.2", 0, "192.0.2.1", 0));
    dump(&mut table, 1.0, &[ping(1, 8), ping(2, 13), gre]);
    assert_eq!(find(&table, 1, "192.0.2.1:0", "10.10.0.2:0"), Some(2));
    assert_eq!(find(&table, 1, "192.0.2.1:3", "10.10.0.2:1"), Some(2), "ignores ports");
    assert_eq!(find(&table, 47, "192.0.2.1:0", "10.10.0.2:0"), Some(3));
    assert_eq!(find(&table, 50, "192.0.2.1:0", "10.10.0.2:0"), None);
    assert_eq!(find(&table, 1, "192.0.2.1:0", "10.10.0.3:0"), None);
}

#[test]
fn finds_ipv6_flows_by_their_ends() {
    let mut table = watching();
    dump(&mut table, 1.0, &[entry(1, tuple(UDP, "fd00:10::2", 5, "2001:db8::53", 53))]);
    assert_eq!(find(&table, UDP, "[fd00:10::2]:5", "[2001:db8::53]:53"), Some(1));
    assert_eq!(find(&table, UDP, "[fd00:10::2]:5", "[2001:db8::53]:54"), None);
}

#[test]
fn lists_the_connections_of_a_network() {
    let mut table = watching();
    let zoned = Entry { zone: 7, ..entry(3, tuple(UDP, "192.0.2.80", 5, "10.20.0.9", 9)) };
    dump(&mut table, 1.0, &[translated_twice(), web(2), zoned]);
    let keys = |text: &str| {
        let connections = table.connections_of(text.parse().unwrap()).into_iter();
        let mut keys: Vec<_> = connections.map(|one| (one.zone, one.orig)).collect();
        keys.sort_by_key(|(zone, orig)| (*zone, orig.sport));
        keys
    };
    assert_eq!(keys("192.0.2.80"), [(0, web(2).orig), (7, zoned.orig)]);
    assert_eq!(keys("10.10.0.2").len(), 2);
    assert_eq!(keys("10.10.0.0/24").len(), 2);
    for end in ["203.0.113.9", "10.20.0.80", "10.20.0.1"] {
        assert_eq!(keys(end), [(0, translated_twice().orig)], "{end}");
    }
    assert_eq!(keys("192.0.2.81"), []);
}

proptest! {
    #[test]
    fn the_index_contains_exactly_the_flows_of_the_table(
        steps in prop::collection::vec((0_u32..40, 0_u8..4), 1..200),
    ) {
        let net = Net::default();
        let mut table = watching();
        let mut there = std::collections::BTreeSet::new();
        for (id, step) in steps {
            let mut entry = uncounted(web(id));
            // Some flows are masqueraded, or become so with an event.
            if id % 3 == 0 || step == 1 {
                entry.reply.dst = address("100.64.0.1");
            }
            if step == 3 {
                table.event(&Event::Destroy(entry), at(1.0), &net);
                there.remove(&id);
            } else {
                table.event(&Event::Update(entry), at(1.0), &net);
                there.insert(id);
            }
        }
        for id in 0..40 {
            let orig = web(id).orig;
            let opener = SocketAddr::new(orig.src, orig.sport);
            let found = table.find(TCP, opener, SocketAddr::new(orig.dst, orig.dport));
            prop_assert_eq!(found, there.contains(&id).then_some(u64::from(id)));
            let outside = SocketAddr::new(address("100.64.0.1"), orig.sport);
            if let Some(found) = table.find(TCP, outside, SocketAddr::new(orig.dst, orig.dport)) {
                prop_assert_eq!(found, u64::from(id));
            }
        }
    }
}

/// Counts the questions about sides.
struct Asked {
    net: Net,
    sides: Cell<usize>,
}

impl Network for Asked {
    fn is_local(&self, address: IpAddr) -> bool {
        self.net.is_local(address)
    }

    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side> {
        self.sides.set(self.sides.get() + 1);
        self.net.side(address, next_hop)
    }

    fn routing(&self, connection: &Connection, mark: u32) -> Routing {
        self.net.routing(connection, mark)
    }

    fn name(&self, address: IpAddr) -> Option<&str> {
        self.net.name(address)
    }

    fn generation(&self) -> u64 {
        self.net.generation()
    }
}

#[test]
fn flows_of_the_same_hosts_share_the_lookup_of_their_sides() {
    let mut table = FlowTable::new();
    let mut asked = Asked { net: Net::default(), sides: Cell::new(0) };
    for round in 1..=2 {
        table.dump_begin(at(0.0));
        for port in 1000..1100 {
            let orig = tuple(TCP, "10.10.0.2", port, "203.0.113.1", 443);
            table.merge(&entry(u32::from(port), orig), at(0.0), &asked);
        }
        table.dump_end(at(0.0), true);
        assert_eq!(asked.sides.get(), 2 * round, "one for each address and generation");
        asked.net.generation += 1;
    }
}
