// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Map, Value, json};

use crate::api::methods::METHODS;
use crate::core::calls::{Outcome, call};
use crate::fixture::{ask, lab_firewall, running};
use crate::offload::flowtable::EngineReason;
use crate::offload::programs::ProgramsReason;

#[test]
fn status_shows_the_wan() {
    let mut core = running();
    let wan = ask(&mut core, "status", json!({}))["wan"][0].take();
    assert_eq!(wan["name"], "wan");
    assert_eq!(wan["port"], "wan");
    assert_eq!(wan["vlan"], 35);
    assert_eq!(wan["session"], 1);
    assert_eq!(wan["up"], true);
    assert_eq!(wan["up_since_ms"], 1_000_000 - 60_000);
    let ppp = core.network().topology().link_named("pppoe-wan").unwrap().index;
    core.network_changed(vec![
        topology::Change::LinkGone(ppp),
        topology::Change::Pppoe(Vec::new(), Vec::new()),
    ]);
    let status = ask(&mut core, "status", json!({}));
    assert_eq!(status["wan"][0]["up"], false, "the kernel reports it before netifd");
    assert_eq!(status["wan"][0]["port"], "wan");
    assert_eq!(status["health"][0]["code"], "wan-down");
}

#[test]
fn status_reports_a_router_open_to_the_internet_as_an_error() {
    let mut core = running();
    let mut firewall = lab_firewall();
    firewall["z2"]["input"] = json!("ACCEPT");
    firewall["f"] = json!({".type": "forwarding", "src": "wan", "dest": "lan"});
    core.firewall_read(&firewall);
    let finding = ask(&mut core, "status", json!({}))["health"][0].take();
    assert_eq!((&finding["code"], &finding["level"]), (&json!("system-wan-open"), &json!("error")));
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

/// Returns the codes of a schema's `enum`. The empty code means no reason.
fn listed(schema: &str, at: &str) -> Value {
    let schema: Value = serde_json::from_str(schema).unwrap();
    schema.pointer(&format!("{at}/properties/code/enum")).unwrap().clone()
}

#[test]
fn the_schema_lists_all_reasons() {
    let types = include_str!("../../../../schema/types.json");
    let topology = include_str!("../../../../schema/topology.json");
    let cpu = include_str!("../../../../schema/cpu.json");
    let links = [&topology::LinkReason::CODES[..], &ruleset::PlanReason::CODES].concat();
    let ips = include_str!("../../../../schema/ips.json");
    let rules = "/properties/reply/properties/rules/properties";
    let ebpf = ProgramsReason::all_codes();
    let exports = include_str!("../../../../schema/exports.json");
    let export = crate::export::ExportReason::CODES;
    for (schema, at, codes) in [
        (types, "/$defs/EngineCause", &EngineReason::CODES[..]),
        (types, "/$defs/LatencyCause", &latency::LatencyReason::CODES[..]),
        (types, "/$defs/EbpfCause", &ebpf),
        (types, "/$defs/IpsCause", &ips::Reason::CODES),
        (topology, "/properties/reply/properties/links/items/properties/cause", &links),
        (ips, &format!("{rules}/cause"), &rules::UpdateReason::CODES),
        (ips, &format!("{rules}/sources/items/properties/cause"), &rules::SourceReason::CODES),
        (cpu, "/properties/reply/properties/cause", &cpu::PlanReason::CODES),
        (exports, "/properties/reply/properties/exports/items/properties/cause", &export),
    ] {
        assert_eq!(listed(schema, at), json!([&[""], codes].concat()), "{at}");
    }
    // A source fault always has a code, so the list has no empty code.
    assert_eq!(listed(types, "/$defs/SourceFault"), json!(&rules::SourceFault::CODES[..]));
    let of_cpu = |at: &str| listed(cpu, &format!("/properties/reply/properties/{at}/cause"));
    let differences = of_cpu("differences/items/properties");
    assert_eq!(of_cpu("steering/properties"), json!(cpu::SteeringReason::CODES));
    assert_eq!(differences, json!(cpu::DifferenceReason::CODES));
}

#[test]
fn a_call_of_the_doctor_keeps_the_session_of_the_caller() {
    let asked = json!({"checks": ["system-root"], "ubus_rpc_session": "0123"});
    let args = asked.as_object().unwrap().clone();
    match call(&mut running(), "doctor", args.clone()) {
        Outcome::Doctor(forwarded) => assert_eq!(forwarded, args),
        other => panic!("{other:?}"),
    }
}

#[test]
fn malformed_requests_are_refused() {
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
        ("disconnect", json!({})),
        ("disconnect", json!({"pairs": []})),
        ("disconnect", json!({"pairs": [["lan"]]})),
        ("disconnect", json!({"pairs": [["lan", 1]]})),
    ] {
        let Value::Object(map) = args.clone() else { panic!() };
        let known = METHODS.iter().find(|known| known.name == method).unwrap();
        let refused = known.check(&map).is_err()
            || matches!(call(&mut core, method, map), Outcome::Invalid(_));
        assert!(refused, "{method} {args}");
    }
    assert_eq!(call(&mut core, "fly", Map::new()), Outcome::NoMethod);
    let gone = Map::from_iter([("id".to_owned(), json!(99))]);
    assert_eq!(call(&mut core, "flow", gone), Outcome::NotFound);
    let session = Map::from_iter([("ubus_rpc_session".to_owned(), json!("0"))]);
    assert!(matches!(call(&mut core, "status", session), Outcome::Reply(Ok(_), _)));
}
