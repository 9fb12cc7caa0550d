// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::fixture::{self, gateway};
use crate::types::NeighbourState::{Invalid, Valid};

fn raises_generation(model: &mut Topology, change: Change) -> bool {
    let before = model.generation();
    let changed = model.apply(change);
    assert_eq!(changed, model.generation() > before, "the result matches the generation");
    changed
}

#[test]
fn a_neighbour_raises_the_generation_only_with_its_mac() {
    let mut model = fixture::model([Change::Link(fixture::link(2, "eth0"))]);
    let of = |mac, state| Change::Neighbour(fixture::neighbour(2, "10.0.0.1", mac, state));
    assert!(!raises_generation(&mut model, of(1, Invalid)), "incomplete");
    assert!(raises_generation(&mut model, of(1, Valid)), "resolved");
    assert!(!raises_generation(&mut model, of(1, Valid)), "REACHABLE and STALE are both valid");
    assert!(raises_generation(&mut model, of(2, Valid)), "another MAC");
    assert!(raises_generation(&mut model, of(2, Invalid)), "failed");
    let gone = || Change::NeighbourGone(2, "10.0.0.1".parse().unwrap());
    assert!(!raises_generation(&mut model, gone()), "already failed");
    assert!(!raises_generation(&mut model, gone()), "already removed");
}

#[test]
fn a_repeated_change_does_not_raise_the_generation() {
    let all = [
        Change::Link(fixture::link(2, "eth0")),
        Change::Link(fixture::bridge(3, "br", true)),
        fixture::address(2, "10.0.0.1/24"),
        Change::Route(fixture::route(2, "10.0.0.0/24", None)),
        Change::Fdb(fixture::station(3, 2, 1, 10)),
        Change::BridgeVlans(vec![BridgeVlan { index: 2, vlans: vec![] }]),
        Change::Pppoe(vec![fixture::session(1, "eth0")], Vec::new()),
        Change::Routes(vec![fixture::route(2, "10.0.0.0/24", None)]),
    ];
    let mut model = fixture::model(all.clone());
    for change in all.clone() {
        assert!(!raises_generation(&mut model, change.clone()), "{change:?}");
    }
    assert!(!raises_generation(&mut model, Change::Full(all.into())));
}

#[test]
fn a_full_read_raises_the_generation_only_if_something_differs() {
    let mut model = gateway();
    let links: Vec<Change> = model.links().cloned().map(Change::Link).collect();
    let routes = Change::Routes(model.routes().cloned().collect());
    let mut all = links.clone();
    all.push(routes);
    all.extend(model.addresses().cloned().map(Change::Address));
    all.extend(model.neighbours().cloned().map(Change::Neighbour));
    all.extend(model.fdb().cloned().map(Change::Fdb));
    let vlans = model.links().map(|link| {
        let vlans = model.port_vlans(link.index).to_vec();
        BridgeVlan { index: link.index, vlans }
    });
    all.push(Change::BridgeVlans(vlans.filter(|port| !port.vlans.is_empty()).collect()));
    all.push(Change::Pppoe(model.sessions().to_vec(), Vec::new()));

    assert!(!raises_generation(&mut model, Change::Full(all)), "a full read of the same objects");
    assert!(raises_generation(&mut model, Change::Full(links)), "a full read of links only");
    assert_eq!(model.routes().count() + model.neighbours().count() + model.fdb().count(), 0);
    assert!(!model.is_local("10.10.10.1".parse().unwrap()));
}

#[test]
fn removing_a_link_removes_its_addresses_routes_and_neighbours() {
    let mut model = gateway();
    let index = model.link_named("br-lan.10").unwrap().index;
    assert!(raises_generation(&mut model, Change::LinkGone(index)));
    assert!(!raises_generation(&mut model, Change::LinkGone(index)));
    assert!(model.link_named("br-lan.10").is_none());
    assert!(model.addresses().all(|address| address.index != index));
    assert!(model.routes().all(|route| route.index != Some(index)));
    assert!(model.neighbours().all(|neighbour| neighbour.index != index));
    assert!(!model.is_local("10.10.10.1".parse().unwrap()));
    let to = model.side("10.10.10.10".parse().unwrap(), None).unwrap();
    assert_eq!(&*to.device, "pppoe-wan", "only the default route remains");
}

