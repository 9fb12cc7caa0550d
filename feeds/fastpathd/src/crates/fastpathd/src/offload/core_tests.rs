// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use ctnetlink::{Revision, Touch};
use flows::Now;
use ruleset::Applied;
use serde_json::{Map, Value, json};

use super::*;
use crate::bus::methods::{Outcome, call};
use crate::network::fixture::{established, lab_dump, lab_firewall, lab_network};
use crate::sys::kernel::{Machine, Readings};
use crate::{conntrack, offload};

fn core() -> Core {
    let machine = Machine { kernel: "6.12".into(), hostname: "gw".into(), ..Machine::default() };
    Core::new(machine, Now { mono: Duration::ZERO, unix_ms: 1_000_000 })
}

fn configuration(engine: &str) -> Value {
    json!({"main": {".type": "fastpath", ".name": "main", "engine": engine}})
}

/// A core that knows the lab's network and runs the flowtable over it.
fn running() -> Core {
    let mut core = core();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    assert!(core.configuration_read(&configuration("flowtable")).is_empty());
    let effects = core.network_changed(lab_network());
    assert!(
        matches!(
            &effects[..],
            [
                AnyEffect::Offload(offload::Effect::Attach(_)),
                AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))
            ]
        ),
        "{effects:?}"
    );
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Bus(bus::Effect::AnswerEngine)]);
    core
}

fn ask(core: &mut Core, method: &str, args: Value) -> Value {
    let Value::Object(args) = args else { panic!("{args}") };
    match call(core, method, args) {
        Outcome::Reply(answer) => answer,
        other => panic!("{method}: {other:?}"),
    }
}

#[test]
fn the_plan_waits_for_configuration_and_network() {
    let mut core = core();
    assert!(core.network_changed(lab_network()).is_empty(), "no configuration yet");
    let effects = core.configuration_read(&configuration("flowtable"));
    let [
        AnyEffect::Offload(offload::Effect::Attach(programs)),
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, in_force: None })),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert!(programs.devices.is_empty(), "those of a daemon before are taken away");
    let devices: Vec<&str> = plan.devices.iter().map(String::as_str).collect();
    assert_eq!(devices, ["lan1", "lan2", "wan"]);
}

#[test]
fn a_bad_configuration_changes_nothing_and_is_told() {
    let mut core = running();
    assert!(core.configuration_read(&configuration("warp")).is_empty());
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["engine"]["active"], "flowtable");
    let finding = &status["health"][0];
    assert_eq!(finding["code"], "config-refused");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("main") && text.contains("engine") && text.contains("warp"), "{text}");
    let problems = &status["problems"];
    let expected = json!([{"config": "fastpath", "section": "main", "option": "engine",
        "value": "warp", "code": "fastpathd", "params": &problems[0]["params"],
        "text": &problems[0]["text"]}]);
    assert_eq!(*problems, expected);
    core.configuration_read(&configuration("flowtable"));
    let status = ask(&mut core, "status", json!({}));
    assert_eq!((&status["health"], &status["problems"]), (&json!([]), &json!([])));
}

#[test]
fn the_digest_is_of_the_configuration_in_use() {
    let mut core = core();
    let digest = |core: &mut Core| ask(core, "status", json!({}))["configuration"]["digest"].take();
    assert_eq!(digest(&mut core), "");
    core.configuration_read(&configuration("flowtable"));
    let used = config::digest(&configuration("flowtable"));
    assert_eq!(digest(&mut core), used);
    core.configuration_read(&configuration("warp"));
    assert_eq!(digest(&mut core), used, "a configuration that is refused is not in use");
    assert_eq!(core.configuration.refused(), config::digest(&configuration("warp")));
    core.configuration_read(&configuration("off"));
    assert_eq!(digest(&mut core), config::digest(&configuration("off")));
}

