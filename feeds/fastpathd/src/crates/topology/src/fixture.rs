// SPDX-License-Identifier: GPL-2.0-or-later
//! Test networks: the recorded gateway of the lab, and constructed messages.

use netlink::messages;

use crate::change::Change;
use crate::decode::{Decoded, decode};
use crate::model::Topology;
use crate::pppoe::parse_sessions;
use crate::recording;
use crate::table::Table;
use crate::types::{
    Address, FdbEntry, Link, LinkKind, Mac, Neighbour, NeighbourState, PppoeSession, Route,
    RouteKind, VlanPriorities,
};

pub(crate) fn pppoe() -> String {
    recording::native_session(include_str!("../tests/gateway/pppoe.txt"))
}

pub(crate) fn file(table: Table) -> String {
    format!("{table:?}.bin").to_lowercase()
}

/// Returns the kernel's answer to a dump on the lab's gateway (Linux 6.12, x86-64).
pub(crate) fn recorded(table: Table) -> Vec<u8> {
    match table {
        Table::Links => recording::native(include_bytes!("../tests/gateway/links.bin")),
        Table::Vlans => recording::native(include_bytes!("../tests/gateway/vlans.bin")),
        Table::Addresses => recording::native(include_bytes!("../tests/gateway/addresses.bin")),
        Table::Routes => recording::native(include_bytes!("../tests/gateway/routes.bin")),
        Table::Neighbours => recording::native(include_bytes!("../tests/gateway/neighbours.bin")),
        Table::Stations => recording::native(include_bytes!("../tests/gateway/stations.bin")),
        Table::Rules => default_rules(),
        // A default discipline; the gateway had no configured ones.
        Table::Queues => queue(3, 0xffff_ffff, "fq_codel"),
    }
}

/// Returns an event: a message without `NLM_F_MULTI`.
pub(crate) fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
    flagged(kind, 0, payload)
}

pub(crate) fn flagged(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    netlink::message(kind, flags, 0, payload)
}

pub(crate) fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    netlink::push_attribute(&mut bytes, kind, value);
    bytes
}

/// Returns an `RTM_NEWQDISC` message.
pub(crate) fn queue(index: u32, parent: u32, kind: &str) -> Vec<u8> {
    let mut payload = vec![0; 4];
    for word in [index, 0x8001_0000, parent, 2] {
        payload.extend(word.to_ne_bytes());
    }
    payload.extend(attr(1, &[kind.as_bytes(), b"\0"].concat()));
    message(libc::RTM_NEWQDISC, &payload)
}

pub(crate) fn ifinfomsg(family: u8, index: u32) -> Vec<u8> {
    let mut bytes = vec![family, 0, 1, 0];
    bytes.extend(index.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// Returns an event about a bridge port, without its VLANs.
pub(crate) fn bridge_port(index: u32) -> Vec<u8> {
    ifinfomsg(7, index)
}

/// Returns an Ethernet device that is up.
pub(crate) fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.into(),
        kind: LinkKind::Ethernet,
        mac: Some(Mac([2, 0, 0, 0, 0, u8::try_from(index).unwrap()])),
        mtu: 1500,
        mtu6: 1500,
        up: true,
        carrier: true,
        operstate: 6,
        master: None,
        lower: None,
        hardware: libc::ARPHRD_ETHER,
        point_to_point: false,
        checksums: false,
        priorities: VlanPriorities::default(),
    }
}

pub(crate) fn model(changes: impl IntoIterator<Item = Change>) -> Topology {
    let mut model = Topology::new();
    for change in changes {
        model.apply(change);
    }
    model
}

pub(crate) fn kind(index: u32, name: &str, kind: LinkKind) -> Link {
    Link { kind, ..link(index, name) }
}

pub(crate) fn other(index: u32, name: &str, text: &str) -> Link {
    kind(index, name, LinkKind::Other(text.into()))
}

pub(crate) fn bridge(index: u32, name: &str, vlan_filtering: bool) -> Link {
    kind(index, name, LinkKind::Bridge { vlan_filtering })
}

