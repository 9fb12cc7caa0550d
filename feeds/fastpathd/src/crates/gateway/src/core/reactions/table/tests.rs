// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use ctnetlink::{Revision, Touch};
use model::Engine;
use ruleset::{Applied, Plan};
use serde_json::{Map, json};

use super::*;
use crate::conntrack;
use crate::core::calls::{Outcome, call};
use crate::fixture::{
    ask, configuration, core, established, lab_dump, lab_firewall, lab_network, running,
};
use crate::offload;
use crate::offload::flowtable::{Job, JobFailure, TableState};
use crate::sys::kernel::Readings;

mod links;

#[test]
fn the_plan_waits_for_configuration_and_network() {
    let mut core = core();
    assert!(core.network_changed(lab_network()).is_empty(), "no configuration yet");
    let effects = core.configuration_read(&configuration("flowtable"));
    let [
        AnyEffect::Rules(_),
        AnyEffect::Offload(offload::Effect::Attach(programs)),
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, in_force: None })),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(programs.devices.is_empty(), "programs of a previous daemon are detached");
    let devices: Vec<&str> = plan.devices.iter().map(String::as_str).collect();
    assert_eq!(devices, ["lan1", "lan2", "wan"]);
}

#[test]
fn a_flush_renews_the_table_in_force() {
    let mut core = running();
    let flushed = call(&mut core, "flush", Map::new());
    let Outcome::Reply(Ok(answer), effects) = flushed else { panic!("{flushed:?}") };
    assert_eq!(answer.decode().unwrap()["flushed"], true);
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Renew(_)))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    core.command(Engine::Off);
    core.applied(Ok(Applied::Removed));
    let flushed = call(&mut core, "flush", Map::new());
    let Outcome::Reply(Ok(answer), effects) = flushed else { panic!("{flushed:?}") };
    assert_eq!(answer.decode().unwrap()["flushed"], false);
    assert!(effects.is_empty(), "no engine is in force");
}

#[test]
fn a_refused_engine_leaves_the_old_one_in_force_and_reports_why() {
    let mut core = running();
    core.command(Engine::FlowtableHw);
    core.applied(Err(JobFailure {
        is_verdict: true,
        left: TableState::Unchanged,
        why: "lan1 cannot offload\n\tflowtable ft {\n\t^^".into(),
    }));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!(engine["wanted"], "flowtable-hw");
    assert_eq!(engine["active"], "flowtable");
    assert_eq!(engine["why"], "lan1 cannot offload");
    assert_eq!(ask(&mut core, "status", json!({}))["health"][0]["code"], "flowtable-differs");
}

#[test]
fn a_vanished_device_is_removed_from_the_plan() {
    let mut core = running();
    let lan2 = core.network.topology().link_named("lan2").unwrap().index;
    let effects = core.network_changed(vec![topology::Change::LinkGone(lan2)]);
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(!plan.devices.contains("lan2"));
    assert_eq!(plan.devices.len(), 2);
}

#[test]
fn a_network_change_without_other_rules_runs_no_job() {
    let mut core = running();
    let wan = core.network.topology().link_named("wan").unwrap().clone();
    assert_eq!(
        core.network_changed(vec![topology::Change::Link(topology::Link { mtu: 1508, ..wan })]),
        []
    );
    let index = core.network.topology().links().map(|l| l.index).max().unwrap() + 1;
    let lan = core.network.topology().link_named("lan1").unwrap().clone();
    let dummy = topology::Link { index, name: "dummy0".into(), master: None, ..lan };
    assert_eq!(core.network_changed(vec![topology::Change::Link(dummy)]), []);
    assert!(core.offload.planned().unwrap().decisions.contains_key("dummy0"));
}

#[test]
fn a_removed_table_is_restored_without_verifying_it_first() {
    let mut core = running();
    let others = Revision { others: true, elements: true, ..Revision::default() };
    core.rules_changed(others);
    rules_are_known(&mut core);
    let effects = core.rules_changed(Revision { table: Touch::Gone, ..Revision::default() });
    let [
        AnyEffect::Offload(offload::Effect::SaveGeneration),
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, in_force: None })),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.devices.len(), 3);
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["engine"]["active"], "off");
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Api(api::Effect::AnswerEngine)]);
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["active"], "flowtable");
}

/// Reads the changed rules, and applies the table that offloads flows.
fn rules_are_known(core: &mut Core) {
    core.applied(Ok(Applied::Replaced));
    core.rules_read(Ok(ruleset::ForeignRules::default()));
    core.applied(Ok(Applied::Replaced));
}

