// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests flows with routes that are looked up in the kernel.

use config::Network;
use model::NextHop;
use topology::{RouteAnswer, RouteBatch, RouteQuery, RoutingRule, RuleAction, Selectors};

use super::*;
use crate::network;

/// Device indexes of the lab's gateway, and the address of another router, in VLAN 20.
const LAN: u32 = 5;
const GUEST: u32 = 6;
const WAN: u32 = 8;
const ROUTER: &str = "10.10.20.20";

/// Returns the kernel's default routing rules, and a rule for packets from this network.
fn routing_rules(from: Option<&str>) -> topology::Change {
    let plain = |priority, table| RoutingRule {
        ipv6: false,
        priority,
        action: RuleAction::Lookup(table),
        invert: false,
        from: None,
        to: None,
        iif: None,
        oif: None,
        vrf: false,
        selectors: Selectors::default(),
    };
    let network = from.map(|from| Network { address: from.parse().unwrap(), prefix: 24 });
    let made = network.map(|from| RoutingRule { from: Some(from), ..plain(100, 100) });
    let usual = [plain(32766, 254), plain(32767, 253)];
    topology::Change::Rules([plain(0, 255)].into_iter().chain(made).chain(usual).collect())
}

/// Returns a route change in the table of the added rule.
fn other_table() -> topology::Change {
    default_route(100, GUEST, None)
}

fn default_route(table: u32, device: u32, gateway: Option<&str>) -> topology::Change {
    topology::Change::RouteReplaced(topology::Route {
        network: "0.0.0.0".parse().unwrap(),
        prefix: 0,
        kind: topology::RouteKind::Unicast,
        table,
        metric: 0,
        index: Some(device),
        gateway: gateway.map(|text| text.parse().unwrap()),
        source: None,
        several: false,
        mtu: None,
    })
}

/// Returns the neighbour and the bridge entry of the router in VLAN 20, behind lan2.
fn router() -> Vec<topology::Change> {
    let mac = Mac([2, 0, 0, 0, 1, 20]);
    vec![
        topology::Change::Neighbour(Neighbour {
            index: GUEST,
            address: ROUTER.parse().unwrap(),
            mac: Some(mac),
            state: NeighbourState::Valid,
        }),
        topology::Change::Fdb(FdbEntry { bridge: 4, port: 2, mac, vlan: 20, own: false }),
    ]
}

/// Returns an entry without address translation.
fn plain(id: u32) -> Entry {
    let entry = established(id, false);
    Entry { reply: ctnetlink::Tuple { dst: entry.orig.src, ..entry.reply }, ..entry }
}

/// Returns a kernel that routes the host's network to the LAN, and all other packets by this next
/// hop.
fn to(device: u32, gateway: Option<&'static str>) -> impl Fn(&RouteQuery) -> RouteAnswer + Copy {
    move |query| {
        let lan = Network { address: "10.10.10.0".parse().unwrap(), prefix: 24 };
        RouteAnswer::Hop(if lan.contains(query.to) {
            NextHop { device: LAN, gateway: None }
        } else {
            NextHop { device, gateway: gateway.map(|text| text.parse().unwrap()) }
        })
    }
}

fn asked(effects: Vec<AnyEffect>) -> Option<RouteBatch> {
    effects.into_iter().find_map(|effect| match effect {
        AnyEffect::Network(network::Effect::AskRoutes(batch)) => Some(batch),
        _ => None,
    })
}

fn network_event(core: &mut Core, event: network::Event) -> Option<RouteBatch> {
    let effects = core.network_event(event);
    asked(settle(core, effects))
}

fn change(core: &mut Core, changes: Vec<topology::Change>) -> Option<RouteBatch> {
    network_event(core, network::Event::Changed(changes))
}

/// Answers route lookups until none is left. Returns true if the flowtable is renewed.
fn answer(
    core: &mut Core,
    mut batch: Option<RouteBatch>,
    kernel: impl Fn(&RouteQuery) -> RouteAnswer,
) -> bool {
    let mut renewal = false;
    while let Some(questions) = batch {
        let answers = questions.queries.iter().map(|query| (*query, kernel(query))).collect();
        let effects = core.network_event(network::Event::RoutesAnswered(questions, Some(answers)));
        renewal |= renewed(&effects);
        batch = asked(settle(core, effects));
    }
    renewal
}

