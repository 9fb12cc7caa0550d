// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's network and configuration as values, for tests and `./build.sh bench fleet`.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "every value is written here")]
#![expect(clippy::must_use_candidate, reason = "for tests")]

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use serde_json::{Value, json};
use topology::{
    Address, BridgeVlan, Change, FdbEntry, Link, LinkKind, Mac, Neighbour, NeighbourState,
    PortVlan, PppoeSession, Route, RouteKind, VlanPriorities,
};

pub fn link(index: u32, name: &str, kind: LinkKind) -> Link {
    let ppp = kind == LinkKind::Ppp;
    Link {
        index,
        name: name.into(),
        kind,
        mac: (!ppp).then_some(Mac([2, 0, 0, 0, 0, u8::try_from(index).unwrap()])),
        mtu: 1500,
        mtu6: 1500,
        up: true,
        carrier: true,
        master: None,
        lower: None,
        operstate: 6,
        hardware: if ppp { 512 } else { 1 },
        point_to_point: ppp,
        checksums: false,
        priorities: VlanPriorities::default(),
    }
}

pub fn route(network: &str, prefix: u8, index: u32, gateway: Option<&str>) -> Change {
    Change::Route(Route {
        network: network.parse().unwrap(),
        prefix,
        kind: RouteKind::Unicast,
        table: 254,
        metric: 0,
        index: Some(index),
        gateway: gateway.map(|g| g.parse().unwrap()),
        source: None,
        several: false,
        mtu: None,
    })
}

fn address(index: u32, address: &str, prefix: u8) -> [Change; 2] {
    let address = address.parse().unwrap();
    let local = Route {
        network: address,
        prefix: 32,
        kind: RouteKind::Local,
        table: 255,
        metric: 0,
        index: Some(index),
        gateway: None,
        source: None,
        several: false,
        mtu: None,
    };
    [Change::Address(Address { index, address, prefix, peer: None }), Change::Route(local)]
}

/// Returns the lab's network: lan1 (VLAN 10) and lan2 (VLAN 20) in br-lan, and PPPoE on wan.35.
pub fn lab_network() -> Vec<Change> {
    let port = |index, name| Link { master: Some(4), ..link(index, name, LinkKind::Ethernet) };
    let vlan = |index, name, id, lower| Link {
        lower: Some(lower),
        ..link(index, name, LinkKind::Vlan { id, service: false })
    };
    let member = |index, vid, tagged| BridgeVlan {
        index,
        vlans: vec![PortVlan { vid, tagged, pvid: !tagged }],
    };
    let host = Mac([2, 0, 0, 0, 1, 10]);
    let mut changes = vec![
        Change::Link(port(1, "lan1")),
        Change::Link(port(2, "lan2")),
        Change::Link(link(3, "wan", LinkKind::Ethernet)),
        Change::Link(link(4, "br-lan", LinkKind::Bridge { vlan_filtering: true })),
        Change::Link(vlan(5, "br-lan.10", 10, 4)),
        Change::Link(vlan(6, "br-lan.20", 20, 4)),
        Change::Link(vlan(7, "wan.35", 35, 3)),
        Change::Link(link(8, "pppoe-wan", LinkKind::Ppp)),
        Change::BridgeVlans(vec![member(1, 10, false), member(2, 20, true)]),
        Change::Pppoe(
            vec![PppoeSession { id: 1, peer: Mac([2, 0, 0, 0, 9, 9]), device: "wan.35".into() }],
            Vec::new(),
        ),
        route("10.10.10.0", 24, 5, None),
        route("10.10.20.0", 24, 6, None),
        route("0.0.0.0", 0, 8, None),
        Change::Neighbour(Neighbour {
            index: 5,
            address: "10.10.10.10".parse().unwrap(),
            mac: Some(host),
            state: NeighbourState::Valid,
        }),
        Change::Fdb(FdbEntry { bridge: 4, port: 1, mac: host, vlan: 10, own: false }),
    ];
    changes.extend(address(5, "10.10.10.1", 24));
    changes.extend(address(6, "10.10.20.1", 24));
    changes.extend(address(8, "198.51.100.10", 32));
    vec![Change::Full(changes)]
}

pub fn lab_firewall() -> Value {
    json!({
        "z1": {".type": "zone", "name": "lan", "network": ["lan"]},
        "z2": {".type": "zone", "name": "wan", "network": ["wan"], "masq": "1"},
    })
}

pub fn lab_dump() -> Value {
    json!({"interface": [
        {"interface": "lan", "up": true, "l3_device": "br-lan.10", "device": "br-lan.10",
         "proto": "static",
         "ipv4-address": [{"address": "10.10.10.1", "mask": 24}]},
        {"interface": "wan", "up": true, "uptime": 60, "l3_device": "pppoe-wan",
         "device": "wan.35", "proto": "pppoe",
         "ipv4-address": [{"address": "198.51.100.10", "mask": 32}]},
    ]})
}

pub fn configuration(engine: &str) -> Value {
    json!({"main": {".type": "fastpath", ".name": "main", "engine": engine}})
}

/// Returns the conntrack entry of a masqueraded download by 10.10.10.10.
pub fn established(id: u32, offloaded: bool) -> Entry {
    let (host, server) = ("10.10.10.10".parse().unwrap(), "203.0.113.1".parse().unwrap());
    let bit = if offloaded { Status::OFFLOAD } else { Status::default() };
    Entry {
        id,
        zone: 0,
        orig: Tuple { src: host, dst: server, proto: 6, sport: 40_000, dport: 80 },
        reply: Tuple {
            src: server,
            dst: "198.51.100.10".parse().unwrap(),
            proto: 6,
            sport: 80,
            dport: 40_000,
        },
        status: Status::SEEN_REPLY | Status::ASSURED | Status::CONFIRMED | bit,
        timeout_s: (!offloaded).then_some(7440),
        mark: 0,
        tcp_state: (!offloaded).then_some(TcpState::Established),
        helper: false,
        seq_adjust: false,
        orig_counters: Some(Counters { packets: 10, bytes: 1000 }),
        reply_counters: Some(Counters { packets: 100, bytes: 150_000 }),
        start_ns: None,
    }
}
