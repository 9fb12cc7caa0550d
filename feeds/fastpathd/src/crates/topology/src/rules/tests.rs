// SPDX-License-Identifier: GPL-2.0-or-later

use netlink::messages;

use super::*;
use crate::change::Change;
use crate::decode::{Decoded, decode};
use crate::fixture::{
    address, default_rules, gateway, kind, link, model, other, port, route, rule,
};
use crate::model::Topology;
use crate::types::{LinkKind, Route};

const V4: i32 = libc::AF_INET;
const V6: i32 = libc::AF_INET6;

fn word(word: u32) -> [u8; 4] {
    word.to_ne_bytes()
}

fn rules(more: &[Vec<u8>]) -> Change {
    let bytes = [default_rules(), more.concat()].concat();
    let mut all: Vec<RoutingRule> = messages(&bytes)
        .filter_map(|message| match decode(&message) {
            Decoded::Rule(rule) => rule,
            _ => None,
        })
        .collect();
    all.sort_by_key(|rule| (rule.ipv6, rule.priority));
    Change::Rules(all)
}

/// Returns a dual-stack LAN, with the Internet behind `wan`.
fn network(change: Change) -> Topology {
    model([
        Change::Link(link(2, "br-lan")),
        Change::Link(link(3, "wan")),
        address(2, "10.10.10.1/24"),
        Change::Route(route(2, "10.10.10.0/24", None)),
        Change::Route(route(3, "0.0.0.0/0", Some("198.51.100.1"))),
        Change::Route(route(2, "2001:db8:10::/64", None)),
        Change::Route(route(3, "::/0", Some("fe80::1"))),
        change,
    ])
}

/// Returns whether a flow from the LAN to the Internet is policy-routed, for IPv4 and IPv6.
fn policy_routed(network: &Topology) -> [bool; 2] {
    [("10.10.10.10", "203.0.113.1"), ("2001:db8:10::10", "2001:db8:ff::1")].map(|(one, other)| {
        let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
        let there = network.is_policy_routed(one, other);
        assert_eq!(there, network.is_policy_routed(other, one), "the same both ways");
        there
    })
}

fn with(family: i32, lengths: [u8; 2], attrs: &[(u16, &[u8])]) -> [bool; 2] {
    policy_routed(&network(rules(&[rule(family, lengths, attrs)])))
}

#[test]
fn the_default_rules_route_by_destination() {
    let network = network(rules(&[]));
    assert_eq!(policy_routed(&network), [false; 2]);
    assert_eq!(network.policies(), Vec::<String>::new());
}

#[test]
fn a_kernel_without_rules_routes_by_destination() {
    assert_eq!(policy_routed(&network(Change::Rules(Vec::new()))), [false; 2]);
}

#[test]
fn rules_divert_flows_with_matching_addresses() {
    let (priority, table) = ((6, &word(100)[..]), (15, &word(100)[..]));
    let from = |network: [u8; 4]| with(V4, [0, 24], &[(2, &network), priority, table]);
    let to = |network: [u8; 4]| with(V4, [24, 0], &[(1, &network), priority, table]);
    assert_eq!(from([10, 10, 10, 0]), [true, false]);
    assert_eq!(from([203, 0, 113, 0]), [true, false], "the reverse path");
    assert_eq!(from([10, 10, 20, 0]), [false, false]);
    assert_eq!(to([203, 0, 113, 0]), [true, false]);
    assert_eq!(to([192, 0, 2, 0]), [false, false]);
    let v6: [u8; 16] = "2001:db8:10::".parse::<Ipv6Addr>().unwrap().octets();
    assert_eq!(with(V6, [0, 48], &[(2, &v6), priority, table]), [false, true]);
    assert_eq!(with(V4, [0, 0], &[priority, table]), [true, false]);
}

#[test]
fn rules_divert_flows_of_matching_devices() {
    let (priority, table) = ((6, &word(100)[..]), (15, &word(100)[..]));
    let iif = |name: &[u8]| with(V4, [0, 0], &[(3, name), priority, table])[0];
    assert!(iif(b"br-lan\0"));
    assert!(iif(b"wan\0"), "the reverse path");
    assert!(!iif(b"eth7\0"));
    assert!(!iif(b"lo\0"), "local packets only");
    assert_eq!(with(V4, [0, 0], &[(17, b"wan\0"), priority, table]), [false; 2]);
}

#[test]
fn a_device_rule_may_match_packets_of_an_unknown_device() {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let packet = Packet { from: address, to: address, iif: None };
    for (name, may) in [(&b"eth7\0"[..], true), (b"lo\0", false)] {
        let mut rule = [0; 12].to_vec();
        rule[0] = u8::try_from(libc::AF_INET).unwrap();
        netlink::push_attribute(&mut rule, 3, name);
        let rule = RoutingRule::decode(&rule).expect("a rule");
        assert_eq!(rule.may_match(&packet), may, "{rule:?}");
    }
}

#[test]
fn rules_with_marks_or_unknown_conditions_may_match() {
    let (priority, table) = ((6, &word(100)[..]), (15, &word(100)[..]));
    for (kind, value) in [(10, &word(1)[..]), (16, &word(0xff)), (22, &[6]), (99, &[0])] {
        assert_eq!(with(V4, [0, 0], &[(kind, value), priority, table]), [true, false], "{kind}");
    }
    // WireGuard's rule: the routes of main without the default route, at a higher priority.
    let main = (15, &word(254)[..]);
    assert_eq!(with(V4, [0, 0], &[(14, &word(0)), priority, main]), [true, false]);
    let mut inverted = rule(V4, [0, 24], &[(2, &[192, 0, 2, 0]), priority, table]);
    inverted[16 + 8..][..4].copy_from_slice(&word(2));
    assert_eq!(policy_routed(&network(rules(&[inverted]))), [true, false]);
}