fn path(core: &mut Core) -> (String, String) {
    let flow = flow(core, 7);
    (flow["path"].as_str().unwrap().to_owned(), flow["reason"].as_str().unwrap().to_owned())
}

fn slow(reason: &str) -> (String, String) {
    ("slow".to_owned(), reason.to_owned())
}

/// Returns device, zone and port of the flow's egress, as the page shows them.
fn out(core: &mut Core) -> [String; 3] {
    let answer = ask(core, "flow", json!({"id": 7}));
    let (shown, port) = (&answer["flow"], &answer["ports"][1]);
    [&shown["out_dev"], &shown["out_zone"], port].map(|value| value.as_str().unwrap().to_owned())
}

/// Returns the index of the egress port of the host's packets in the maps.
fn egress(maps: &Fake) -> Option<u32> {
    maps.with(|inside| {
        inside.flows.iter().find(|(key, _)| from_host(key)).map(|(_, (entry, _))| entry.device)
    })
}

#[test]
fn a_routing_rule_removes_affected_flows_until_the_kernel_has_answered() {
    let (mut core, maps) = running();
    assert_eq!(change(&mut core, vec![routing_rules(None)]), None);
    update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 2);
    assert_eq!(change(&mut core, vec![routing_rules(Some("10.10.77.0"))]), None);
    assert_eq!(offloaded(&maps), 2, "another network");
    let batch = change(&mut core, vec![routing_rules(Some("10.10.10.0"))]);
    assert_eq!(batch.as_ref().map(|batch| batch.queries.len()), Some(1));
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(path(&mut core), slow("pending"));
    answer(&mut core, batch, to(WAN, None));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
    assert_eq!(path(&mut core).0, "ebpf");
    assert_eq!(change(&mut core, vec![routing_rules(None)]), None);
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
}

#[test]
fn a_flow_follows_the_route_that_the_kernel_reports() {
    let (mut core, maps) = running();
    let mut changes = router();
    changes.push(routing_rules(Some("10.10.10.0")));
    change(&mut core, changes);
    update(&mut core, plain(7));
    assert_eq!(path(&mut core), slow("pending"));
    let batch = core.network.ask_routes().and_then(|effect| asked(vec![effect.into()]));
    answer(&mut core, batch, to(GUEST, Some(ROUTER)));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(2)));
    assert_eq!(out(&mut core), ["br-lan.20", "", "lan2"]);

    // The flow stays offloaded until the kernel has answered.
    let batch = change(&mut core, vec![other_table()]);
    assert_eq!((batch.is_some(), offloaded(&maps)), (true, 2));
    answer(&mut core, batch, to(GUEST, Some(ROUTER)));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(2)));
    // The kernel answers with another next hop, and then without a next hop.
    let batch = change(&mut core, vec![other_table()]);
    answer(&mut core, batch, to(WAN, None));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
    let batch = change(&mut core, vec![other_table()]);
    answer(&mut core, batch, |_| RouteAnswer::Other);
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(path(&mut core), slow("policy-routed"));
    // The device of the next hop is removed.
    let batch = change(&mut core, vec![other_table()]);
    answer(&mut core, batch, to(GUEST, Some(ROUTER)));
    assert_eq!(egress(&maps), Some(2));
    change(&mut core, vec![topology::Change::LinkGone(GUEST)]);
    assert_eq!(offloaded(&maps), 0);
}

#[test]
fn a_masqueraded_flow_does_not_follow_the_default_route_to_another_device() {
    let (mut core, maps) = running();
    change(&mut core, router());
    update(&mut core, established(7, false));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
    assert_eq!(change(&mut core, vec![default_route(254, GUEST, Some(ROUTER))]), None);
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(path(&mut core), slow("policy-routed"));
    update(&mut core, established(7, false));
    assert_eq!(offloaded(&maps), 0, "the next packet does not change that");
    change(&mut core, vec![default_route(254, WAN, None)]);
    update(&mut core, established(7, false));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
    assert_eq!(path(&mut core).0, "ebpf");
}

