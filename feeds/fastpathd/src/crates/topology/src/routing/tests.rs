// SPDX-License-Identifier: GPL-2.0-or-later

use ctnetlink::Tuple;
use netlink::messages;

use super::*;
use crate::change::Change;
use crate::decode::{Decoded, decode};
use crate::fixture::{address, default_rules, kind, link, model, other, route, rule};
use crate::rules::RoutingRule;
use crate::types::LinkKind;

const LAN: u32 = 2;
const WAN1: u32 = 3;
const WAN2: u32 = 4;

fn word(word: u32) -> [u8; 4] {
    word.to_ne_bytes()
}

/// Returns a LAN and two WANs, with the default rules and one more.
fn network(attrs: &[(u16, &[u8])]) -> Topology {
    let hundred = word(100);
    let all = [(6, &hundred[..]), (15, &hundred)].into_iter().chain(attrs.iter().copied());
    ruled(&rule(libc::AF_INET, [0, 0], &all.collect::<Vec<_>>()))
}

fn ruled(custom: &[u8]) -> Topology {
    let bytes = [&default_rules(), custom].concat();
    let mut rules: Vec<RoutingRule> = messages(&bytes)
        .filter_map(|message| match decode(&message) {
            Decoded::Rule(rule) => rule,
            _ => None,
        })
        .collect();
    rules.sort_by_key(|rule| (rule.ipv6, rule.priority));
    model([
        Change::Link(link(LAN, "lan")),
        Change::Link(link(WAN1, "wan1")),
        Change::Link(link(WAN2, "wan2")),
        address(LAN, "10.10.10.1/24"),
        address(WAN1, "192.0.2.10/24"),
        address(WAN2, "198.51.100.10/24"),
        Change::Route(route(LAN, "10.10.10.0/24", None)),
        Change::Route(route(WAN1, "0.0.0.0/0", Some("192.0.2.1"))),
        Change::Rules(rules),
    ])
}

/// Returns a connection from the LAN to a web server, translated to the source `seen`.
fn web(seen: &str) -> Connection {
    let (src, dst) = ("10.10.10.2".parse().unwrap(), "203.0.113.1".parse().unwrap());
    let orig = Tuple { src, dst, proto: 6, sport: 40_000, dport: 443 };
    let reply = Tuple { src: dst, dst: seen.parse().unwrap(), proto: 6, sport: 443, dport: 40_000 };
    Connection { id: 1, zone: 0, orig, reply }
}

fn plain() -> Connection {
    web("10.10.10.2")
}

fn inward() -> Connection {
    let Connection { orig, reply, .. } = plain();
    Connection { id: 2, zone: 0, orig: reply, reply: orig }
}

fn hop(device: u32) -> NextHop {
    NextHop { device, gateway: None }
}

/// Returns the routing after the kernel's answers, and the number of queries.
fn routing(
    network: &mut Topology,
    connection: &Connection,
    mark: u32,
    kernel: impl Fn(&RouteQuery) -> Option<u32>,
) -> (Routing, usize) {
    let mut count = 0;
    loop {
        let routing = network.routing(connection, mark);
        let Some(batch) = network.route_questions() else { return (routing, count) };
        assert_eq!(routing, Routing::Asked);
        count += batch.queries.len();
        let answer = |query: &RouteQuery| {
            kernel(query).map_or(RouteAnswer::Other, |device| RouteAnswer::Hop(hop(device)))
        };
        let answers: Vec<_> = batch.queries.iter().map(|query| (*query, answer(query))).collect();
        network.routes_answered(&batch, &answers);
    }
}

/// Kernel that routes to the LAN's host through the LAN, and all other packets through `device`.
fn by(device: u32) -> impl Fn(&RouteQuery) -> Option<u32> {
    move |query| Some(if query.to == plain().orig.src { LAN } else { device })
}

fn known(to_initiator: u32, to_responder: u32) -> Routing {
    Routing::Kernel { hops: [hop(to_initiator), hop(to_responder)], current: true }
}

#[test]
fn each_direction_is_queried_with_the_other_ends_device() {
    let mut network = network(&[]);
    assert_eq!(routing(&mut network, &plain(), 0, by(WAN2)), (known(LAN, WAN2), 2));
    assert_eq!(routing(&mut network, &plain(), 0, by(WAN2)), (known(LAN, WAN2), 0), "cached");
    let only = |query: &RouteQuery| match query.iif {
        LAN => Some(WAN2),
        WAN2 => Some(LAN),
        _ => None,
    };
    let mut network = self::network(&[]);
    assert_eq!(routing(&mut network, &plain(), 0, only).0, known(LAN, WAN2));
}