/// Viewers read `status` and the log.
#[test]
fn a_refused_url_is_told_without_its_password() {
    let mut core = running();
    for url in ["htps://ann:geheim@rules.example/x", "ann:geheim@rules.example/x"] {
        let mut values = configuration("flowtable");
        values["et"] = json!({".type": "rules", ".name": "et", ".index": 9, "url": url,
            "unverified": "1"});
        core.configuration_read(&values);
        let status = ask(&mut core, "status", json!({})).to_string();
        assert!(status.contains("config-refused"), "{status}");
        let ips = ask(&mut core, "ips", json!({})).to_string();
        assert!(!status.contains("geheim") && !ips.contains("geheim"), "{status} {ips}");
        assert!(!core.configuration.error().contains("geheim"), "which is logged");
    }
}

#[test]
fn a_flush_loads_the_table_in_force_again() {
    let mut core = running();
    let flushed = call(&mut core, "flush", Map::new());
    let Outcome::Done(answer, effects) = flushed else { panic!("{flushed:?}") };
    assert_eq!(answer["flushed"], true);
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Renew(_)))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    core.command(Engine::Off);
    core.applied(Ok(Applied::Removed));
    let flushed = call(&mut core, "flush", Map::new());
    let Outcome::Done(answer, effects) = flushed else { panic!("{flushed:?}") };
    assert_eq!((&answer["flushed"], effects.len()), (&json!(false), 0), "nothing is in it");
}

#[test]
fn a_command_holds_until_the_file_says_something_new() {
    let mut core = running();
    let effects = core.command(Engine::Off);
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Removed));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!((&engine["active"], &engine["source"]), (&json!("off"), &json!("command")));
    // The same file read again, as after a change of the network.
    assert!(core.configuration_read(&configuration("flowtable")).is_empty());
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["wanted"], "off");
    core.configuration_read(&configuration("off"));
    core.configuration_read(&configuration("flowtable"));
    core.applied(Ok(Applied::Replaced));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!((&engine["active"], &engine["source"]), (&json!("flowtable"), &json!("config")));
}

#[test]
fn a_refused_engine_leaves_the_old_one_and_says_why() {
    let mut core = running();
    core.command(Engine::FlowtableHw);
    core.applied(Err("lan1 cannot offload\n\tflowtable ft {\n\t^^".into()));
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!(engine["wanted"], "flowtable-hw");
    assert_eq!(engine["active"], "flowtable");
    assert_eq!(engine["why"], "lan1 cannot offload");
    assert_eq!(ask(&mut core, "status", json!({}))["health"][0]["code"], "engine-differs");
}

