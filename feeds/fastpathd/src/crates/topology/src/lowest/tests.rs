// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::change::Change;
use crate::fixture::{self, gateway};
use crate::types::{BridgeVlan, Link, PortVlan};

/// Returns the eligible devices, and the reasons of all others.
fn decisions(model: &Topology) -> (Vec<String>, BTreeMap<String, String>) {
    let (eligible, out): (Vec<_>, Vec<_>) =
        model.lowest().into_iter().partition(|lowest| lowest.eligible);
    (
        eligible.into_iter().map(|lowest| lowest.device.to_string()).collect(),
        out.into_iter().map(|lowest| (lowest.device.to_string(), lowest.why.text)).collect(),
    )
}

#[test]
fn recorded_gateway_lists_its_ports() {
    let (eligible, out) = decisions(&gateway());
    assert_eq!(eligible, ["mgmt", "lan1", "lan2", "lan3", "wan"]);
    assert_eq!(
        out.into_iter().collect::<Vec<_>>(),
        [
            ("br-lan", "bridge: its ports are listed instead"),
            ("br-lan.10", "VLAN device: its parent is listed instead"),
            ("br-lan.20", "VLAN device: its parent is listed instead"),
            ("lo", "loopback: not used for forwarding"),
            ("pppoe-wan", "PPP device: its underlying port is listed instead"),
            ("wan.35", "VLAN device: its parent is listed instead"),
        ]
        .map(|(device, why)| (device.to_owned(), why.to_owned()))
    );
}

#[test]
fn recorded_gateway_reports_why_ports_are_listed() {
    let why: BTreeMap<_, _> = gateway()
        .lowest()
        .into_iter()
        .filter(|lowest| lowest.eligible)
        .map(|lowest| (lowest.device.to_string(), lowest.why.text))
        .collect();
    assert_eq!(why["mgmt"], "has its own addresses");
    assert_eq!(why["lan1"], "port of bridge br-lan, carries br-lan.10");
    assert_eq!(why["lan2"], "port of bridge br-lan, carries br-lan.20");
    assert_eq!(why["wan"], "underlying port of pppoe-wan");
}

#[test]
fn ports_of_a_bridge_without_an_address_are_not_listed() {
    let model = fixture::model([
        Change::Link(fixture::bridge(2, "br-iptv", false)),
        Change::Link(fixture::port(3, "lan4", 2)),
        // The kernel adds these to every bridge that is up.
        fixture::address(2, "fe80::1/64"),
        Change::Route(fixture::route(2, "fe80::/64", None)),
        Change::Route(fixture::route(2, "ff00::/8", None)),
    ]);
    let (eligible, out) = decisions(&model);
    assert!(eligible.is_empty(), "{eligible:?}");
    assert_eq!(out["lan4"], "bridge br-iptv has no addressed network on this port");
}

#[test]
fn ports_outside_the_routed_vlans_are_not_listed() {
    let tagged = |vid| PortVlan { vid, tagged: true, pvid: false };
    let port = |index, vid| BridgeVlan { index, vlans: vec![tagged(vid)] };
    let model = fixture::model([
        Change::Link(fixture::bridge(2, "br", true)),
        Change::Link(fixture::port(3, "lan1", 2)),
        Change::Link(fixture::port(4, "lan2", 2)),
        Change::Link(fixture::vlan(5, "br.10", 10, 2)),
        fixture::address(5, "10.0.0.1/24"),
        Change::BridgeVlans(vec![port(2, 10), port(3, 10), port(4, 99)]),
    ]);
    assert_eq!(decisions(&model).0, ["lan1"]);
}

#[test]
fn lists_the_device_below_a_bridged_vlan_device() {
    let model = fixture::model([
        Change::Link(fixture::link(2, "eth0")),
        Change::Link(Link { master: Some(4), ..fixture::vlan(3, "eth0.1", 1, 2) }),
        Change::Link(fixture::bridge(4, "br-lan", false)),
        fixture::address(4, "192.168.1.1/24"),
    ]);
    assert_eq!(decisions(&model).0, ["eth0"]);
}

#[test]
fn lists_the_bond_and_not_its_members() {
    let bond = fixture::other(2, "bond0", "bond");
    let model = fixture::model([
        Change::Link(bond),
        Change::Link(fixture::port(3, "eth0", 2)),
        fixture::address(2, "10.0.0.1/24"),
    ]);
    let (eligible, out) = decisions(&model);
    assert_eq!(eligible, ["bond0"]);
    assert_eq!(out["eth0"], "member of bond0, which is listed instead");
}

