// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use crate::change::Change;
use crate::fixture::{self, gateway, model};
use crate::types::{BridgeVlan, Link, Neighbour, NeighbourState, PortVlan, Route, VlanPriorities};

fn path(model: &Topology, address: &str) -> Result<LinkPath, PathError> {
    model.link_path(address.parse().unwrap(), None)
}

fn tags(path: &LinkPath) -> Vec<(u16, bool)> {
    path.tags.iter().map(|tag| (tag.vid, tag.service)).collect()
}

#[test]
fn recorded_gateway_has_link_paths_to_its_hosts() {
    let model = gateway();
    let host = path(&model, "10.10.10.10").unwrap();
    assert_eq!((&*host.port_name, tags(&host), host.session), ("lan1", vec![], None));
    assert_eq!(host.mtu, 1500);
    let names: Vec<_> = host.links.iter().map(|at| &*model.link(*at).unwrap().name).collect();
    assert_eq!(names, ["br-lan.10", "br-lan", "lan1"]);
    let device = model.link_named("br-lan.10").unwrap();
    assert_eq!(Some(host.local), device.mac);
    assert_eq!(host.neighbour, Some((device.index, "10.10.10.10".parse().unwrap())));
    let bridge = model.link_named("br-lan").unwrap().index;
    assert_eq!(host.station, Some((bridge, host.next_hop)));
    let tagged = path(&model, "10.10.20.10").unwrap();
    assert_eq!((&*tagged.port_name, tags(&tagged)), ("lan2", vec![(20, false)]));
    assert_eq!(path(&model, "10.10.10.99"), Err(PathError::Neighbour));
    assert_eq!(path(&model, "10.10.10.1"), Err(PathError::Route));
    assert_eq!(path(&model, "224.0.0.1"), Err(PathError::Route));
}

#[test]
fn the_mtu_of_a_route_limits_the_path() {
    let mut model = gateway();
    let device = model.link_named("br-lan.10").unwrap().index;
    for (mtu, expected) in [(Some(1400), 1400), (Some(9000), 1500), (None, 1500)] {
        let route = Route { mtu, ..fixture::route(device, "10.10.10.0/24", None) };
        assert!(model.apply(Change::RouteReplaced(route)));
        assert_eq!(path(&model, "10.10.10.10").unwrap().mtu, expected);
    }
}

#[test]
fn the_ipv6_mtu_limits_only_ipv6_paths() {
    let mut model = gateway();
    let device = model.link_named("br-lan.10").unwrap().clone();
    let host = path(&model, "10.10.10.10").unwrap().next_hop;
    model.apply(Change::Neighbour(Neighbour {
        index: device.index,
        address: "2001:db8:10::10".parse().unwrap(),
        mac: Some(host),
        state: NeighbourState::Valid,
    }));
    for (mtu6, expected) in [(1300, 1300), (9000, 1500)] {
        assert!(model.apply(Change::Link(Link { mtu6, ..device.clone() })));
        assert_eq!(path(&model, "2001:db8:10::10").unwrap().mtu, expected);
        assert_eq!(path(&model, "10.10.10.10").unwrap().mtu, 1500);
    }
}

#[test]
fn recorded_gateway_has_a_link_path_over_its_session() {
    let model = gateway();
    let internet = path(&model, "203.0.113.1").unwrap();
    let session = &model.pppoe()[0];
    assert_eq!(&*internet.port_name, "wan");
    assert_eq!(tags(&internet), [(35, false)]);
    assert_eq!(internet.session, Some(session.session));
    assert_eq!(internet.next_hop, session.peer);
    assert_eq!(Some(internet.local), model.link_named("wan.35").unwrap().mac);
    assert_eq!(internet.mtu, 1492);
    assert_eq!((internet.neighbour, internet.station), (None, None));
}

/// Returns a host behind two stacked VLANs on `eth0` (1).
fn stacked() -> Topology {
    let outer = Link {
        kind: LinkKind::Vlan { id: 35, service: true },
        mtu: 1400,
        ..fixture::vlan(2, "eth0.35", 35, 1)
    };
    model([
        Change::Link(fixture::link(1, "eth0")),
        Change::Link(outer),
        Change::Link(fixture::vlan(3, "eth0.35.7", 7, 2)),
        Change::Route(fixture::route(3, "10.0.0.0/24", None)),
        Change::Neighbour(fixture::neighbour(3, "10.0.0.2", 5, NeighbourState::Valid)),
    ])
}

