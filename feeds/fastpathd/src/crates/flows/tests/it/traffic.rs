// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests sums for metrics: forwarded traffic by path, direction and zones, busiest hosts, and flows
//! by reason.

use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use crate::support::{
    Net, TCP, UDP, address, at, counted, dump, dump_in, entry, flowtable, offloaded, rows, tuple,
    uncounted, watching, web,
};
use ctnetlink::{Counters, Entry, Event};
use flows::{FlowTable, HostTraffic, Network, Path, Reason, Side};
use model::{Connection, NextHop, Routing};
use serde_json::json;

/// Returns the bytes of a pair of zones on a path, from and to the initiator.
fn bytes(table: &FlowTable, zones: [&str; 2], path: Path) -> [u64; 2] {
    let pair = table.between_zones().find(|pair| [pair.in_zone, pair.out_zone] == zones);
    pair.map_or([0; 2], |pair| pair.on(path).map(|sum| sum.bytes))
}

/// Returns bytes and packets of all pairs, paths and directions.
fn sum(table: &FlowTable) -> [u64; 2] {
    let each = table
        .between_zones()
        .flat_map(|pair| Path::FORWARDING.into_iter().flat_map(move |path| pair.on(path)));
    each.fold([0; 2], |[bytes, packets], sum| [bytes + sum.bytes, packets + sum.packets])
}

/// Returns bytes and packets of all paths from the totals.
fn totals(table: &FlowTable) -> [u64; 2] {
    let paths = table.totals().paths;
    let each = [paths.slow, paths.inspect, paths.flowtable, paths.hardware, paths.ebpf];
    each.iter().fold([0; 2], |[bytes, packets], path| [bytes + path.bytes, packets + path.packets])
}

#[test]
fn counts_traffic_between_zones_by_path_and_direction() {
    let mut table = watching();
    let guest = entry(2, tuple(UDP, "10.20.0.9", 5000, "10.10.0.2", 53));
    dump(&mut table, 1.0, &[counted(web(1), 1000, 9000), counted(guest, 300, 700)]);
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Slow), [1000, 9000]);
    assert_eq!(bytes(&table, ["guest", "lan"], Path::Slow), [300, 700]);
    dump(&mut table, 2.0, &[offloaded(counted(web(1), 5000, 99_000)), counted(guest, 300, 700)]);
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Slow), [1000, 9000]);
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Flowtable), [4000, 90_000]);
    assert_eq!(bytes(&table, ["wan", "lan"], Path::Flowtable), [0; 2]);
    assert_eq!(sum(&table), totals(&table));
}

#[test]
fn excludes_local_traffic() {
    let mut table = watching();
    let local = entry(1, tuple(TCP, "10.10.0.2", 5000, "10.0.0.1", 443));
    dump(&mut table, 1.0, &[counted(local, 1000, 9000)]);
    assert_eq!(sum(&table), [0; 2]);
    assert!(table.busiest_hosts().is_empty());
    let reason = |wanted| table.reasons().find(|(reason, _)| *reason == wanted);
    assert_eq!(reason(Reason::Local), Some((Reason::Local, 1)));
}

#[test]
fn traffic_includes_ended_flows_but_reasons_do_not() {
    let mut table = watching();
    let net = Net::default();
    dump(&mut table, 1.0, &[counted(web(1), 1000, 9000), counted(web(2), 10, 20)]);
    let number = |table: &FlowTable| table.reasons().map(|(_, number)| number).sum::<u64>();
    assert_eq!(number(&table), 2);
    table.event(&Event::Destroy(counted(web(1), 1500, 9500)), at(1.5), &net);
    table.event(&Event::New(uncounted(web(3))), at(1.6), &net);
    // The event at the end of the second flow is lost.
    dump(&mut table, 2.0, &[counted(web(3), 100, 200)]);
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Slow), [1610, 9720]);
    assert_eq!(sum(&table), totals(&table));
    assert_eq!(number(&table), 1);
    dump(&mut table, 3.0, &[]);
    assert_eq!(number(&table), 0);
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Slow), [1610, 9720]);
}

#[test]
fn counts_packets_forwarded_by_ebpf() {
    let mut table = watching();
    dump(&mut table, 1.0, &[counted(web(1), 1000, 9000)]);
    let grown = Counters { packets: 3, bytes: 4500 };
    table.count_offloaded(1, 1, grown, false, at(1.1));
    table.count_offloaded(1, 0, Counters { packets: 1, bytes: 40 }, false, at(1.1));
    // A previous daemon has counted these packets.
    table.count_offloaded(1, 1, grown, true, at(1.1));
    assert_eq!(bytes(&table, ["lan", "wan"], Path::Ebpf), [40, 4500]);
    let desk = HostTraffic { address: address("10.10.0.2"), bytes: [1040, 13_500] };
    assert_eq!(table.busiest_hosts(), [desk]);
}

