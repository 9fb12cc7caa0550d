// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::change::Change;
use crate::fixture::{self, gateway};
use crate::types::{BridgeVlan, NeighbourState, PortVlan, Route};

fn side(model: &Topology, address: &str) -> Option<AddressSide> {
    model.side(address.parse().unwrap(), None)
}

fn expect(
    device: &str,
    vlan: u16,
    port: Option<&str>,
    neighbour: bool,
    kind: SideKind,
) -> AddressSide {
    // Names as in netifd.
    let traffic = match device {
        _ if device.contains('.') => Some(TrafficType::Vlan),
        "pppoe-wan" | "l2tp-vpn" => Some(TrafficType::Pppoe),
        _ => None,
    };
    let unseen = traffic == Some(TrafficType::Pppoe) || device.matches('.').count() > 1;
    let port = port.map(Name::from);
    AddressSide { device: device.into(), vlan, port, neighbour, kind, unseen, traffic }
}

#[test]
fn recorded_gateway_finds_the_ports_of_its_hosts() {
    let model = gateway();
    let bridge = SideKind::Bridge;
    assert_eq!(
        side(&model, "10.10.10.10"),
        Some(expect("br-lan.10", 10, Some("lan1"), true, bridge))
    );
    assert_eq!(
        side(&model, "10.10.10.11"),
        Some(expect("br-lan.10", 10, Some("lan3"), true, bridge))
    );
    assert_eq!(
        side(&model, "10.10.20.10"),
        Some(expect("br-lan.20", 20, Some("lan2"), true, bridge))
    );
    assert_eq!(
        side(&model, "2001:db8:20::10"),
        Some(expect("br-lan.20", 20, Some("lan2"), true, bridge))
    );
    // The neighbour is unresolved.
    assert_eq!(side(&model, "10.10.10.99"), Some(expect("br-lan.10", 10, None, false, bridge)));
}

#[test]
fn recorded_gateway_reaches_the_internet_over_pppoe_in_a_vlan() {
    let model = gateway();
    let internet = expect("pppoe-wan", 35, Some("wan"), true, SideKind::Pppoe);
    assert_eq!(side(&model, "192.0.2.1"), Some(internet.clone()));
    assert_eq!(side(&model, "203.0.113.1"), Some(internet.clone()));
    assert_eq!(side(&model, "2001:db8:ffff::1"), Some(internet));
}

#[test]
fn own_and_multicast_addresses_have_no_side() {
    let model = gateway();
    for own in [
        "10.10.10.1",
        "10.10.10.255",
        "198.51.100.10",
        "2001:db8:10::1",
        "2001:db8:ffff::2",
        "127.0.0.53",
        "::1",
        "0.0.0.0",
        "255.255.255.255",
    ] {
        let address = own.parse().unwrap();
        assert!(model.is_local(address), "{own} is local");
        assert_eq!(model.side(address, None), None, "{own} is on no side");
    }
    for foreign in ["10.10.10.10", "203.0.113.1", "192.0.2.1", "2001:db8:10::11"] {
        assert!(!model.is_local(foreign.parse().unwrap()), "{foreign} is not local");
    }
    for multicast in ["224.0.0.251", "ff02::fb"] {
        let address = multicast.parse().unwrap();
        assert!(!model.is_local(address) && model.side(address, None).is_none(), "{multicast}");
    }
}

#[test]
fn finds_the_vlan_device_port_and_router() {
    let model = fixture::model([
        Change::Link(fixture::link(2, "eth0")),
        Change::Link(fixture::vlan(3, "eth0.7", 7, 2)),
        Change::Route(fixture::route(3, "192.0.2.0/24", None)),
        Change::Route(fixture::route(3, "0.0.0.0/0", Some("192.0.2.1"))),
        Change::Neighbour(fixture::neighbour(3, "192.0.2.1", 1, NeighbourState::Valid)),
        Change::Neighbour(fixture::neighbour(3, "192.0.2.9", 9, NeighbourState::Invalid)),
    ]);
    let known = expect("eth0.7", 7, Some("eth0"), true, SideKind::Ethernet);
    assert_eq!(side(&model, "192.0.2.1"), Some(known.clone()));
    assert_eq!(side(&model, "198.51.100.7"), Some(known.clone()), "through the router");
    assert_eq!(side(&model, "192.0.2.9"), Some(AddressSide { neighbour: false, ..known }));
    assert_eq!(side(&model, "2001:db8::1"), None, "no IPv6 route");
}

#[test]
fn an_address_behind_a_refusing_route_has_no_side() {
    let refuse = Route { kind: RouteKind::Refuse, ..fixture::route(2, "10.0.0.0/8", None) };
    let model = fixture::model([
        Change::Link(fixture::link(2, "eth0")),
        Change::Route(fixture::route(2, "0.0.0.0/0", Some("192.0.2.1"))),
        Change::Route(Route { index: None, ..refuse }),
    ]);
    assert_eq!(side(&model, "10.1.1.1"), None);
    assert!(side(&model, "11.1.1.1").is_some());
}

/// Returns a bridge `br` (2) with ports `lan1` (3) and `lan2` (4) and its own address.
fn bridge(filtering: bool) -> Vec<Change> {
    vec![
        Change::Link(fixture::bridge(2, "br", filtering)),
        Change::Link(fixture::port(3, "lan1", 2)),
        Change::Link(fixture::port(4, "lan2", 2)),
        Change::Route(fixture::route(2, "10.0.0.0/24", None)),
        Change::Neighbour(fixture::neighbour(2, "10.0.0.5", 5, NeighbourState::Valid)),
    ]
}