#[test]
fn rules_after_the_default_tables_divert_only_flows_without_a_route() {
    // netifd adds one such rule per device, which refuses packets without a route.
    let mut refusal = rule(V6, [0, 0], &[(3, b"br-lan\0"), (6, &word(4_200_000_002))]);
    refusal[16 + 7] = 7;
    let network = network(rules(std::slice::from_ref(&refusal)));
    assert_eq!(policy_routed(&network), [false; 2]);
    assert_eq!(network.policies(), Vec::<String>::new());
    let behind = rule(V4, [0, 0], &[(6, &word(40_000)), (15, &word(100))]);
    assert_eq!(policy_routed(&self::network(rules(std::slice::from_ref(&behind)))), [false; 2]);
    let lan = model([Change::Link(link(2, "br-lan")), rules(&[behind, refusal])]);
    assert_eq!(policy_routed(&lan), [true, false], "no other table has a route");
}

#[test]
fn a_missing_default_rule_is_policy_routing() {
    let bytes = default_rules();
    let mut all: Vec<RoutingRule> =
        messages(&bytes).filter_map(|m| RoutingRule::decode(m.payload)).collect();
    all.retain(|rule| rule.priority != 32766 || rule.ipv6);
    assert_eq!(policy_routed(&network(Change::Rules(all))), [true, false], "main is not consulted");
}

#[test]
fn a_vrf_makes_all_flows_policy_routed() {
    let vrf = |slave: Option<u32>| {
        let lan3 = crate::types::Link { master: slave, ..link(7, "lan3") };
        let l3mdev = rule(V4, [0, 0], &[(6, &word(1000)), (15, &word(0)), (19, &[1])]);
        let mut network = network(rules(&[l3mdev]));
        network.apply(Change::Link(other(6, "blue", "vrf")));
        network.apply(Change::Link(lan3));
        network
    };
    assert_eq!(policy_routed(&vrf(None)), [false; 2]);
    assert_eq!(policy_routed(&vrf(Some(6))), [true; 2]);
    assert_eq!(
        vrf(Some(6)).policies(),
        ["vrf blue", "1000: from all lookup [l3mdev-table]"].map(str::to_owned)
    );
    let mut removed = vrf(Some(6));
    removed.apply(Change::LinkGone(6));
    assert_eq!(policy_routed(&removed), [false; 2], "the VRF was removed");
    let bridged = model([
        Change::Link(kind(6, "br-lan", LinkKind::Bridge { vlan_filtering: false })),
        Change::Link(port(7, "lan3", 6)),
    ]);
    assert_eq!(policy_routed(&bridged), [false; 2]);
}

#[test]
fn rules_added_by_the_user_are_reported_as_text() {
    let network = network(rules(&[
        rule(V4, [0, 24], &[(2, &[10, 10, 10, 0]), (6, &word(100)), (15, &word(100))]),
        rule(V4, [0, 0], &[(3, b"lan9\0"), (10, &word(1)), (6, &word(7)), (15, &word(1234))]),
        rule(V4, [0, 0], &[(3, b"lo\0"), (6, &word(8)), (15, &word(9))]),
    ]));
    assert_eq!(
        network.policies(),
        ["7: from all iif lan9 … lookup 1234", "100: from 10.10.10.0/24 lookup 100"]
    );
}

#[test]
fn source_routes_with_the_same_next_hop_count_as_one() {
    let source = |text: &str, gateway, metric| {
        let source = text.parse().unwrap();
        let plain = route(3, "::/0", Some(gateway));
        Change::Route(Route { source: Some(source), metric, ..plain })
    };
    let routed = |more: &[Change]| {
        let mut network = network(rules(&[]));
        network.apply(Change::RouteGone(route(3, "::/0", Some("fe80::1"))));
        for change in more {
            network.apply(change.clone());
        }
        policy_routed(&network)[1]
    };
    let own = source("2001:db8:10::/48", "fe80::1", 512);
    let wan = source("2001:db8:99::7/128", "fe80::1", 384);
    let second = source("2001:db8:77::/48", "fe80::2", 600);
    assert!(!routed(&[own.clone(), wan.clone()]));
    assert!(routed(&[wan]), "for other sources only");
    assert!(routed(&[own, second]), "over two uplinks");
}

#[test]
fn a_multipath_route_is_policy_routing() {
    let mut network = network(rules(&[]));
    let one = route(3, "0.0.0.0/0", Some("198.51.100.1"));
    network.apply(Change::RouteReplaced(Route { several: true, ..one }));
    assert_eq!(policy_routed(&network), [true, false]);
}

#[test]
fn recorded_gateway_routes_by_destination() {
    assert!(gateway().policies().is_empty());
}

#[test]
fn ignores_rules_of_multicast_routing() {
    let ipmr = rule(128, [0, 0], &[(6, &word(1)), (15, &word(9))]);
    assert_eq!(messages(&ipmr).next().map(|message| decode(&message)), Some(Decoded::Rule(None)));
}