pub(in crate::core) fn plan_of(effects: &[AnyEffect]) -> Option<&Plan> {
    effects.iter().find_map(|effect| match effect {
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. })) => Some(plan),
        _ => None,
    })
}

/// Returns true if the flowtable is renewed, or replaced by one that offloads no flow.
fn renews(effects: &[AnyEffect]) -> bool {
    let is_renewal = |effect: &AnyEffect| {
        matches!(
            effect,
            AnyEffect::Offload(offload::Effect::Run(Job::Renew(_) | Job::Apply { .. }))
        )
    };
    effects.iter().any(is_renewal)
}

fn applies(effects: &[AnyEffect]) -> bool {
    let is_apply = |effect: &AnyEffect| {
        matches!(effect, AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. })))
    };
    effects.iter().any(is_apply)
}

#[test]
fn disconnect_ends_connections_between_zones() {
    let mut core = running();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    core.entries_read(&[established(1, true)]);
    let mut ended = |pairs: serde_json::Value| {
        let serde_json::Value::Object(args) = json!({ "pairs": pairs }) else { panic!() };
        match call(&mut core, "disconnect", args) {
            Outcome::Reply(Ok(answer), effects) => {
                let number = answer.decode().unwrap()["connections"].as_u64().unwrap();
                let deleted = effects.iter().map(|effect| match effect {
                    AnyEffect::Conntrack(conntrack::Effect::Delete(entries)) => entries.len(),
                    other => panic!("{other:?}"),
                });
                assert_eq!(u64::try_from(deleted.sum::<usize>()).unwrap(), number);
                number
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ended(json!([["lan", "wan"]])), 1);
    assert_eq!(ended(json!([["*", "wan"]])), 1);
    assert_eq!(ended(json!([["iot", "*"], ["*", "*"]])), 1);
    assert_eq!(ended(json!([["wan", "lan"]])), 0, "its initiator is in the LAN");
    assert_eq!(ended(json!([["lan", "iot"]])), 0);
}

fn revocation(core: &mut Core) -> serde_json::Value {
    ask(core, "status", json!({}))["engine"]["revocation"].take()
}

#[test]
fn changed_rules_revoke_flows_of_the_flowtable() {
    let mut core = running();
    let rules = Revision { others: true, ..Revision::default() };
    let elements = Revision { elements: true, ..Revision::default() };
    core.entries_read(&[established(1, true)]);
    assert!(renews(&core.rules_changed(rules)));
    rules_are_known(&mut core);
    let report = revocation(&mut core);
    assert_eq!((&report["count"], &report["flows"]), (&json!(1), &json!(1)));
    assert_eq!(report["cause"]["code"], "rules");
    assert!(!renews(&core.rules_changed(Revision::default())), "our own table");
    assert!(renews(&core.rules_changed(elements)));
    core.applied(Ok(Applied::Replaced));
    assert_eq!(revocation(&mut core)["cause"]["code"], "elements");
    assert!(!renews(&core.rules_changed(elements)), "too soon");
    core.now.mono += Duration::from_secs(4);
    assert!(renews(&core.flowtable_second()));
}

#[test]
fn changed_routes_revoke_the_flows_over_them() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let route = |network: &str| topology::Route {
        network: network.parse().unwrap(),
        prefix: 24,
        kind: topology::RouteKind::Refuse,
        table: 254,
        metric: 0,
        index: None,
        gateway: None,
        source: None,
        several: false,
        mtu: None,
    };
    let changed = |core: &mut Core, change| renews(&core.network_changed(vec![change]));
    assert!(!changed(&mut core, topology::Change::Route(route("192.0.2.0"))), "another network");
    let concerned = route("203.0.113.0");
    assert!(changed(&mut core, topology::Change::Route(concerned.clone())));
    core.applied(Ok(Applied::Replaced));
    assert!(!changed(&mut core, topology::Change::Route(concerned.clone())), "the route is known");
    assert!(changed(&mut core, topology::Change::RouteGone(concerned.clone())));
    core.applied(Ok(Applied::Replaced));
    assert_eq!(revocation(&mut core)["cause"]["code"], "routes");
    let narrow = topology::Route { mtu: Some(1400), ..concerned.clone() };
    assert!(changed(&mut core, topology::Change::Route(concerned)));
    core.applied(Ok(Applied::Replaced));
    assert!(changed(&mut core, topology::Change::RouteReplaced(narrow)), "another MTU");
    core.applied(Ok(Applied::Replaced));
    core.now.mono += Duration::from_secs(10);
    let session = core.network.topology().link_named("pppoe-wan").unwrap().clone();
    let down = topology::Link { up: false, ..session };
    assert!(changed(&mut core, topology::Change::Link(down.clone())), "a device above the port");
}

#[test]
fn a_smaller_mtu_renews_the_flowtable() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let link = core.network.topology().link_named("br-lan.10").unwrap().clone();
    let with = |mtu| vec![topology::Change::Link(topology::Link { mtu, ..link.clone() })];
    assert!(renews(&core.network_changed(with(1400))), "a device above the port");
    core.applied(Ok(Applied::Replaced));
    assert_eq!(revocation(&mut core)["cause"]["code"], "mtu");
    assert!(!renews(&core.network_changed(with(1400))), "the same");
    assert!(!renews(&core.network_changed(with(1500))), "larger");
}