#[test]
fn a_vanished_device_is_planned_around() {
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
fn a_change_that_alters_no_rule_runs_nothing() {
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
fn flows_are_shown_with_zone_vlan_path_and_reason() {
    let mut core = running();
    assert_eq!(core.dump_if_due(), [AnyEffect::Conntrack(conntrack::Effect::Dump)]);
    core.entries_read(&[established(7, true), established(8, false)]);
    core.dump_ended(true);
    let page = ask(&mut core, "flows", json!({"sort": "id", "desc": false}));
    assert_eq!(page["total"], 2);
    let cols: Vec<&str> =
        page["cols"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let cell = |row: usize, name: &str| {
        page["rows"][row][cols.iter().position(|c| *c == name).unwrap()].clone()
    };
    assert_eq!(cell(0, "in_zone"), "lan");
    assert_eq!(cell(0, "in_vlan"), 10);
    assert_eq!(cell(0, "out_zone"), "wan");
    assert_eq!(cell(0, "out_vlan"), 35);
    assert_eq!(cell(0, "path"), "flowtable");
    assert_eq!(cell(1, "path"), "slow");
    assert_ne!(cell(1, "reason"), "");
    core.command(Engine::Off);
    core.applied(Ok(Applied::Removed));
    let page = ask(&mut core, "flows", json!({"filter": {"reason": ["engine-off"]}}));
    assert_eq!(page["matched"], 1, "the kernel still says OFFLOAD of the other: {page}");
}

#[test]
fn status_knows_the_way_to_the_internet() {
    let mut core = running();
    let wan = ask(&mut core, "status", json!({}))["wan"][0].take();
    assert_eq!(wan["name"], "wan");
    assert_eq!(wan["port"], "wan");
    assert_eq!(wan["vlan"], 35);
    assert_eq!(wan["session"], 1);
    assert_eq!(wan["up"], true);
    assert_eq!(wan["up_since_ms"], 1_000_000 - 60_000);
    let ppp = core.network.topology().link_named("pppoe-wan").unwrap().index;
    core.network_changed(vec![
        topology::Change::LinkGone(ppp),
        topology::Change::Pppoe(Vec::new(), Vec::new()),
    ]);
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["wan"][0]["up"], false, "the kernel knows before netifd does");
    assert_eq!(status["wan"][0]["port"], "wan");
    assert_eq!(status["health"][0]["code"], "wan-down");
}

#[test]
fn a_router_open_to_the_internet_is_an_error_at_once() {
    let mut core = running();
    let mut firewall = lab_firewall();
    firewall["z2"]["input"] = json!("ACCEPT");
    firewall["f"] = json!({".type": "forwarding", "src": "wan", "dest": "lan"});
    core.firewall_read(&firewall);
    let finding = ask(&mut core, "status", json!({}))["health"][0].take();
    assert_eq!(
        (&finding["code"], &finding["level"]),
        (&json!("open-to-internet"), &json!("error"))
    );
    assert_eq!(
        finding["open"],
        json!([{"zone": "wan", "to": ""}, {"zone": "wan", "to": "lan"}]),
        "{finding}"
    );
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("the router itself") && text.contains("zone lan"), "{text}");
    core.firewall_read(&lab_firewall());
    assert_eq!(ask(&mut core, "status", json!({}))["health"], json!([]), "closed again");
}

#[test]
fn the_doctor_learns_who_asks() {
    let asked = json!({"checks": ["system-root"], "ubus_rpc_session": "0123"});
    let args = asked.as_object().unwrap().clone();
    match crate::bus::methods::call(&mut running(), "doctor", args.clone()) {
        crate::bus::methods::Outcome::Doctor(handed_on) => assert_eq!(handed_on, args),
        other => panic!("{other:?}"),
    }
}

/// As netifd leaves it after `ifdown wan`: the session and its VLAN device are gone, and the port,
/// which nobody uses, is administratively down and so without carrier.
fn disconnected(core: &mut Core, autostart: bool) {
    let port = core.network.topology().link_named("wan").unwrap().clone();
    let gone = ["pppoe-wan", "wan.35"].map(|name| {
        topology::Change::LinkGone(core.network.topology().link_named(name).unwrap().index)
    });
    core.network_changed(
        gone.into_iter().chain([topology::Change::Pppoe(vec![], vec![])]).collect(),
    );
    core.network_changed(vec![topology::Change::Link(topology::Link {
        up: false,
        carrier: false,
        ..port
    })]);
    let mut dump = lab_dump();
    dump["interface"][1] = json!({"interface": "wan", "up": false, "autostart": autostart,
        "device": "wan", "proto": "pppoe"});
    core.interfaces_read(&dump);
}

#[test]
fn a_line_that_somebody_disconnected_is_no_error_and_no_cable() {
    let mut core = running();
    disconnected(&mut core, false);
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["wan"][0]["hindrance"], "disconnected");
    let finding = &status["health"][0];
    assert_eq!(
        (&finding["code"], &finding["level"]),
        (&json!("wan-disconnected"), &json!("warning")),
        "{finding}"
    );
    assert!(!finding["text"].as_str().unwrap().contains("link"), "{finding}");
}

#[test]
fn only_a_port_that_is_switched_on_can_lack_a_link() {
    let mut core = running();
    disconnected(&mut core, true);
    let told = |core: &mut Core| {
        let status = ask(core, "status", json!({}));
        let text = status["health"][0]["text"].as_str().unwrap().to_owned();
        (status["wan"][0]["hindrance"].as_str().unwrap().to_owned(), text)
    };
    let (why, text) = told(&mut core);
    assert_eq!((why.as_str(), text.contains("link")), ("port-down", false), "{text}");
    let port = core.network.topology().link_named("wan").unwrap().clone();
    core.network_changed(vec![topology::Change::Link(topology::Link { up: true, ..port.clone() })]);
    let (why, text) = told(&mut core);
    assert_eq!(why, "no-link");
    assert_eq!(text, "wan is down: its port has no link.");
    core.network_changed(vec![topology::Change::Link(topology::Link {
        up: true,
        carrier: true,
        ..port
    })]);
    assert_eq!(told(&mut core), (String::new(), "wan is down.".to_owned()));
}

