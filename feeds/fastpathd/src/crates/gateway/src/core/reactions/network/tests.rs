// SPDX-License-Identifier: GPL-2.0-or-later

use flows::Network as _;
use serde_json::{Value, json};

use crate::core::Core;
use crate::fixture::{ask, lab_dump, lab_firewall, running};

/// Applies the state that netifd leaves after `ifdown wan`: session and VLAN device are gone, and
/// the unused port is administratively down, so it has no carrier.
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
fn the_answer_about_flowtables_of_bridges_is_shown() {
    let mut core = running();
    for (found, shown) in [(None, ""), (Some(false), "no"), (Some(true), "yes")] {
        core.offload_event(crate::offload::Event::BridgeFlowtable(found));
        assert_eq!(ask(&mut core, "topology", json!({}))["bridge_flowtable"], shown);
    }
}

/// Zones may have any name, and the firewall may change without the interfaces.
#[test]
fn zones_towards_the_internet_follow_the_firewall() {
    let mut core = running();
    let outer = |core: &Core| {
        ["198.51.100.1", "10.10.10.10"].map(|address| {
            let side = core.network.view().side(address.parse().unwrap(), None).unwrap();
            (side.zone.to_string(), side.outer)
        })
    };
    let named = |zone: &str, outer| (zone.to_owned(), outer);
    assert_eq!(outer(&core), [named("wan", true), named("lan", false)]);
    let generation = core.network.view().generation();
    let line = |masq: &str| {
        json!({
            "z1": {".type": "zone", "name": "lan", "network": ["lan"]},
            "z2": {".type": "zone", "name": "internet", "network": ["uplink"], "masq": masq},
        })
    };
    let mut dump = lab_dump();
    dump["interface"][1]["interface"] = json!("uplink");
    core.firewall_read(&line("1"));
    core.interfaces_read(&dump);
    assert_eq!(outer(&core), [named("internet", true), named("lan", false)]);
    let masqueraded = core.network.view().generation();
    assert_ne!(masqueraded, generation);
    core.firewall_read(&line("0"));
    core.interfaces_read(&dump);
    assert_eq!(outer(&core), [named("internet", false), named("lan", false)]);
    assert_ne!(core.network.view().generation(), masqueraded);
}

#[test]
fn status_has_no_finding_before_the_first_configuration() {
    let mut core = crate::fixture::core();
    core.second(&crate::sys::kernel::Readings::default());
    assert_eq!(ask(&mut core, "status", json!({}))["health"], json!([]));
}

#[test]
fn a_disconnected_wan_is_a_warning_and_not_a_cable_fault() {
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
fn a_missing_link_is_reported_only_for_a_port_that_is_up() {
    let mut core = running();
    disconnected(&mut core, true);
    let health = |core: &mut Core| {
        let status = ask(core, "status", json!({}));
        let text = status["health"][0]["text"].as_str().unwrap().to_owned();
        (status["wan"][0]["hindrance"].as_str().unwrap().to_owned(), text)
    };
    let (why, text) = health(&mut core);
    assert_eq!((why.as_str(), text.contains("link")), ("port-down", false), "{text}");
    let port = core.network.topology().link_named("wan").unwrap().clone();
    core.network_changed(vec![topology::Change::Link(topology::Link { up: true, ..port.clone() })]);
    let (why, text) = health(&mut core);
    assert_eq!(why, "no-link");
    assert_eq!(text, "wan is down: its port has no link.");
    core.network_changed(vec![topology::Change::Link(topology::Link {
        up: true,
        carrier: true,
        ..port
    })]);
    assert_eq!(health(&mut core), (String::new(), "wan is down.".to_owned()));
}

#[test]
fn an_error_of_netifd_is_shown_with_a_remedy() {
    let mut core = running();
    let mut found = |port_is_up: bool, error: &str| {
        let port = core.network.topology().link_named("wan").unwrap().clone();
        let port = topology::Link { up: port_is_up, carrier: port_is_up, ..port };
        core.network_changed(vec![topology::Change::Link(port)]);
        let mut dump = lab_dump();
        let wan = &mut dump["interface"][1];
        wan["up"] = json!(false);
        wan["l3_device"] = Value::Null;
        wan["device"] = json!("wan.35");
        wan["errors"] = json!([{"subsystem": "interface", "code": error}]);
        core.interfaces_read(&dump);
        let status = ask(&mut core, "status", json!({}));
        let text = status["health"][0]["text"].as_str().unwrap().to_owned();
        (status["wan"][0]["hindrance"].as_str().unwrap().to_owned(), text)
    };
    // netifd may have taken the port down itself.
    for port_is_up in [false, true] {
        let text = "wan is down: netifd could not claim wan.35. Remove it (ip link del wan.35), \
                    then restart the network.";
        let claimed = ("failed".to_owned(), text.to_owned());
        assert_eq!(found(port_is_up, "DEVICE_CLAIM_FAILED"), claimed);
    }
    let text = "wan is down: netifd reports USER_REQUEST. Reconnect it (ifup wan).";
    assert_eq!(found(true, "USER_REQUEST"), ("failed".to_owned(), text.to_owned()));
    let text = "wan is down: the provider refused its user name or password.";
    assert_eq!(found(true, "AUTH_TOPEER_FAILED").1, text);
    assert_eq!(found(false, "NO_DEVICE").0, "port-down");
}

#[test]
fn an_alias_is_not_a_second_wan_even_while_the_first_is_down() {
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
fn a_second_wan_that_is_down_is_reported_whatever_its_name() {
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