#[test]
fn removing_a_port_removes_its_stations() {
    let mut model = gateway();
    let lan1 = model.link_named("lan1").unwrap().index;
    model.apply(Change::LinkGone(lan1));
    assert!(model.fdb().all(|entry| entry.port != lan1));
    assert_eq!(model.side("10.10.10.10".parse().unwrap(), None).unwrap().port, None);
}

#[test]
fn a_renamed_link_is_found_by_its_new_name_only() {
    let mut model = fixture::model([Change::Link(fixture::ppp(5, "ppp0"))]);
    assert!(raises_generation(&mut model, Change::Link(fixture::ppp(5, "pppoe-wan"))));
    assert!(model.link_named("ppp0").is_none());
    assert_eq!(model.link_named("pppoe-wan").unwrap().index, 5);
    // A new link takes the name before the old one is reported as removed.
    model.apply(Change::Link(fixture::ppp(6, "pppoe-wan")));
    model.apply(Change::LinkGone(5));
    assert_eq!(model.link_named("pppoe-wan").unwrap().index, 6);
}

#[test]
fn an_address_of_two_links_is_own_until_both_lose_it() {
    let mut model =
        fixture::model([fixture::address(2, "10.0.0.1/24"), fixture::address(3, "10.0.0.1/32")]);
    let address = "10.0.0.1".parse().unwrap();
    let gone = |index, prefix| Change::AddressGone(Address { index, address, prefix, peer: None });
    assert!(raises_generation(&mut model, gone(2, 24)));
    assert!(model.is_local(address));
    assert!(!raises_generation(&mut model, gone(2, 24)));
    assert!(raises_generation(&mut model, gone(3, 32)));
    assert!(!model.is_local(address));
}

#[test]
fn an_address_with_a_new_peer_replaces_the_old_one() {
    let address = "10.0.0.1".parse().unwrap();
    let with = |peer| Address { index: 2, address, prefix: 32, peer };
    let mut model = fixture::model([Change::Address(with(None))]);
    assert!(raises_generation(
        &mut model,
        Change::Address(with(Some("10.0.0.2".parse().unwrap())))
    ));
    assert_eq!(model.addresses().count(), 1);
}

#[test]
fn a_session_is_matched_again_after_a_reconnect() {
    let mut model = fixture::model([
        Change::Link(fixture::link(2, "wan")),
        Change::Link(fixture::ppp(5, "pppoe-wan")),
        Change::Pppoe(vec![fixture::session(1, "wan")], Vec::new()),
    ]);
    assert_eq!(model.lower(5).map(|link| link.index), Some(2));
    model.apply(Change::LinkGone(5));
    assert!(model.pppoe()[0].device.is_none());
    model.apply(Change::Link(fixture::ppp(7, "pppoe-wan")));
    assert!(raises_generation(
        &mut model,
        Change::Pppoe(vec![fixture::session(2, "wan")], Vec::new())
    ));
    assert_eq!(model.lower(7).map(|link| link.index), Some(2));
    assert_eq!(model.pppoe()[0].device.as_deref(), Some("pppoe-wan"));
}

#[test]
fn recorded_gateway_has_its_bridge_and_session() {
    let model = gateway();
    let bridges = model.bridges();
    let [bridge] = &bridges[..] else { panic!("{bridges:?}") };
    assert!(bridge.vlan_filtering);
    let vlans: Vec<_> = bridge
        .ports
        .iter()
        .map(|port| {
            let vlan = |vlan: &PortVlan| (vlan.vid, vlan.tagged, vlan.pvid);
            (&*port.name, port.vlans.iter().map(vlan).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        vlans,
        [
            ("br-lan", vec![(10, true, false), (20, true, false)]),
            ("lan1", vec![(10, false, true)]),
            ("lan2", vec![(20, true, false)]),
            ("lan3", vec![(10, false, true)]),
        ]
    );
    let sessions = model.pppoe();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!(session.device.as_deref(), Some("pppoe-wan"));
    assert_eq!((&*session.lower, session.session), ("wan.35", 1));
    assert_eq!(session.peer.to_string(), "52:54:00:02:00:04");
}