#[test]
fn lists_a_bond_below_a_bridge_and_below_pppoe() {
    for kind in ["bond", "team"] {
        let model = fixture::model([
            Change::Link(fixture::bridge(2, "br-lan", false)),
            Change::Link(Link { master: Some(2), ..fixture::other(3, "lag", kind) }),
            Change::Link(fixture::port(4, "lan1", 3)),
            Change::Link(fixture::port(5, "lan2", 3)),
            fixture::address(2, "10.0.0.1/24"),
            Change::Link(fixture::other(6, "uplink", kind)),
            Change::Link(fixture::port(7, "eth0", 6)),
            Change::Link(fixture::vlan(8, "uplink.35", 35, 6)),
            Change::Link(fixture::ppp(9, "ppp0")),
            Change::Pppoe(vec![fixture::session(1, "uplink.35")], Vec::new()),
            fixture::address(9, "198.51.100.1/32"),
        ]);
        let (eligible, out) = decisions(&model);
        assert_eq!(eligible, ["lag", "uplink"], "{kind}");
        assert_eq!(out["lan2"], "member of lag, which is listed instead");
        assert_eq!(out["eth0"], "member of uplink, which is listed instead");
    }
}

#[test]
fn a_member_of_a_bond_is_not_listed_even_with_an_address() {
    let model = fixture::model([
        Change::Link(fixture::other(2, "bond0", "bond")),
        Change::Link(fixture::port(3, "eth0", 2)),
        fixture::address(3, "10.0.0.1/24"),
    ]);
    let (eligible, out) = decisions(&model);
    assert!(eligible.is_empty(), "{eligible:?}");
    assert_eq!(out["eth0"], "no addressed network uses it", "the bond is not listed");
}

#[test]
fn a_vrf_is_not_listed_in_place_of_its_ports() {
    let model = fixture::model([
        Change::Link(fixture::other(2, "blue", "vrf")),
        Change::Link(fixture::port(3, "eth0", 2)),
        Change::Link(fixture::port(4, "eth1", 2)),
        fixture::address(2, "10.0.0.1/32"),
        fixture::address(3, "10.1.0.1/24"),
    ]);
    let (eligible, out) = decisions(&model);
    assert_eq!(eligible, ["eth0"]);
    assert_eq!(out["blue"], "vrf is not an Ethernet port");
    assert_eq!(out["eth1"], "no addressed network uses it");
}

/// Returns a switch with ports `lan1` and `wan`, of which `lan1` is in a bridge.
fn switch(conduit: u32) -> [Change; 5] {
    let port = |index, name| Link { lower: Some(conduit), ..fixture::other(index, name, "dsa") };
    [
        Change::Link(fixture::bridge(12, "br-lan", false)),
        Change::Link(Link { master: Some(12), ..port(10, "lan1") }),
        Change::Link(port(11, "wan")),
        fixture::address(12, "10.0.0.1/24"),
        fixture::address(11, "192.0.2.9/24"),
    ]
}

#[test]
fn lists_the_ports_of_a_switch_and_not_its_conduit() {
    let conduit = [Change::Link(fixture::link(2, "eth0")), fixture::address(2, "10.9.0.1/24")];
    let (eligible, out) = decisions(&fixture::model(switch(2).into_iter().chain(conduit)));
    assert_eq!(eligible, ["lan1", "wan"]);
    assert_eq!(out["eth0"], "conduit of a switch: the switch's ports are listed instead");
}

#[test]
fn neither_a_bond_as_conduit_nor_its_members_are_listed() {
    let conduit = [
        Change::Link(fixture::other(2, "bond0", "bond")),
        Change::Link(fixture::port(3, "eth0", 2)),
    ];
    let (eligible, out) = decisions(&fixture::model(switch(2).into_iter().chain(conduit)));
    assert_eq!(eligible, ["lan1", "wan"]);
    for device in ["bond0", "eth0"] {
        assert_eq!(out[device], "conduit of a switch: the switch's ports are listed instead");
    }
}