pub(crate) fn vlan(index: u32, name: &str, id: u16, lower: u32) -> Link {
    Link { lower: Some(lower), ..kind(index, name, LinkKind::Vlan { id, service: false }) }
}

pub(crate) fn ppp(index: u32, name: &str) -> Link {
    Link {
        mac: None,
        hardware: libc::ARPHRD_PPP,
        point_to_point: true,
        ..kind(index, name, LinkKind::Ppp)
    }
}

pub(crate) fn port(index: u32, name: &str, master: u32) -> Link {
    Link { master: Some(master), ..link(index, name) }
}

pub(crate) fn address(index: u32, text: &str) -> Change {
    let (address, prefix) = text.split_once('/').unwrap();
    let (address, prefix) = (address.parse().unwrap(), prefix.parse().unwrap());
    Change::Address(Address { index, address, prefix, peer: None })
}

/// Returns a route of the main table to a network such as `10.0.0.0/8`.
pub(crate) fn route(index: u32, text: &str, gateway: Option<&str>) -> Route {
    let (network, prefix) = text.split_once('/').unwrap();
    Route {
        network: network.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
        kind: RouteKind::Unicast,
        table: 254,
        metric: 0,
        index: Some(index),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        source: None,
        several: false,
        mtu: None,
    }
}

pub(crate) fn neighbour(index: u32, address: &str, mac: u8, state: NeighbourState) -> Neighbour {
    let mac = Some(Mac([2, 0, 0, 0, 1, mac]));
    Neighbour { index, address: address.parse().unwrap(), mac, state }
}

pub(crate) fn station(bridge: u32, port: u32, mac: u8, vlan: u16) -> FdbEntry {
    FdbEntry { bridge, port, mac: Mac([2, 0, 0, 0, 1, mac]), vlan, own: false }
}

pub(crate) fn session(id: u16, device: &str) -> PppoeSession {
    PppoeSession { id, peer: Mac([2, 0, 0, 0, 9, 9]), device: device.into() }
}

pub(crate) fn gateway() -> Topology {
    model(Table::ALL.into_iter().flat_map(|table| {
        let bytes = recorded(table);
        let decoded: Vec<Decoded> = messages(&bytes).map(|message| decode(&message)).collect();
        let mut vlans = Vec::new();
        let mut changes = Vec::new();
        for decoded in decoded {
            match decoded {
                Decoded::Change(change) => changes.push(change),
                Decoded::Vlans(ports) => vlans.extend(ports),
                Decoded::Queue(_) | Decoded::Rule(_) | Decoded::Routes | Decoded::Nothing => {}
            }
        }
        if !vlans.is_empty() {
            changes.push(Change::BridgeVlans(vlans));
        }
        if table == Table::Links {
            changes.push(Change::Pppoe(parse_sessions(&pppoe()), Vec::new()));
        }
        changes
    }))
}

/// Returns a routing rule as the kernel lists it, with these `FRA_*` attributes.
pub(crate) fn rule(family: i32, lengths: [u8; 2], attrs: &[(u16, &[u8])]) -> Vec<u8> {
    let [to, from] = lengths;
    let mut payload = vec![u8::try_from(family).unwrap(), to, from, 0, 254, 0, 0, 1];
    payload.extend(0_u32.to_ne_bytes());
    for (kind, value) in attrs {
        payload.extend(attr(*kind, value));
    }
    // Attributes of every rule: `FRA_SUPPRESS_PREFIXLEN` (none), `FRA_PROTOCOL` (kernel).
    payload.extend(attr(14, &u32::MAX.to_ne_bytes()));
    payload.extend(attr(21, &[2]));
    message(libc::RTM_NEWRULE, &payload)
}

pub(crate) fn default_rules() -> Vec<u8> {
    let plain = |family, priority: u32, table: u32| {
        rule(family, [0, 0], &[(6, &priority.to_ne_bytes()), (15, &table.to_ne_bytes())])
    };
    [
        plain(libc::AF_INET, 0, 255),
        plain(libc::AF_INET, 32766, 254),
        plain(libc::AF_INET, 32767, 253),
        plain(libc::AF_INET6, 0, 255),
        plain(libc::AF_INET6, 32766, 254),
    ]
    .concat()
}