#[test]
fn an_alias_is_not_a_second_way_even_while_the_first_is_down() {
    let mut core = running();
    let mut firewall = lab_firewall();
    firewall["z2"]["network"] = json!(["wan", "wan6"]);
    core.firewall_read(&firewall);
    let device = |up: bool| if up { json!("pppoe-wan") } else { Value::Null };
    for (up, proto) in [(true, "dhcpv6"), (false, "dhcpv6"), (false, "static")] {
        let device = device(up);
        let mut dump = lab_dump();
        dump["interface"][1]["up"] = json!(up);
        let alias = json!({"interface": "wan6", "up": up, "proto": proto,
            "device": device, "l3_device": device});
        dump["interface"].as_array_mut().unwrap().push(alias);
        core.interfaces_read(&dump);
        let wan = ask(&mut core, "status", json!({}))["wan"].take();
        assert_eq!(wan.as_array().map(Vec::len), Some(1), "{wan}");
        assert_eq!(wan[0]["up"], up);
    }
}

#[test]
fn a_second_way_that_is_down_is_told_whatever_its_name() {
    let mut core = running();
    let mut firewall = lab_firewall();
    firewall["z2"]["network"] = json!(["wan", "wanb"]);
    core.firewall_read(&firewall);
    let mut dump = lab_dump();
    let second = json!({"interface": "wanb", "up": false, "proto": "dhcp"});
    dump["interface"].as_array_mut().unwrap().push(second);
    core.interfaces_read(&dump);
    let wan = ask(&mut core, "status", json!({}))["wan"].take();
    assert_eq!((&wan[1]["name"], &wan[1]["up"]), (&json!("wanb"), &json!(false)), "{wan}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut core = running();
    for (method, args) in [
        ("status", json!({"x": 1})),
        ("flows", json!({"limit": 0})),
        ("flows", json!({"filter": {"path": "slow"}})),
        ("flow", json!({})),
        ("flow", json!({"id": -1})),
        ("engine", json!({})),
        ("engine", json!({"set": "warp"})),
        ("engine", json!({"set": "off", "persist": true})),
        ("flush", json!({"x": 1})),
    ] {
        let Value::Object(map) = args.clone() else { panic!() };
        let outcome = call(&mut core, method, map);
        assert!(matches!(outcome, Outcome::Invalid(_)), "{method} {args}: {outcome:?}");
    }
    assert_eq!(call(&mut core, "fly", Map::new()), Outcome::NoMethod);
    let gone = Map::from_iter([("id".to_owned(), json!(99))]);
    assert_eq!(call(&mut core, "flow", gone), Outcome::NotFound);
    let session = Map::from_iter([("ubus_rpc_session".to_owned(), json!("0"))]);
    assert!(matches!(call(&mut core, "status", session), Outcome::Reply(_)));
}

#[test]
fn young_flows_are_looked_up_while_the_table_is_dear_to_read() {
    let mut core = running();
    core.dump_if_due();
    core.entries_read(&[established(8, false)]);
    core.dump_ended(true);
    let asked = |effects: Vec<AnyEffect>| {
        effects.into_iter().find_map(|effect| match effect {
            AnyEffect::Conntrack(conntrack::Effect::LookUp(wanted)) => Some(wanted),
            _ => None,
        })
    };
    assert_eq!(asked(core.second(&Readings::default())), None, "read every second anyway");
    core.now.mono += Duration::from_secs(2);
    core.dump_if_due();
    core.cpu_time += Duration::from_secs(1);
    core.entries_read(&[established(8, false)]);
    core.dump_ended(true);
    let wanted = asked(core.second(&Readings::default())).unwrap();
    assert_eq!(wanted, [(0, established(8, false).orig)]);
    core.looked_up(&[established(8, true)]);
    let page = ask(&mut core, "flows", json!({"filter": {"path": ["flowtable"]}}));
    assert_eq!(page["matched"], 1);
    assert_eq!(asked(core.second(&Readings::default())), None);
}

#[test]
fn lost_events_are_followed_by_a_dump() {
    let mut core = running();
    assert_eq!(core.dump_if_due(), [AnyEffect::Conntrack(conntrack::Effect::Dump)]);
    core.dump_ended(true);
    assert!(core.dump_if_due().is_empty(), "not due yet");
    assert_eq!(core.events_lost(), [AnyEffect::Conntrack(conntrack::Effect::Dump)]);
    assert_eq!(ask(&mut core, "status", json!({}))["conntrack"]["resyncs"], 1);
}

#[test]
fn a_flushed_table_is_put_back_before_it_is_looked_at() {
    let mut core = running();
    let others = Revision { others: true, elements: true, ..Revision::default() };
    assert_eq!(core.rules_changed(others), [AnyEffect::Offload(offload::Effect::NoteRules)]);
    let effects = core.rules_changed(Revision { table: Touch::Gone, ..others });
    let [
        AnyEffect::Offload(offload::Effect::NoteRules),
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, in_force: None })),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.devices.len(), 3);
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["engine"]["active"], "off");
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Bus(bus::Effect::AnswerEngine)]);
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["active"], "flowtable");
}