#[test]
fn a_smaller_ipv6_mtu_revokes_flows_without_an_event() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let read =
        |mtu6| Readings { mtu6: vec![("br-lan.10".to_owned(), mtu6)], ..Readings::default() };
    assert!(renews(&core.second(&read(1300))));
    core.applied(Ok(Applied::Replaced));
    assert_eq!(revocation(&mut core)["cause"]["code"], "mtu");
    assert!(!renews(&core.second(&read(1300))), "the same");
}

#[test]
fn a_port_has_the_mac_addresses_of_the_devices_above_it() {
    let mut core = running();
    let own = |core: &Core| core.offload.planned().unwrap().own["lan1"].clone();
    assert!(!own(&core).is_empty());
    let vlan = core.network.topology().link_named("br-lan.10").unwrap().clone();
    let mac = Some(topology::Mac([2, 0, 0x5e, 0, 0, 1]));
    let effects =
        core.network_changed(vec![topology::Change::Link(topology::Link { mac, ..vlan })]);
    assert!(applies(&effects), "{effects:?}");
    assert!(own(&core).contains("02:00:5e:00:00:01"));
}

#[test]
fn a_changed_ipsec_policy_revokes_flows() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let effects = core.offload_event(offload::Event::PoliciesChanged);
    assert!(renews(&effects), "{effects:?}");
    assert_eq!(revocation(&mut core)["cause"]["code"], "ipsec");
}

#[test]
fn disabling_forwarding_revokes_flows() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let effects = core.offload_event(offload::Event::ForwardingStopped);
    assert!(renews(&effects), "{effects:?}");
    assert_eq!(revocation(&mut core)["cause"]["code"], "forwarding");
}

/// Returns the bridge event that reports the lab's host on the port with this index.
fn seen_on(port: u32) -> Vec<topology::Change> {
    let mac = topology::Mac([2, 0, 0, 0, 1, 10]);
    vec![topology::Change::Fdb(topology::FdbEntry { bridge: 4, port, mac, vlan: 10, own: false })]
}

#[test]
fn a_host_that_moves_to_another_port_renews_the_flowtable() {
    let mut core = running();
    assert_eq!(core.network_changed(seen_on(2)), [], "it has no connection");
    core.entries_read(&[established(1, true)]);
    assert_eq!(core.network_changed(seen_on(2)), [], "the same port");
    let effects = core.network_changed(seen_on(1));
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Renew(_)))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    // Another host, without a connection, moves.
    let mac = topology::Mac([2, 0, 0, 0, 1, 11]);
    for port in [1, 2] {
        let entry = topology::FdbEntry { bridge: 4, port, mac, vlan: 10, own: false };
        core.now.mono += Duration::from_secs(60);
        assert_eq!(core.network_changed(vec![topology::Change::Fdb(entry)]), []);
    }
}

#[test]
fn a_host_that_roams_back_and_forth_causes_few_renewals() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let effects = core.network_changed(seen_on(2));
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Renew(_)))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    for port in [1, 2, 1, 2] {
        assert_eq!(core.network_changed(seen_on(port)), []);
    }
    core.now.mono += Duration::from_secs(10);
    let again = core.offload.second(core.now);
    assert!(matches!(again, Some(offload::Effect::Run(Job::Renew(_)))), "{again:?}");
}