#[test]
fn finds_a_station_on_the_port_it_moved_to() {
    let mut model = fixture::model(bridge(false));
    model.apply(Change::Fdb(fixture::station(2, 4, 5, 0)));
    let on = |port| Some(expect("br", 0, Some(port), true, SideKind::Bridge));
    assert_eq!(side(&model, "10.0.0.5"), on("lan2"));
    assert!(model.apply(Change::Fdb(fixture::station(2, 3, 5, 0))), "the station moved");
    assert_eq!(side(&model, "10.0.0.5"), on("lan1"));
    // The kernel may report the removal of the old entry after the new one.
    assert!(!model.apply(Change::FdbGone(fixture::station(2, 4, 5, 0))));
    assert_eq!(side(&model, "10.0.0.5"), on("lan1"));
    assert!(model.apply(Change::FdbGone(fixture::station(2, 3, 5, 0))));
    assert_eq!(side(&model, "10.0.0.5").unwrap().port, None);
}

#[test]
fn an_addressed_filtering_bridge_uses_its_pvid() {
    let mut model = fixture::model(bridge(true));
    let inner = PortVlan { vid: 1, tagged: false, pvid: true };
    model.apply(Change::BridgeVlans(vec![BridgeVlan { index: 2, vlans: vec![inner] }]));
    model.apply(Change::Fdb(fixture::station(2, 4, 5, 1)));
    // In another VLAN, the same station is on another port.
    model.apply(Change::Fdb(fixture::station(2, 3, 5, 7)));
    assert_eq!(
        side(&model, "10.0.0.5"),
        Some(expect("br", 1, Some("lan2"), true, SideKind::Bridge))
    );
}

#[test]
fn finds_the_bridge_port_of_the_access_concentrator() {
    let mut changes = bridge(false);
    changes.extend([
        Change::Link(fixture::ppp(9, "pppoe-wan")),
        Change::Route(fixture::route(9, "0.0.0.0/0", None)),
        Change::Pppoe(vec![fixture::session(7, "br")], Vec::new()),
    ]);
    let mut station = fixture::station(2, 3, 0, 0);
    station.mac = Mac([2, 0, 0, 0, 9, 9]);
    changes.push(Change::Fdb(station));
    assert_eq!(
        side(&fixture::model(changes), "192.0.2.1"),
        Some(expect("pppoe-wan", 0, Some("lan1"), true, SideKind::Pppoe))
    );
}

#[test]
fn a_ppp_device_without_a_session_is_a_tunnel() {
    let model = fixture::model([
        Change::Link(fixture::ppp(9, "l2tp-vpn")),
        Change::Route(fixture::route(9, "0.0.0.0/0", None)),
    ]);
    assert_eq!(
        side(&model, "192.0.2.1"),
        Some(expect("l2tp-vpn", 0, None, true, SideKind::Tunnel))
    );
}

#[test]
fn tunnels_have_no_port_unless_a_flowtable_lists_them() {
    for kind in ["wireguard", "gretap", "sit", "ip6gre"] {
        let model = fixture::model([
            Change::Link(fixture::other(9, "t0", kind)),
            Change::Route(fixture::route(9, "0.0.0.0/0", None)),
        ]);
        let found = side(&model, "192.0.2.1").unwrap();
        assert_eq!((found.kind, found.port.as_deref()), (SideKind::Tunnel, Some("t0")), "{kind}");
        assert_eq!(found.traffic.map(TrafficType::name), Some(kind));
    }
    for kind in ["tun", "vxlan", "xfrm", "vti"] {
        let model = fixture::model([
            Change::Link(fixture::other(9, "t0", kind)),
            Change::Route(fixture::route(9, "0.0.0.0/0", None)),
        ]);
        let found = side(&model, "192.0.2.1").unwrap();
        assert_eq!((found.kind, found.port), (SideKind::Tunnel, None), "{kind}");
    }
    let checksums = Link { checksums: true, ..fixture::other(9, "t0", "gre") };
    let model = fixture::model([
        Change::Link(checksums),
        Change::Route(fixture::route(9, "0.0.0.0/0", None)),
    ]);
    assert_eq!(side(&model, "192.0.2.1").unwrap().port, None);
}

#[test]
fn the_port_of_a_dsa_device_is_itself() {
    let lan1 = Link { lower: Some(2), ..fixture::other(3, "lan1", "dsa") };
    let model = fixture::model([
        Change::Link(fixture::link(2, "eth0")),
        Change::Link(lan1),
        Change::Route(fixture::route(3, "10.0.0.0/24", None)),
    ]);
    assert_eq!(side(&model, "10.0.0.1").unwrap().port.as_deref(), Some("lan1"));
}

#[test]
fn a_loop_of_vlan_devices_ends_the_walk() {
    let model = fixture::model([
        Change::Link(fixture::vlan(2, "a", 5, 3)),
        Change::Link(fixture::vlan(3, "b", 6, 2)),
        Change::Route(fixture::route(2, "10.0.0.0/24", None)),
    ]);
    let found = side(&model, "10.0.0.1").unwrap();
    assert_eq!((found.vlan, found.port), (5, None));
}
