// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests exclusions and switches.

use std::slice;

use crate::support::{
    Net, TCP, UDP, address, at, counted, dump, dump_in, entry, flowtable, offloaded, only, tuple,
    verdict, watching, web,
};
use config::Network;
use ctnetlink::{Counters, Entry};
use flows::{EngineState, FlowTable, Group, TopQuery};
use model::{Engine, Exclude, Ports, TrafficType, TrafficTypes};
use serde_json::Value;

fn network(text: &str) -> Network {
    text.parse().expect("a network")
}

#[test]
fn an_exclusion_matches_if_all_its_conditions_hold() {
    let web = entry(1, tuple(TCP, "10.10.0.2", 40_000, "192.0.2.80", 443));
    let whole = Exclude {
        name: String::new(),
        src: Some(network("10.10.0.0/16")),
        dest: Some(network("192.0.2.0/24")),
        proto: Some(TCP),
        src_port: Some(Ports { first: 40_000, last: 40_000 }),
        dest_port: Some(Ports { first: 400, last: 443 }),
        slow_packets: None,
    };
    let matches = |exclude: &Exclude| exclude.matches(&web.orig, &web.reply);
    assert!(matches(&whole));
    assert!(matches(&Exclude::default()), "no conditions");
    assert!(!matches(&Exclude { src: Some(network("10.20.0.0/16")), ..whole.clone() }));
    assert!(!matches(&Exclude { dest: Some(network("192.0.3.0/24")), ..whole.clone() }));
    assert!(!matches(&Exclude { proto: Some(UDP), ..whole.clone() }));
    assert!(!matches(&Exclude {
        src_port: Some(Ports { first: 1, last: 39_999 }),
        ..whole.clone()
    }));
    assert!(!matches(&Exclude {
        dest_port: Some(Ports { first: 444, last: 500 }),
        ..whole.clone()
    }));
    assert!(!matches(&Exclude { src: Some(network("::/0")), ..whole }), "another family");
}

#[test]
fn exclusions_match_ends_after_destination_and_before_source_nat() {
    let mut nat = entry(1, tuple(TCP, "198.51.100.9", 5000, "100.64.0.1", 8443));
    (nat.reply.src, nat.reply.sport) = (address("10.20.0.80"), 443);
    (nat.reply.dst, nat.reply.dport) = (address("10.20.0.1"), 6000);
    let dest = |network: &str, port: u16| Exclude {
        dest: Some(self::network(network)),
        dest_port: Some(Ports { first: port, last: port }),
        ..Exclude::default()
    };
    assert!(dest("10.20.0.80/32", 443).matches(&nat.orig, &nat.reply));
    assert!(!dest("100.64.0.1/32", 443).matches(&nat.orig, &nat.reply));
    assert!(!dest("10.20.0.80/32", 8443).matches(&nat.orig, &nat.reply));
    let src = Exclude { src: Some(network("198.51.100.0/24")), ..Exclude::default() };
    assert!(src.matches(&nat.orig, &nat.reply));
}

#[test]
fn an_excluded_flow_has_the_reason_excluded() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1)]);
    let exclude =
        Exclude { dest_port: Some(Ports { first: 443, last: 443 }), ..Exclude::default() };
    table.engine(EngineState { excludes: vec![exclude], ..flowtable() }, at(2.0));
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "excluded"));
}

fn types(types: &[TrafficType]) -> TrafficTypes {
    types.iter().copied().collect()
}

/// Returns a network whose WAN is a tunnel of this type.
fn tunnel(kind: TrafficType) -> Net {
    let mut net = Net::default();
    (net.wan.traffic, net.wan.tunnel) = (types(&[kind]), true);
    net
}

fn is_excluded(off: &[TrafficType], engine: Engine, entry: &Entry, net: &Net) -> bool {
    let mut table = watching();
    dump_in(&mut table, 1.0, slice::from_ref(entry), net);
    let state = EngineState { left_out: types(off), engine, ..EngineState::default() };
    table.engine(state, at(2.0));
    verdict(&only(&table, 2.0)).1 == "excluded"
}

#[test]
fn a_switch_excludes_the_flows_of_its_type() {
    use TrafficType::{Ipv4, Ipv6};
    let web6 = entry(2, tuple(TCP, "fd00:10::2", 40_000, "2001:db8::80", 443));
    for engine in [Engine::Flowtable, Engine::Ebpf] {
        for (off, entry, excluded) in
            [(Ipv4, web(1), true), (Ipv6, web(1), false), (Ipv4, web6, false), (Ipv6, web6, true)]
        {
            assert_eq!(is_excluded(&[off], engine, &entry, &Net::default()), excluded, "{off}");
        }
        let devices = TrafficType::ALL.into_iter().filter(|one| one.device_kind().is_some());
        let devices: Vec<_> = devices.collect();
        for kind in &devices {
            let net = tunnel(*kind);
            assert!(is_excluded(&[*kind], engine, &web(1), &net), "{engine} {kind}");
            let others: Vec<_> = devices.iter().copied().filter(|one| one != kind).collect();
            assert!(!is_excluded(&others, engine, &web(1), &net), "{engine} {kind}");
        }
    }
}