#[test]
fn counts_hosts_behind_the_router_at_either_end() {
    let mut table = watching();
    let between = entry(1, tuple(TCP, "10.20.0.9", 5000, "10.10.0.2", 445));
    let inward = entry(2, tuple(TCP, "192.0.2.7", 5000, "10.10.0.2", 22));
    dump(&mut table, 1.0, &[counted(between, 100, 5000), counted(inward, 1, 2)]);
    let host = |text, bytes| HostTraffic { address: address(text), bytes };
    let busiest = [host("10.20.0.9", [100, 5000]), host("10.10.0.2", [5002, 101])];
    assert_eq!(table.busiest_hosts(), busiest);
    table.count_hosts(1);
    assert_eq!(table.busiest_hosts().len(), 1);
}

/// The firewall settings of a zone count, not its name.
#[test]
fn servers_behind_an_outer_zone_are_not_hosts() {
    let net = Net {
        wan: Side { zone: Rc::from("internet"), outer: true, ..Net::default().wan },
        ..Net::default()
    };
    let mut table = watching();
    let inward = entry(2, tuple(TCP, "192.0.2.7", 5000, "10.10.0.2", 22));
    dump_in(&mut table, 1.0, &[counted(web(1), 1000, 9000), counted(inward, 10, 20)], &net);
    let desk = HostTraffic { address: address("10.10.0.2"), bytes: [1020, 9010] };
    assert_eq!(table.busiest_hosts(), [desk]);
    // The name of this zone begins with `wan`.
    let net = Net { lan: Side { zone: Rc::from("wanderers"), ..Net::default().lan }, ..net };
    let mut table = watching();
    dump_in(&mut table, 1.0, &[counted(web(1), 1000, 9000)], &net);
    let desk = HostTraffic { address: address("10.10.0.2"), bytes: [1000, 9000] };
    assert_eq!(table.busiest_hosts(), [desk]);
    let hosts = rows(&table, 2.0, &json!({ "group": "host" }));
    assert_eq!(hosts.len(), 1, "{hosts:?}");
}

/// Network with one zone per /24.
struct ManyZones;

impl Network for ManyZones {
    fn is_local(&self, _: IpAddr) -> bool {
        false
    }

    fn side(&self, address: IpAddr, _: Option<NextHop>) -> Option<Side> {
        let IpAddr::V4(address) = address else { return None };
        let [_, _, zone, _] = address.octets();
        Some(Side { zone: Rc::from(format!("z{zone}")), ..Net::default().lan })
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

fn many(id: u32) -> Entry {
    let mut entry = entry(id, tuple(TCP, "10.0.0.1", 5000, "10.0.0.2", 80));
    entry.orig.src = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + id));
    entry.reply.dst = entry.orig.src;
    let port = u16::try_from(id % 60_000).expect("a port");
    (entry.orig.sport, entry.reply.dport) = (port, port);
    entry
}

#[test]
fn the_number_of_zone_pairs_and_hosts_is_bounded() {
    let mut table = FlowTable::new();
    table.engine(flowtable(), at(0.0));
    dump(&mut table, 0.0, &[]);
    table.dump_begin(at(1.0));
    for id in 0..100_000 {
        table.merge(&counted(many(id), 1000, 2000), at(1.0), &ManyZones);
    }
    table.dump_end(at(1.0), true);
    assert_eq!(table.len(), 100_000);
    assert_eq!(table.between_zones().count(), 48, "of 256 pairs");
    assert_eq!(table.busiest_hosts().len(), 20);
    assert_eq!(sum(&table), totals(&table));
    assert_eq!(sum(&table)[0], 300_000_000);
    let others = bytes(&table, ["other", "other"], Path::Slow);
    assert!(others[0] > bytes(&table, ["z0", "z0"], Path::Slow)[0], "{others:?}");
}

#[test]
fn further_zone_pairs_share_the_pair_of_a_zone_named_other() {
    struct Zones;
    impl Network for Zones {
        fn is_local(&self, _: IpAddr) -> bool {
            false
        }
        fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side> {
            let side = ManyZones.side(address, next_hop)?;
            let zone = if &*side.zone == "z0" { Rc::from("other") } else { side.zone };
            Some(Side { zone, ..side })
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
    for zones in [0..60, 1..60] {
        let mut table = FlowTable::new();
        table.engine(flowtable(), at(0.0));
        dump(&mut table, 0.0, &[]);
        table.dump_begin(at(1.0));
        // The zone named `other` is the first or the last one.
        let number = zones.len();
        for id in zones.chain([0]) {
            table.merge(&counted(many(256 * id), 1000, 2000), at(1.0), &Zones);
        }
        table.dump_end(at(1.0), true);
        let pairs: Vec<_> =
            table.between_zones().map(|pair| [pair.in_zone, pair.out_zone]).collect();
        let different: std::collections::BTreeSet<_> = pairs.iter().collect();
        assert_eq!(different.len(), pairs.len(), "{pairs:?}");
        assert!((47..=48).contains(&pairs.len()), "{number}: {pairs:?}");
        assert_eq!(sum(&table), totals(&table));
    }
}
