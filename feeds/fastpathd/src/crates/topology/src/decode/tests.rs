// SPDX-License-Identifier: GPL-2.0-or-later
use netlink::messages;
use proptest::prelude::*;

use super::*;
use crate::fixture::{self, attr, flagged, ifinfomsg, message};
use crate::table::Table;

fn decoded(bytes: &[u8]) -> Decoded {
    let all: Vec<_> = messages(bytes).collect();
    let [message] = &all[..] else { panic!("{} messages", all.len()) };
    decode(message)
}

fn change(bytes: &[u8]) -> Change {
    match decoded(bytes) {
        Decoded::Change(change) => change,
        other => panic!("{other:?}"),
    }
}

const NEWROUTE: u16 = libc::RTM_NEWROUTE;

fn rtmsg(prefix: u8, kind: u8, flags: u32) -> Vec<u8> {
    let mut bytes = vec![2, prefix, 0, 0, 254, 3, 0, kind];
    bytes.extend(flags.to_ne_bytes());
    bytes
}

fn nexthop(flags: u8, index: i32, gateway: [u8; 4]) -> Vec<u8> {
    let mut bytes = 16_u16.to_ne_bytes().to_vec();
    bytes.extend([flags, 0]);
    bytes.extend(index.to_ne_bytes());
    bytes.extend(attr(libc::RTA_GATEWAY, &gateway));
    bytes
}

fn ndmsg(family: u8, index: i32, state: u16, flags: u8) -> Vec<u8> {
    let mut bytes = vec![family, 0, 0, 0];
    bytes.extend(index.to_ne_bytes());
    bytes.extend(state.to_ne_bytes());
    bytes.extend([flags, 1]);
    bytes
}

#[test]
fn decodes_the_mtu_of_a_route() {
    let payload = |metrics: &[u8]| {
        let parts = [attr(libc::RTA_DST, &[10, 0, 0, 0]), attr(libc::RTA_METRICS, metrics)];
        [rtmsg(8, libc::RTN_UNICAST, 0), parts.concat()].concat()
    };
    let mtu = |metrics: &[u8]| match change(&message(NEWROUTE, &payload(metrics))) {
        Change::Route(route) => route.mtu,
        other => panic!("{other:?}"),
    };
    assert_eq!(mtu(&attr(2, &1400_u32.to_ne_bytes())), Some(1400));
    assert_eq!(mtu(&attr(8, &10_u32.to_ne_bytes())), None, "another metric");
    assert_eq!(mtu(&attr(2, &[0; 4])), None);
}

#[test]
fn decodes_recorded_links() {
    let bytes = fixture::recorded(Table::Links);
    let links: Vec<Link> = messages(&bytes)
        .filter_map(|message| match decode(&message) {
            Decoded::Change(Change::Link(link)) => Some(link),
            _ => None,
        })
        .collect();
    let text = |link: &Link| {
        let lower = link.lower.map(|lower| links.iter().find(|link| link.index == lower).unwrap());
        let lower = lower.map_or("-", |lower| &*lower.name);
        let mac = link.mac.map_or("-".to_owned(), |mac| mac.to_string());
        let p2p = if link.point_to_point { " p2p" } else { "" };
        format!("{} {} {mac} {} {lower}{p2p}", link.name, link.kind, link.mtu)
    };
    assert_eq!(
        links.iter().map(text).collect::<Vec<_>>(),
        [
            "lo loopback 00:00:00:00:00:00 65536 -",
            "mgmt ethernet 52:54:00:01:00:00 1500 -",
            "lan1 ethernet 52:54:00:01:00:01 1500 -",
            "lan2 ethernet 52:54:00:01:00:02 1500 -",
            "lan3 ethernet 52:54:00:01:00:03 1500 -",
            "wan ethernet 52:54:00:01:00:04 1500 -",
            "br-lan bridge 52:54:00:01:00:01 1500 -",
            "wan.35 vlan 52:54:00:01:00:04 1500 wan",
            "br-lan.10 vlan 52:54:00:01:00:01 1500 br-lan",
            "br-lan.20 vlan 52:54:00:01:00:01 1500 br-lan",
            "pppoe-wan ppp - 1492 - p2p",
        ]
    );
    assert!(links.iter().all(|link| link.up && link.carrier));
    assert_eq!(links[6].kind, LinkKind::Bridge { vlan_filtering: true });
    assert_eq!(links[7].kind, LinkKind::Vlan { id: 35, service: false });
    assert_eq!(links[2].master, Some(links[6].index));
}