#[test]
fn an_untranslated_flow_follows_the_default_route() {
    let (mut core, maps) = running();
    change(&mut core, router());
    update(&mut core, plain(7));
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(3)));
    change(&mut core, vec![default_route(254, GUEST, Some(ROUTER))]);
    assert_eq!((offloaded(&maps), egress(&maps)), (2, Some(2)));
}

#[test]
fn a_new_flow_does_not_use_a_route_from_before_a_change() {
    let (mut core, maps) = running();
    change(&mut core, router().into_iter().chain([routing_rules(Some("10.10.10.0"))]).collect());
    update(&mut core, plain(7));
    let batch = core.network.ask_routes().and_then(|effect| asked(vec![effect.into()]));
    answer(&mut core, batch, to(WAN, None));
    let batch = change(&mut core, vec![other_table()]);
    let second = plain(8);
    let (orig, reply) = (second.orig, second.reply);
    let second = Entry {
        orig: ctnetlink::Tuple { sport: 40_001, ..orig },
        reply: ctnetlink::Tuple { dport: 40_001, ..reply },
        ..second
    };
    update(&mut core, second);
    assert_eq!(flow(&mut core, 8)["reason"], "pending");
    assert_eq!(offloaded(&maps), 2);
    answer(&mut core, batch, to(GUEST, Some(ROUTER)));
    assert_eq!((offloaded(&maps), egress(&maps)), (4, Some(2)));
}

#[test]
fn failed_route_lookups_are_repeated_after_a_second() {
    let (mut core, maps) = running();
    change(&mut core, vec![routing_rules(Some("10.10.10.0"))]);
    update(&mut core, established(7, false));
    let batch = core.network.ask_routes().and_then(|effect| asked(vec![effect.into()])).unwrap();
    assert_eq!(core.network.ask_routes(), None, "one batch at a time");
    assert_eq!(network_event(&mut core, network::Event::RoutesAnswered(batch, None)), None);
    assert_eq!(path(&mut core), slow("pending"));
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    let batch = asked(effects);
    assert!(batch.is_some());
    answer(&mut core, batch, to(WAN, None));
    assert_eq!(offloaded(&maps), 2);
}

#[test]
fn the_page_shows_the_kernels_egress_with_every_engine() {
    let mut core = crate::fixture::running();
    let mut changes = router();
    changes.push(routing_rules(Some("10.10.10.0")));
    change(&mut core, changes);
    core.entries_changed(&[Event::New(plain(7))]);
    assert_eq!(out(&mut core), ["pppoe-wan", "wan", "wan"]);
    let batch = core.network.ask_routes().and_then(|effect| asked(vec![effect.into()]));
    answer(&mut core, batch, to(GUEST, Some(ROUTER)));
    assert_eq!(out(&mut core), ["br-lan.20", "", "lan2"]);
}

fn renewed(effects: &[AnyEffect]) -> bool {
    let renewal = |effect: &AnyEffect| {
        matches!(effect, AnyEffect::Offload(offload::Effect::Run(Job::Renew(_))))
    };
    effects.iter().any(renewal)
}

#[test]
fn the_flowtable_is_renewed_when_the_kernel_routes_a_flow_differently() {
    let mut core = crate::fixture::running();
    change(&mut core, router());
    let offloaded = Entry { status: established(7, true).status, tcp_state: None, ..plain(7) };
    core.entries_changed(&[Event::New(offloaded)]);
    let batch = change(&mut core, vec![routing_rules(Some("10.10.10.0"))]);
    // A rule change renews the flowtable in any case.
    core.applied(Ok(Applied::Replaced));
    assert!(!answer(&mut core, batch, to(WAN, None)), "the route is unchanged");
    assert!(!renewed(&core.second(&Readings::default())));
    core.now.mono += Duration::from_secs(60);
    let batch = change(&mut core, vec![other_table()]);
    assert!(answer(&mut core, batch, to(GUEST, Some(ROUTER))));
    core.applied(Ok(Applied::Replaced));
    core.now.mono += Duration::from_secs(60);
    let batch = change(&mut core, vec![other_table()]);
    assert!(answer(&mut core, batch, |_| RouteAnswer::Other), "the kernel refuses it");
}