#[test]
fn unsupported_tunnels_and_unused_ports_are_not_listed() {
    let tun = Link { hardware: 65534, ..fixture::other(2, "tun0", "tun") };
    let model = fixture::model([
        Change::Link(tun),
        Change::Link(fixture::link(3, "eth3")),
        fixture::address(2, "10.9.0.1/24"),
    ]);
    let (eligible, out) = decisions(&model);
    assert!(eligible.is_empty(), "{eligible:?}");
    assert_eq!(out["tun0"], "tun is not an Ethernet port");
    assert_eq!(out["eth3"], "no addressed network uses it");
}

#[test]
fn routed_tunnels_are_listed() {
    let tunnel = |index, name, kind| {
        Change::Link(Link { hardware: 65534, ..fixture::other(index, name, kind) })
    };
    let model = fixture::model([
        tunnel(2, "wg0", "wireguard"),
        tunnel(3, "tun0", "tun"),
        // The kernel creates this tunnel when its module is loaded.
        tunnel(4, "gre0", "gre"),
        Change::Link(fixture::other(5, "bond0", "bond")),
        fixture::address(2, "10.9.0.1/24"),
        Change::Route(fixture::route(3, "10.8.0.0/16", None)),
        fixture::address(5, "10.0.0.1/24"),
    ]);
    let names = |listed| model.tunnels(listed).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((names(true), names(false)), (vec!["wg0".to_owned()], vec!["tun0".to_owned()]));
    let (eligible, out) = decisions(&model);
    assert_eq!(eligible, ["wg0", "bond0"]);
    assert_eq!(out["gre0"], "gre is not an Ethernet port", "packets are not routed over it");
}

#[test]
fn a_bridged_tunnel_is_not_listed() {
    let tap = Link { master: Some(2), ..fixture::other(3, "gretap1", "gretap") };
    let model = fixture::model([
        Change::Link(fixture::bridge(2, "br-lan", false)),
        Change::Link(tap),
        fixture::address(2, "10.9.0.1/24"),
    ]);
    assert!(decisions(&model).0.is_empty());
}

#[test]
fn a_stack_contains_all_devices_that_its_packets_pass() {
    let stacks = fixture::gateway().stacks();
    let of = |name: &str| {
        let stack = stacks.iter().find(|(top, _)| &***top == name).unwrap().1;
        stack.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of("br-lan.10"), ["br-lan", "br-lan.10", "lan1", "lan3"]);
    assert_eq!(of("pppoe-wan"), ["pppoe-wan", "wan", "wan.35"]);
}

#[test]
fn an_unnumbered_link_with_a_route_is_listed() {
    let model = fixture::model([
        Change::Link(fixture::link(2, "eth0")),
        Change::Route(fixture::route(2, "10.5.0.0/16", None)),
    ]);
    assert_eq!(decisions(&model).0, ["eth0"]);
}

#[test]
fn lists_the_device_that_two_sessions_share() {
    let model = fixture::model([
        Change::Link(fixture::link(2, "wan")),
        Change::Link(fixture::ppp(3, "ppp0")),
        Change::Link(fixture::ppp(4, "ppp1")),
        Change::Pppoe(vec![fixture::session(1, "wan"), fixture::session(2, "wan")], Vec::new()),
        fixture::address(3, "198.51.100.1/32"),
        fixture::address(4, "198.51.100.2/32"),
    ]);
    assert_eq!(decisions(&model).0, ["wan"]);
    assert!(model.pppoe().iter().all(|session| session.device.is_none()));
}

#[test]
fn a_port_below_pppoe_stays_listed_between_sessions() {
    let full = |sessions| {
        Change::Full(vec![
            Change::Link(fixture::link(2, "wan")),
            Change::Link(fixture::vlan(3, "wan.35", 35, 2)),
            Change::Pppoe(sessions, Vec::new()),
        ])
    };
    let mut model = fixture::model([full(vec![])]);
    assert!(decisions(&model).0.is_empty(), "no session yet");
    model.apply(Change::Pppoe(vec![fixture::session(1, "wan.35")], Vec::new()));
    assert_eq!(decisions(&model).0, ["wan"]);
    model.apply(Change::Pppoe(vec![], Vec::new()));
    assert_eq!(decisions(&model).0, ["wan"]);
    model.apply(full(vec![]));
    assert_eq!(decisions(&model).0, ["wan"], "after a full read");
    model.apply(Change::LinkGone(2));
    assert!(decisions(&model).0.is_empty());
}