fn link_with(attrs: &[u8]) -> Link {
    let payload = [&ifinfomsg(0, 3), &attr(libc::IFLA_IFNAME, b"wan\0"), attrs].concat();
    match change(&message(libc::RTM_NEWLINK, &payload)) {
        Change::Link(link) => link,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_driver_determines_the_kind_of_a_link() {
    let info = |kind: &[u8], data: &[u8]| attr(18, &[attr(1, kind), data.to_vec()].concat());
    let vlan = |proto: u16| {
        attr(2, &[attr(1, &35_u16.to_ne_bytes()), attr(5, &proto.to_be_bytes())].concat())
    };
    let service = |service| LinkKind::Vlan { id: 35, service };
    let bridge = |vlan_filtering| LinkKind::Bridge { vlan_filtering };
    for (info, kind) in [
        (info(b"vlan\0", &vlan(0x88a8)), service(true)),
        (info(b"vlan\0", &vlan(0x8100)), service(false)),
        (info(b"vlan\0", &[]), LinkKind::Other("vlan".into())),
        (info(b"bridge\0", &attr(2, &attr(7, &[1]))), bridge(true)),
        (info(b"bridge\0", &attr(2, &attr(7, &[0]))), bridge(false)),
        (info(b"bridge\0", &[]), bridge(false)),
        (info(b"ppp\0", &[]), LinkKind::Ppp),
        (info(b"dummy\0", &vlan(0x8100)), LinkKind::Other("dummy".into())),
        // `IFLA_DSA_CONDUIT`.
        (info(b"dsa\0", &attr(2, &attr(1, &2_u32.to_ne_bytes()))), LinkKind::Other("dsa".into())),
        (info(b"unterminated", &[]), LinkKind::Ethernet),
    ] {
        assert_eq!(link_with(&info).kind, kind);
    }
}

#[test]
fn skips_attributes_that_are_too_short() {
    let cut = link_with(&[1, 4, 5, 10, 16, 33].map(|kind| attr(kind, &[])).concat());
    assert_eq!(cut, link_with(&[]));
    let state = link_with(&[attr(33, &[0]), attr(16, &[6]), attr(4, &[0; 3])].concat());
    assert_eq!((state.carrier, state.operstate, state.mtu), (false, 6, 0));
}

#[test]
fn decodes_a_peer_only_if_it_differs_from_the_address() {
    let header = |family, prefix| [vec![family, prefix, 0, 0], 3_u32.to_ne_bytes().into()].concat();
    let [near, far] = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let of = |header: Vec<u8>, attrs: &[Vec<u8>]| {
        decoded(&message(libc::RTM_NEWADDR, &[header, attrs.concat()].concat()))
    };
    let address = |address: &[u8], prefix, peer| {
        let address = ip(address).unwrap();
        Decoded::Change(Change::Address(Address { index: 3, address, prefix, peer }))
    };
    let both = of(header(2, 32), &[attr(1, &far), attr(2, &near)]);
    assert_eq!(both, address(&near, 32, ip(&far)));
    assert_eq!(of(header(2, 24), &[attr(1, &near), attr(2, &near)]), address(&near, 24, None));
    let v6 = Ipv6Addr::LOCALHOST.octets();
    assert_eq!(of(header(10, 64), &[attr(1, &v6)]), address(&v6, 64, None));
    assert_eq!(of(header(10, 64), &[attr(1, &v6[..9])]), Decoded::Nothing);
    assert_eq!(of(vec![2, 24, 0, 0], &[]), Decoded::Nothing);
}

#[test]
fn decodes_the_ipv6_mtu() {
    let settings: Vec<u8> = [1_u32, 64, 1300, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    let inet6 = attr(26, &attr(10, &attr(2, &settings)));
    for (inet6, expected) in [(inet6, 1300), (Vec::new(), u32::MAX)] {
        assert_eq!(link_with(&inet6).mtu6, expected);
    }
}

fn mapped(egress: &[(u32, u32)], ingress: &[(u32, u32)]) -> VlanPriorities {
    let map = |kind: u16, pairs: &[(u32, u32)]| {
        let pair =
            |(from, to): &(u32, u32)| attr(1, &[from.to_ne_bytes(), to.to_ne_bytes()].concat());
        attr(kind, &pairs.iter().flat_map(pair).collect::<Vec<_>>())
    };
    let data = [attr(1, &35_u16.to_ne_bytes()), map(3, egress), map(4, ingress)].concat();
    let info = [attr(1, b"vlan\0"), attr(2, &data)].concat();
    let link = link_with(&attr(18, &info));
    assert_eq!(link.kind, LinkKind::Vlan { id: 35, service: false });
    link.priorities
}

#[test]
fn decodes_priority_maps_of_forwarded_packets() {
    let egress = |pairs: &[(u32, u32)]| mapped(pairs, &[]).egress;
    assert_eq!(mapped(&[], &[]), VlanPriorities::default());
    assert_eq!(egress(&[(0, 5)]), [5, 0, 0, 0]);
    // Forwarded packets have priority 0, 2 (bulk), 6 (interactive) or 4 (interactive bulk).
    assert_eq!(egress(&[(0, 1), (2, 2), (4, 3), (6, 4)]), [1, 2, 4, 3]);
    assert_eq!(egress(&[(1, 7), (3, 7), (5, 7), (7, 7), (16, 7)]), [0; 4]);
    assert!(mapped(&[], &[(5, 3)]).ingress);
    assert!(!mapped(&[(0, 5)], &[(5, 0)]).ingress);
}

#[test]
fn cake_classifies_by_mark_only_with_a_mask() {
    let by_mark = |kind, options: &[u8]| {
        let mut message = fixture::queue(3, 0xffff_ffff, kind);
        message.extend(fixture::attr(2, options));
        let length = u32::try_from(message.len()).unwrap();
        message[..4].copy_from_slice(&length.to_ne_bytes());
        let Decoded::Queue(queue) = decoded(&message) else { panic!("{kind}") };
        queue.unwrap().by_mark
    };
    let fwmark = |mask: u32| fixture::attr(18, &mask.to_ne_bytes());
    assert!(!by_mark("cake", &[]) && !by_mark("cake", &fwmark(0)));
    assert!(by_mark("cake", &fwmark(0xff)));
    assert!(by_mark("htb", &[]));
}

#[test]
fn decodes_a_vlan_range_from_its_two_ends() {
    const BEGIN: u16 = 1 << 3;
    const END: u16 = 1 << 4;
    let info = |flags: u16, vid: u16| attr(2, &[flags.to_ne_bytes(), vid.to_ne_bytes()].concat());
    let spec = [info(0b110, 1), info(BEGIN, 100), info(END, 103), info(0b100, 4094), info(END, 5)];
    let payload = [ifinfomsg(7, 3), attr(26, &spec.concat())].concat();
    let Decoded::Vlans(Some(port)) = decoded(&message(libc::RTM_NEWLINK, &payload)) else {
        panic!()
    };
    let text: Vec<_> = port.vlans.iter().map(|vlan| (vlan.vid, vlan.tagged, vlan.pvid)).collect();
    assert_eq!(
        text,
        [
            (1, false, true),
            (5, true, false),
            (100, true, false),
            (101, true, false),
            (102, true, false),
            (103, true, false),
            (4094, false, false),
        ]
    );
}

#[test]
fn limits_the_length_of_invalid_vlan_ranges() {
    let info = |flags: u16, vid: u16| attr(2, &[flags.to_ne_bytes(), vid.to_ne_bytes()].concat());
    let spec = [info(8, 0), info(16, 65535)].concat().repeat(50);
    let payload = [ifinfomsg(7, 3), attr(26, &spec)].concat();
    let Decoded::Vlans(Some(port)) = decoded(&message(libc::RTM_NEWLINK, &payload)) else {
        panic!()
    };
    assert!(port.vlans.len() <= 4095, "{}", port.vlans.len());
}

#[test]
fn leaving_a_bridge_does_not_delete_the_link() {
    let payload = fixture::bridge_port(3);
    assert_eq!(decoded(&message(libc::RTM_DELLINK, &payload)), Decoded::Vlans(None));
    assert_eq!(change(&message(libc::RTM_DELLINK, &ifinfomsg(0, 3))), Change::LinkGone(3));
}

#[test]
fn ignores_a_lower_device_in_another_namespace() {
    let link = |extra| link_with(&[attr(libc::IFLA_LINK, &2_u32.to_ne_bytes()), extra].concat());
    assert_eq!(link(Vec::new()).lower, Some(2));
    assert_eq!(link(attr(libc::IFLA_LINK_NETNSID, &0_i32.to_ne_bytes())).lower, None);
    assert_eq!(link(attr(libc::IFLA_LINK, &3_u32.to_ne_bytes())).lower, None, "itself");
}

#[test]
fn decodes_multipath_and_via_next_hops() {
    let hops = [nexthop(1, 7, [192, 0, 2, 7]), nexthop(0, 8, [192, 0, 2, 8])].concat();
    let multipath = [rtmsg(0, 1, 0), attr(libc::RTA_MULTIPATH, &hops)].concat();
    let Change::Route(route) = change(&flagged(NEWROUTE, MULTI, &multipath)) else { panic!() };
    assert_eq!((route.index, route.gateway), (Some(8), ip(&[192, 0, 2, 8])), "the first is dead");
    assert_eq!(decoded(&message(NEWROUTE, &multipath)), Decoded::Routes, "an event may be a part");

    let mut via = 10_u16.to_ne_bytes().to_vec();
    via.extend(Ipv6Addr::LOCALHOST.octets());
    let payload = [
        rtmsg(8, 1, 0),
        attr(libc::RTA_DST, &[10, 0, 0, 0]),
        attr(libc::RTA_OIF, &3_u32.to_ne_bytes()),
        attr(RTA_VIA, &via),
    ]
    .concat();
    let Change::Route(route) = change(&message(NEWROUTE, &payload)) else { panic!() };
    assert_eq!(route, fixture::route(3, "10.0.0.0/8", Some("::1")));
    assert!(matches!(change(&flagged(NEWROUTE, REPLACE, &payload)), Change::RouteReplaced(_)));
    assert!(matches!(change(&message(libc::RTM_DELROUTE, &payload)), Change::RouteGone(_)));
}

#[test]
fn ignores_routes_that_are_not_modelled() {
    let oif = attr(libc::RTA_OIF, &3_u32.to_ne_bytes());
    let route = |header: Vec<u8>| decoded(&message(NEWROUTE, &[header, oif.clone()].concat()));
    assert_eq!(route(rtmsg(0, 1, 1 << 9)), Decoded::Nothing, "a cache entry");
    assert_eq!(route(rtmsg(33, 1, 0)), Decoded::Nothing, "longer than an address");
    assert_eq!(route(rtmsg(0, 99, 0)), Decoded::Nothing, "unknown type");
    let mut tos = rtmsg(0, 1, 0);
    tos[3] = 16;
    assert_eq!(route(tos), Decoded::Nothing, "by type of service");
    let mut other = rtmsg(0, 1, 0);
    other[0] = 28;
    assert_eq!(route(other), Decoded::Nothing, "MPLS");
}

#[test]
fn decodes_neighbours_and_stations() {
    let lladdr = attr(2, &[2, 0, 0, 0, 1, 5]);
    let dst = attr(1, &[10, 0, 0, 5]);
    let of = |state, flags| {
        message(
            libc::RTM_NEWNEIGH,
            &[ndmsg(2, 3, state, flags), dst.clone(), lladdr.clone()].concat(),
        )
    };
    let expected = |state| Change::Neighbour(fixture::neighbour(3, "10.0.0.5", 5, state));
    for valid in [0x02, 0x04, 0x08, 0x10, 0x40, 0x80] {
        assert_eq!(change(&of(valid, 0)), expected(NeighbourState::Valid), "{valid:#x}");
    }
    for invalid in [0x00, 0x01, 0x20] {
        assert_eq!(change(&of(invalid, 0)), expected(NeighbourState::Invalid), "{invalid:#x}");
    }
    assert_eq!(decoded(&of(0x80, 1 << 3)), Decoded::Nothing, "a proxy entry");

    let master = attr(9, &2_u32.to_ne_bytes());
    let vlan = attr(5, &10_u16.to_ne_bytes());
    let station = [ndmsg(7, 3, 2, 0), lladdr.clone(), master, vlan].concat();
    assert_eq!(
        change(&message(libc::RTM_NEWNEIGH, &station)),
        Change::Fdb(fixture::station(2, 3, 5, 10))
    );
    assert_eq!(
        change(&message(libc::RTM_DELNEIGH, &station)),
        Change::FdbGone(fixture::station(2, 3, 5, 10))
    );
    let filter = [ndmsg(7, 3, 0x80, 2), lladdr].concat();
    assert_eq!(
        decoded(&message(libc::RTM_NEWNEIGH, &filter)),
        Decoded::Nothing,
        "belongs to no bridge"
    );
}

#[test]
fn a_wrong_length_ends_the_datagram() {
    let good = message(libc::RTM_DELLINK, &ifinfomsg(0, 3));
    let mut bytes = good.clone();
    bytes.extend(&good);
    assert_eq!(messages(&bytes).count(), 2);
    for length in [0_u32, 15, 33, u32::MAX] {
        bytes[32..36].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(messages(&bytes).count(), 1, "{length}");
    }
    assert_eq!(messages(&good[..31]).count(), 0);
}

fn kinds() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![
        libc::RTM_NEWLINK,
        libc::RTM_DELLINK,
        libc::RTM_NEWADDR,
        libc::RTM_DELADDR,
        NEWROUTE,
        libc::RTM_DELROUTE,
        libc::RTM_NEWNEIGH,
        libc::RTM_DELNEIGH,
        RTM_NEWVLAN,
    ])
}

fn any_attr() -> impl Strategy<Value = (u16, Vec<u8>)> {
    (0..64_u16, prop::collection::vec(any::<u8>(), 0..24))
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes: Vec<u8>) {
        for message in messages(&bytes) {
            decode(&message);
        }
    }

    #[test]
    fn accepts_any_payload(kind in kinds(), flags: u16, payload: Vec<u8>) {
        for message in messages(&flagged(kind, flags, &payload)) {
            decode(&message);
        }
    }

    #[test]
    fn accepts_any_attributes(
        kind in kinds(),
        header in prop::collection::vec(any::<u8>(), 8..=16),
        attrs in prop::collection::vec(any_attr(), 0..8),
        family in prop::sample::select(vec![0_u8, 2, 7, 10]),
    ) {
        let mut payload = header;
        payload[0] = family;
        payload.extend(attrs.iter().flat_map(|(kind, value)| attr(*kind, value)));
        for message in messages(&message(kind, &payload)) {
            decode(&message);
        }
    }

    #[test]
    fn accepts_damaged_recordings(
        table in prop::sample::select(Table::ALL.to_vec()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = fixture::recorded(table);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for message in messages(&bytes) {
            decode(&message);
        }
    }
}