#[test]
fn routing_is_unknown_if_replies_leave_through_another_device() {
    // The first attempt expects the initiator on the first WAN, but replies use the second.
    let (found, questions) = routing(&mut network(&[]), &inward(), 0, by(WAN2));
    assert_eq!((found, questions), (known(WAN2, LAN), 3));
    // Replies leave through the second WAN, regardless of the ingress device.
    let crossed = |query: &RouteQuery| match (query.to == plain().orig.src, query.iif) {
        (true, _) => Some(LAN),
        (false, LAN) => Some(WAN2),
        (false, _) => None,
    };
    assert_eq!(routing(&mut network(&[]), &inward(), 0, crossed).0, known(WAN2, LAN));
    let never = |query: &RouteQuery| match (query.to == plain().orig.src, query.iif) {
        (true, WAN1) => Some(LAN),
        (false, LAN) => Some(WAN2),
        (true | false, _) => Some(WAN1),
    };
    assert_eq!(routing(&mut network(&[]), &inward(), 0, never).0, Routing::Unknown);
    assert_eq!(routing(&mut network(&[]), &plain(), 0, |_| None).0, Routing::Unknown);
}

/// Kernel that routes marked packets through the second WAN, all others through the first.
fn marked(query: &RouteQuery) -> Option<u32> {
    by(if query.mark == 0x200 { WAN2 } else { WAN1 })(query)
}

#[test]
fn the_translated_source_address_proves_the_mark() {
    let mark = [(10, &word(0x200)[..]), (16, &word(0x3f00))];
    for (seen, mark_of_connection, found) in [
        ("198.51.100.10", 0x3000_0200, known(LAN, WAN2)),
        ("192.0.2.10", 0, known(LAN, WAN1)),
        ("198.51.100.10", 0, Routing::Unknown),
        ("192.0.2.10", 0x200, Routing::Unknown),
        // Not translated, or translated to an address of no device.
        ("10.10.10.2", 0x200, Routing::Unknown),
        ("198.51.100.77", 0x200, Routing::Unknown),
    ] {
        let asked = routing(&mut network(&mark), &web(seen), mark_of_connection, marked);
        assert_eq!(asked.0, found, "{seen} {mark_of_connection:x}");
    }
    let same = routing(&mut network(&mark), &plain(), 0, by(WAN2));
    assert_eq!(same, (known(LAN, WAN2), 4), "the same for all marks");
    // Two next hops on the device are ambiguous.
    let mut network = network(&mark);
    let Routing::Asked = network.routing(&web("198.51.100.10"), 0x200) else { panic!() };
    let batch = network.route_questions().unwrap();
    let gateway = |query: &RouteQuery| {
        Some(if query.mark == 0 { "198.51.100.1" } else { "198.51.100.2" }.parse().unwrap())
    };
    let answer = |query: &RouteQuery| NextHop { device: WAN2, gateway: gateway(query) };
    let answers: Vec<_> =
        batch.queries.iter().map(|query| (*query, RouteAnswer::Hop(answer(query)))).collect();
    network.routes_answered(&batch, &answers);
    assert_eq!(network.routing(&web("198.51.100.10"), 0x200), Routing::Unknown);
}

#[test]
fn a_source_address_of_another_device_makes_routing_unknown() {
    let masqueraded = web("192.0.2.10");
    assert_eq!(routing(&mut network(&[]), &masqueraded, 0, by(WAN1)).0, known(LAN, WAN1));
    assert_eq!(routing(&mut network(&[]), &masqueraded, 0, by(WAN2)).0, Routing::Unknown);
}

#[test]
fn without_rules_a_source_address_of_another_device_makes_routing_unknown() {
    let mut network = ruled(&[]);
    let masqueraded = web("192.0.2.10");
    assert_eq!(network.routing(&masqueraded, 0), Routing::Destination);
    assert_eq!(network.routing(&web("198.51.100.10"), 0), Routing::Unknown);
    let default = |wan, gateway| Change::RouteReplaced(route(wan, "0.0.0.0/0", Some(gateway)));
    network.apply(default(WAN2, "198.51.100.1"));
    assert_eq!(network.routing(&masqueraded, 0), Routing::Unknown);
    assert_eq!(network.routing(&web("198.51.100.10"), 0), Routing::Destination);
    assert_eq!(network.routing(&plain(), 0), Routing::Destination, "not translated");
    assert_eq!(network.routing(&inward(), 0), Routing::Destination, "not translated");
    network.apply(address(WAN2, "192.0.2.10/32"));
    assert_eq!(network.routing(&masqueraded, 0), Routing::Destination);
    network.apply(Change::LinkGone(WAN2));
    network.apply(Change::Link(link(WAN2, "wan2")));
    network.apply(default(WAN2, "198.51.100.1"));
    assert_eq!(network.routing(&masqueraded, 0), Routing::Unknown);
    // Two devices have the address, and neither is the egress.
    network.apply(address(LAN, "192.0.2.10/32"));
    assert_eq!(network.routing(&masqueraded, 0), Routing::Unknown);
    assert_eq!(network.route_questions(), None);
}