#[test]
fn flows_of_a_constantly_roaming_host_stay_on_the_slow_path_without_renewals() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let mut replaced = 0;
    for second in 0..40 {
        core.now.mono += Duration::from_secs(1);
        let mut effects = core.network_changed(seen_on(1 + second % 2));
        effects.extend(core.roaming_second());
        replaced += usize::from(applies(&effects));
        if !effects.is_empty() {
            core.applied(Ok(Applied::Replaced));
        }
        if second > 10 {
            assert!(!renews(&effects), "second {second}: {effects:?}");
        }
    }
    assert_eq!(replaced, 1);
    core.entries_read(&[established(1, false)]);
    let flows = ask(&mut core, "flows", json!({}));
    let column = flows["cols"].as_array().unwrap().iter().position(|c| c == "reason").unwrap();
    assert_eq!(flows["rows"][0][column], "roaming");
    // The host stops moving.
    core.now.mono += Duration::from_secs(61);
    assert!(applies(&core.roaming_second()));
    assert!(core.offload.planned().unwrap().roaming.is_empty());
}

#[test]
fn the_flowtable_lists_a_routed_tunnel_and_is_verified_when_it_is_recreated() {
    let (mut core, index, effects) = with_tunnel("wireguard");
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(plan.devices.contains("wg0") && plan.tunnels.is_empty(), "{plan:?}");
    core.applied(Ok(Applied::Devices));
    let link = core.network.topology().link_named("wg0").unwrap().clone();
    let again = topology::Link { index: index + 1, ..link };
    let address = topology::Address {
        index: index + 1,
        address: "10.99.0.1".parse().unwrap(),
        prefix: 24,
        peer: None,
    };
    core.network_changed(vec![
        topology::Change::LinkGone(index),
        topology::Change::Link(again),
        topology::Change::Address(address),
    ]);
    core.now.mono += Duration::from_secs(1);
    let effects = core.flowtable_second();
    let in_force = core.offload.flowtable().in_force().unwrap().clone();
    let job = Job::Apply { plan: in_force.clone(), in_force: Some(in_force) };
    assert_eq!(effects, [AnyEffect::Offload(offload::Effect::Run(job))]);
}

#[test]
fn flows_over_a_tunnel_that_flowtables_do_not_support_are_excluded() {
    let (_, _, effects) = with_tunnel("tun");
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(!plan.devices.contains("wg0"));
    assert_eq!(plan.tunnels.iter().collect::<Vec<_>>(), ["wg0"]);
}

/// Returns a core with an added tunnel, the tunnel's index, and the effects of its address.
fn with_tunnel(kind: &str) -> (Core, u32, Vec<AnyEffect>) {
    let mut core = running();
    let index = core.network.topology().links().map(|l| l.index).max().unwrap() + 1;
    let lan = core.network.topology().link_named("lan1").unwrap().clone();
    let tunnel = topology::Link {
        index,
        name: "wg0".into(),
        kind: topology::LinkKind::Other(kind.into()),
        hardware: 65534,
        master: None,
        ..lan
    };
    assert_eq!(core.network_changed(vec![topology::Change::Link(tunnel)]), []);
    let address =
        topology::Address { index, address: "10.99.0.1".parse().unwrap(), prefix: 24, peer: None };
    let effects = core.network_changed(vec![topology::Change::Address(address)]);
    (core, index, effects)
}

#[test]
fn a_queue_above_the_lowest_device_keeps_flows_on_the_slow_path_with_reason_shaped() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let queue =
        |index| topology::QueueingDiscipline { index, kind: "cake".into(), ..Default::default() };
    assert_eq!(
        core.network_changed(vec![topology::Change::Queues(vec![queue(3)])]),
        [],
        "the lowest device"
    );
    let effects = core.network_changed(vec![topology::Change::Queues(vec![queue(3), queue(8)])]);
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.shaped.iter().collect::<Vec<_>>(), ["pppoe-wan"]);
    core.applied(Ok(Applied::Replaced));
    core.now.mono += Duration::from_secs(1);
    core.entries_read(&[established(1, false)]);
    let reasons = |core: &mut Core| {
        let flows = ask(core, "flows", json!({}));
        let column = flows["cols"].as_array().unwrap().iter().position(|c| c == "reason").unwrap();
        flows["rows"][0][column].clone()
    };
    assert_eq!(reasons(&mut core), "shaped");
    let links = ask(&mut core, "topology", json!({}))["links"].take();
    let shaped = |name: &str| {
        let mut links = links.as_array().unwrap().iter();
        links.find(|link| link["name"] == name).unwrap()["shaped"].clone()
    };
    assert_eq!((shaped("pppoe-wan"), shaped("wan")), (json!("cake on pppoe-wan"), json!("")));
    let effects = core.network_changed(vec![topology::Change::Queues(Vec::new())]);
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    core.entries_read(&[established(1, false)]);
    assert_ne!(reasons(&mut core), "shaped");
}