/// Returns the row of a type in `top`.
fn measured(table: &FlowTable, kind: &str) -> Value {
    let query = TopQuery { by: Group::Traffic, limit: 20 };
    let top = serde_json::to_value(table.top(&query)).expect("JSON");
    let rows = top["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["key"] == kind).cloned().unwrap_or_default()
}

#[test]
fn top_measures_the_fast_and_the_excluded_part_of_each_type() {
    let net = tunnel(TrafficType::Wireguard);
    let mut table = watching();
    let flows = |bytes: u64| {
        let web6 = entry(2, tuple(TCP, "fd00:10::2", 40_000, "2001:db8::80", 443));
        [offloaded(counted(web(1), bytes, 9 * bytes)), counted(web6, 0, bytes)]
    };
    dump_in(&mut table, 1.0, &flows(0), &net);
    dump_in(&mut table, 2.0, &flows(1000), &net);
    let numbers = |row: &Value| {
        ["flows", "offloaded", "fast_bps", "excluded", "excluded_bps"].map(|key| row[key].clone())
    };
    assert_eq!(numbers(&measured(&table, "wireguard")), [2, 1, 80_000, 0, 0].map(Value::from));
    assert_eq!(numbers(&measured(&table, "ipv4")), [1, 1, 80_000, 0, 0].map(Value::from));
    assert_eq!(numbers(&measured(&table, "ipv6")), [1, 0, 0, 0, 0].map(Value::from));
    assert_eq!(measured(&table, "vlan"), Value::Null);
    let left_out = types(&[TrafficType::Ipv6]);
    table.engine(EngineState { left_out, ..flowtable() }, at(2.5));
    assert_eq!(numbers(&measured(&table, "ipv6")), [1, 0, 0, 1, 8000].map(Value::from));
    assert_eq!(numbers(&measured(&table, "ipv4")), [1, 1, 80_000, 0, 0].map(Value::from));
}

#[test]
fn top_counts_a_direction_outside_the_flowtable_as_slow() {
    let mut net = Net::default();
    net.wan.in_flowtable = false;
    let mut table = watching();
    let flow = |bytes| offloaded(counted(web(1), bytes, 9 * bytes));
    dump_in(&mut table, 1.0, &[flow(0)], &net);
    dump_in(&mut table, 2.0, &[flow(1000)], &net);
    assert_eq!(measured(&table, "ipv4")["fast_bps"], 8000);
}

/// Returns `web(1)` with this many packets in each direction.
fn packets(up: u64, down: u64) -> Entry {
    let counters = |packets| Some(Counters { packets, bytes: packets * 100 });
    Entry { orig_counters: counters(up), reply_counters: counters(down), ..web(1) }
}

#[test]
fn keeps_the_first_packets_of_every_flow_on_the_slow_path() {
    let mut table = watching();
    table.engine(EngineState { slow_packets: 10, ..flowtable() }, at(0.5));
    for (second, up, down, reason) in
        [(1.0, 1, 0, "first-packets"), (2.0, 5, 4, "first-packets"), (3.0, 5, 5, "pending")]
    {
        dump(&mut table, second, &[packets(up, down)]);
        assert_eq!(verdict(&only(&table, second)), ("slow", reason), "{up} + {down}");
    }
    dump(&mut table, 60.0, &[packets(5, 5)]);
    assert_eq!(verdict(&only(&table, 60.0)).1, "idle");
}

/// Rules use the kernel's counters, not our sums.
#[test]
fn a_counter_reset_restarts_the_first_packets() {
    let mut table = watching();
    table.engine(EngineState { slow_packets: 10, ..flowtable() }, at(0.5));
    dump(&mut table, 1.0, &[packets(50, 50)]);
    assert_eq!(verdict(&only(&table, 1.0)).1, "pending");
    dump(&mut table, 2.0, &[packets(1, 0)]);
    let row = only(&table, 2.0);
    assert_eq!(verdict(&row).1, "first-packets");
    assert_eq!(row["up_packets"], 51);
}

#[test]
fn an_exclusion_of_first_packets_ends_after_these_packets() {
    let port = |port, slow_packets| Exclude {
        dest_port: Some(Ports { first: port, last: port }),
        slow_packets,
        ..Exclude::default()
    };
    let reason = |excludes: &[Exclude], slow_packets, entry: Entry| {
        let mut table = watching();
        let excludes = excludes.to_vec();
        table.engine(EngineState { excludes, slow_packets, ..flowtable() }, at(0.5));
        dump(&mut table, 1.0, &[entry]);
        verdict(&only(&table, 1.0)).1.to_owned()
    };
    let few = port(443, Some(20));
    assert_eq!(reason(slice::from_ref(&few), 0, packets(10, 9)), "first-packets");
    assert_eq!(reason(slice::from_ref(&few), 0, packets(10, 10)), "pending");
    assert_eq!(reason(&[port(80, Some(20))], 0, packets(10, 9)), "pending", "another port");
    assert_eq!(reason(&[few.clone(), port(443, Some(30))], 0, packets(10, 10)), "first-packets");
    assert_eq!(reason(slice::from_ref(&few), 30, packets(10, 10)), "first-packets");
    assert_eq!(reason(&[few, port(443, None)], 0, packets(10, 10)), "excluded", "permanently");
}