#[test]
fn the_lowest_vlan_device_adds_the_outer_tag() {
    let path = path(&stacked(), "10.0.0.2").unwrap();
    assert_eq!(tags(&path), [(35, true), (7, false)]);
    assert_eq!((path.port, path.mtu), (1, 1400));
}

#[test]
fn each_tag_has_the_priorities_of_its_vlan_device() {
    let mapped = |link: Link, first, ingress| Link {
        priorities: VlanPriorities { egress: [first, 0, 0, 0], ingress },
        ..link
    };
    for ingress in [false, true] {
        let mut model = stacked();
        model.apply(Change::Link(mapped(fixture::vlan(2, "eth0.35", 35, 1), 5, ingress)));
        model.apply(Change::Link(mapped(fixture::vlan(3, "eth0.35.7", 7, 2), 1, false)));
        let path = path(&model, "10.0.0.2").unwrap();
        let priorities: Vec<_> = path.tags.iter().map(|tag| tag.priorities[0]).collect();
        assert_eq!((priorities, path.classified), (vec![5, 1], ingress));
    }
}

#[test]
fn a_pppoe_session_reduces_the_mtu() {
    let model = model([
        Change::Link(fixture::link(1, "eth0")),
        Change::Link(fixture::ppp(2, "pppoe-wan")),
        Change::Pppoe(vec![fixture::session(7, "eth0")], Vec::new()),
        Change::Route(fixture::route(2, "0.0.0.0/0", None)),
    ]);
    // The ppp device has an MTU of 1500, but eth0 leaves only 1492.
    assert_eq!(path(&model, "203.0.113.1").unwrap().mtu, 1492);
}

#[test]
fn a_ppp_device_with_an_unknown_session_has_no_link_path() {
    let model = model([
        Change::Link(fixture::link(1, "eth0")),
        Change::Link(fixture::ppp(2, "pppoe-a")),
        Change::Link(fixture::ppp(3, "pppoe-b")),
        Change::Pppoe(vec![fixture::session(7, "eth0"), fixture::session(8, "eth0")], Vec::new()),
        Change::Route(fixture::route(2, "0.0.0.0/0", None)),
    ]);
    assert_eq!(path(&model, "203.0.113.1"), Err(PathError::Tunnel));
}

fn bridged(port_vlans: Vec<PortVlan>) -> Topology {
    model([
        Change::Link(fixture::bridge(1, "br", true)),
        Change::Link(fixture::vlan(2, "br.10", 10, 1)),
        Change::Link(fixture::port(3, "lan1", 1)),
        Change::BridgeVlans(vec![BridgeVlan { index: 3, vlans: port_vlans }]),
        Change::Route(fixture::route(2, "10.0.0.0/24", None)),
        Change::Neighbour(fixture::neighbour(2, "10.0.0.2", 5, NeighbourState::Valid)),
        Change::Fdb(fixture::station(1, 3, 5, 10)),
    ])
}

#[test]
fn a_port_with_different_tags_per_direction_has_no_link_path() {
    let vlan = |tagged, pvid| vec![PortVlan { vid: 10, tagged, pvid }];
    let found = |vlans| path(&bridged(vlans), "10.0.0.2").map(|path| tags(&path));
    assert_eq!(found(vlan(true, false)), Ok(vec![(10, false)]));
    assert_eq!(found(vlan(false, true)), Ok(vec![]));
    // Egress is untagged, ingress tagged.
    assert_eq!(found(vlan(false, false)), Err(PathError::Port));
    assert_eq!(found(Vec::new()), Err(PathError::Port));
}

#[test]
fn a_station_missing_from_the_fdb_has_no_link_path() {
    let mut model = bridged(vec![PortVlan { vid: 10, tagged: true, pvid: false }]);
    model.apply(Change::FdbGone(fixture::station(1, 3, 5, 10)));
    assert_eq!(path(&model, "10.0.0.2"), Err(PathError::Port));
}