#[test]
fn source_addresses_of_no_port_may_use_any_egress() {
    let mut network = ruled(&[]);
    assert_eq!(
        network.routing(&web("203.0.113.77"), 0),
        Routing::Destination,
        "an address of no device"
    );
    for (index, link) in [(8, kind(8, "lo", LinkKind::Loopback)), (9, other(9, "public", "dummy"))]
    {
        let own = format!("203.0.113.{index}");
        network.apply(Change::Link(link));
        network.apply(address(index, &format!("{own}/32")));
        assert_eq!(network.routing(&web(&own), 0), Routing::Destination, "{own}");
    }
}

#[test]
fn the_kernel_is_not_asked_about_unknown_conditions() {
    // `FRA_DSCP` and `FRA_UID_RANGE`.
    for condition in [(25, &[8][..]), (20, &[0; 8])] {
        let asked = routing(&mut network(&[condition]), &plain(), 0, by(WAN2));
        assert_eq!(asked, (Routing::Unknown, 0), "{condition:?}");
    }
    let mut own = plain();
    own.reply.src = "10.10.10.1".parse().unwrap();
    assert_eq!(routing(&mut network(&[]), &own, 0, by(WAN2)), (Routing::Unknown, 0));
    let ports = [(24, &[0, 80, 0, 80][..])];
    let mut icmp = plain();
    icmp.orig.proto = 1;
    assert_eq!(routing(&mut network(&ports), &icmp, 0, by(WAN2)), (Routing::Unknown, 0));
    assert_eq!(routing(&mut network(&ports), &plain(), 0, by(WAN2)).0, known(LAN, WAN2));
}

fn with_vrf() -> Topology {
    let mut network = network(&[]);
    network.apply(Change::Link(other(8, "blue", "vrf")));
    for (index, name, own) in [(9, "lan9", "10.10.90.1/24"), (10, "out9", "10.10.91.1/24")] {
        let link = crate::types::Link { master: Some(8), ..link(index, name) };
        network.apply(Change::Link(link));
        network.apply(address(index, own));
    }
    network
}

/// Kernel that routes packets of the VRF's devices within the VRF.
fn by_vrf(query: &RouteQuery) -> Option<u32> {
    let to_host = query.to == "10.10.90.2".parse::<IpAddr>().unwrap();
    match query.iif {
        9 | 10 if to_host => Some(9),
        9 | 10 => Some(10),
        _ => by(WAN2)(query),
    }
}

#[test]
fn routing_with_a_vrf_is_uncertain() {
    let of_vrf = |to_initiator, to_responder| Routing::Vrf {
        hops: [hop(to_initiator), hop(to_responder)],
        current: true,
    };
    let mut connection = plain();
    connection.orig.src = "10.10.90.2".parse().unwrap();
    connection.reply.dst = connection.orig.src;
    assert_eq!(routing(&mut with_vrf(), &connection, 0, by_vrf), (of_vrf(9, 10), 2));
    let Connection { orig, reply, .. } = connection;
    let inward = Connection { orig: reply, reply: orig, ..connection };
    assert_eq!(routing(&mut with_vrf(), &inward, 0, by_vrf).0, of_vrf(10, 9));
    // Flows of other devices are uncertain, too: addresses do not show the VRF.
    assert_eq!(routing(&mut with_vrf(), &plain(), 0, by_vrf), (of_vrf(LAN, WAN2), 2));
    assert!(of_vrf(LAN, WAN2).is_uncertain() && !known(LAN, WAN2).is_uncertain());
    // The address is in two networks.
    let mut twice = with_vrf();
    twice.apply(address(LAN, "10.10.90.1/24"));
    assert_ne!(routing(&mut twice, &connection, 0, by_vrf).0, of_vrf(9, 10));
}
