// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests exclusions.

use std::slice;

use crate::support::{
    TCP, UDP, address, at, dump, entry, flowtable, only, tuple, verdict, watching, web,
};
use config::Network;
use ctnetlink::{Counters, Entry};
use flows::EngineState;
use model::{Exclude, Ports};

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