/// The station of the lab's host is seen on the port of this index.
fn seen_on(port: u32) -> Vec<topology::Change> {
    let mac = topology::Mac([2, 0, 0, 0, 1, 10]);
    vec![topology::Change::Fdb(topology::FdbEntry { bridge: 4, port, mac, vlan: 10, own: false })]
}

#[test]
fn the_flowtable_follows_a_host_to_another_port() {
    let mut core = running();
    assert_eq!(core.network_changed(seen_on(2)), [], "it has no connection");
    core.entries_read(&[established(1, true)]);
    assert_eq!(core.network_changed(seen_on(2)), [], "it is where it was");
    let effects = core.network_changed(seen_on(1));
    assert!(
        matches!(&effects[..], [AnyEffect::Offload(offload::Effect::Run(Job::Renew(_)))]),
        "{effects:?}"
    );
    core.applied(Ok(Applied::Replaced));
    // Of another host.
    let mac = topology::Mac([2, 0, 0, 0, 1, 11]);
    for port in [1, 2] {
        let entry = topology::FdbEntry { bridge: 4, port, mac, vlan: 10, own: false };
        core.now.mono += Duration::from_secs(60);
        assert_eq!(core.network_changed(vec![topology::Change::Fdb(entry)]), []);
    }
}

#[test]
fn a_host_that_roams_back_and_forth_is_followed_in_calm() {
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
    let again = core.offload.flowtable.second(core.now);
    assert!(matches!(again, Some(Job::Renew(_))), "{again:?}");
}

#[test]
fn the_flowtable_has_no_flows_of_a_tunnel_that_packets_are_routed_over() {
    let mut core = running();
    let index = core.network.topology().links().map(|l| l.index).max().unwrap() + 1;
    let lan = core.network.topology().link_named("lan1").unwrap().clone();
    let tunnel = topology::Link {
        index,
        name: "wg0".into(),
        kind: topology::LinkKind::Other("wireguard".into()),
        hardware: 65534,
        master: None,
        ..lan
    };
    assert_eq!(core.network_changed(vec![topology::Change::Link(tunnel)]), []);
    let address =
        topology::Address { index, address: "10.99.0.1".parse().unwrap(), prefix: 24, peer: None };
    let effects = core.network_changed(vec![topology::Change::Address(address)]);
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.tunnels.iter().collect::<Vec<_>>(), ["wg0"]);
}

#[test]
fn a_queue_above_the_lowest_device_keeps_flows_slow_and_they_say_so() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let queue = |index| topology::Queue { index, incoming: false, kind: "cake".into() };
    assert_eq!(
        core.network_changed(vec![topology::Change::Queues(vec![queue(3)])]),
        [],
        "the lowest"
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
