// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::{Value, json};

use super::*;
use crate::sample::{draft, lab, named};
use ::uci::Section;

fn opened(list: impl Into<Value>) -> Vec<String> {
    let found = exposes(&draft(list), &BTreeSet::from([22, 80, 443]));
    found.iter().map(|of| format!("{} {} {}", of.code, of.zone, of.to)).collect()
}

fn zone(name: &str) -> String {
    named(&lab(), "firewall", "name", name).name.clone()
}

fn set(config: &str, section: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!({"config": config, "op": "set", "section": section, "values": values})
}

fn add(kind: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!({"config": "firewall", "op": "add", "type": kind, "values": values})
}

fn defaults() -> String {
    lab()["firewall"].sections[0].name.clone()
}

#[test]
fn a_wan_zone_that_accepts_input_is_an_opening() {
    let wan = zone("wan");
    let open = set("firewall", &wan, json!({"input": "accept"}));
    assert_eq!(opened(json!([open.clone()])), ["input wan "]);
    let text = &exposes(&draft(json!([open])), &BTreeSet::new())[0].text;
    assert_eq!(text, "anybody on the Internet could reach the router itself by zone 'wan'");
    let all = set("firewall", &defaults(), json!({"input": "ACCEPT"}));
    let own = set("firewall", &wan, json!({"input": null}));
    assert_eq!(opened(json!([all.clone()])), [""; 0], "the zone has a policy of its own");
    assert_eq!(opened(json!([all, own])), ["input wan "]);
}

#[test]
fn a_zone_named_router_is_not_the_router() {
    let own = add("zone", json!({"name": "router"}));
    let open = add("forwarding", json!({"src": "wan", "dest": "router"}));
    assert_eq!(opened(json!([own, open])), ["forward wan router"]);
}

#[test]
fn adding_a_wan_interface_to_an_open_zone_is_an_opening() {
    let moved = set("firewall", &zone("lan"), json!({"network": ["lan", "wan"]}));
    assert_eq!(opened(json!([moved])), ["input lan "]);
    let masked = set("firewall", &zone("lan"), json!({"masq": "1"}));
    assert_eq!(opened(json!([masked])), [""; 0], "it reaches the Internet by wan");
    let iot = set("firewall", &zone("iot"), json!({"input": "ACCEPT"}));
    assert_eq!(opened(json!([iot])), [""; 0]);
}

#[test]
fn a_forwarding_from_a_wan_zone_is_an_opening() {
    let to = |dest: &str| add("forwarding", json!({"src": "wan", "dest": dest}));
    assert_eq!(opened(json!([to("iot")])), ["forward wan iot"]);
    assert_eq!(opened(json!([to("*")])), ["forward wan *"]);
    let off = add("forwarding", json!({"src": "wan", "dest": "iot", "enabled": "0"}));
    assert_eq!(opened(json!([off])), [""; 0]);
    let inner = add("forwarding", json!({"src": "iot", "dest": "lan"}));
    assert_eq!(opened(json!([inner])), [""; 0]);
    let own = set("firewall", &zone("wan"), json!({"forward": "ACCEPT"}));
    assert_eq!(opened(json!([own])), [""; 0], "from one WAN to another no LAN is reached");
    let all = set("firewall", &defaults(), json!({"forward": "ACCEPT"}));
    assert_eq!(opened(json!([all.clone()])), ["forward wan *"]);
    assert_eq!(opened(json!([all, to("iot")])), ["forward wan *", "forward wan iot"]);
}

#[test]
fn a_rule_that_accepts_from_a_wan_zone_is_an_opening() {
    let rule = |values: Value| {
        let mut all = json!({"src": "wan", "target": "ACCEPT", "name": "Ssh"});
        all.as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
        opened(json!([add("rule", all)]))
    };
    assert_eq!(rule(json!({"src": "*", "proto": "all"})), ["rule wan "]);
    assert_eq!(rule(json!({"dest": "lan"})), ["rule wan lan"]);
    for closed in [
        json!({"proto": "icmp"}),
        json!({"proto": "udp", "dest_port": "51820"}),
        json!({"src_ip": "192.0.2.1"}),
        json!({"target": "REJECT"}),
        json!({"enabled": "0"}),
        json!({"src": "lan"}),
        json!({"dest": "lan", "dest_ip": "10.10.10.10"}),
    ] {
        assert_eq!(rule(closed.clone()), [""; 0], "{closed}");
    }
}

#[test]
fn a_port_forward_of_one_port_is_not_an_opening() {
    let host = json!({"src": "wan", "dest": "lan", "src_dport": "80", "dest_ip": "10.10.10.10"});
    assert_eq!(opened(json!([add("redirect", host)])), [""; 0]);
}

#[test]
fn an_existing_opening_is_not_reported() {
    let mut packages = lab();
    let wan = zone("wan");
    let find = |of: &Section| of.name == wan;
    let place = packages["firewall"].sections.iter().position(find).unwrap();
    let firewall = packages.get_mut("firewall").unwrap();
    let input = crate::Setting::Text("ACCEPT".into());
    firewall.sections[place].options.insert("input".into(), input);
    let at = |list: Value| {
        let edits = crate::sample::edits(list);
        exposes(&Draft::new(packages.clone(), &edits).unwrap(), &BTreeSet::from([22, 80])).len()
    };
    let all = add("rule", json!({"src": "wan", "target": "ACCEPT", "proto": "all"}));
    assert_eq!(at(json!([all])), 0, "the router is open already");
    assert_eq!(at(json!([set("firewall", &wan, json!({"mtu_fix": "1"}))])), 0);
    assert_eq!(at(json!([add("forwarding", json!({"src": "wan", "dest": "lan"}))])), 1);
}

#[test]
fn an_opening_with_options_that_exclude_nobody_is_reported() {
    let rule = |values: Value| {
        let mut all = json!({"name": "a", "src": "wan", "proto": "all", "target": "ACCEPT"});
        all.as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
        opened(json!([add("rule", all)]))
    };
    let router = ["rule wan "];
    assert_eq!(rule(json!({})), router);
    assert_eq!(rule(json!({"proto": "tcp udp", "dest_port": "1-65535"})), router);
    assert_eq!(rule(json!({"proto": "tcp", "dest_port": "22 80 443"})), router);
    assert_eq!(rule(json!({"src": "*"})), router);
    assert_eq!(rule(json!({"src_ip": "0.0.0.0/0"})), router);
    assert_eq!(rule(json!({"src_ip": ["0.0.0.0/1", "128.0.0.0/1"]})), router);
    assert_eq!(rule(json!({"proto": "tcp udp", "src_port": "1-65535"})), router);
    assert_eq!(rule(json!({"dest_ip": "0.0.0.0/0"})), router);
    assert_eq!(rule(json!({"src": "*", "device": "pppoe-wan", "direction": "in"})), router);
    assert_eq!(rule(json!({"dest": "*"})), ["rule wan *"]);
    let all = json!({"dest": "lan", "proto": "tcp udp", "dest_port": "1-65535"});
    assert_eq!(rule(all), ["rule wan lan"]);
    let redirect = |values: Value| {
        let mut all = json!({"name": "a", "src": "wan", "dest": "lan", "target": "DNAT"});
        all.as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
        opened(json!([add("redirect", all)]))
    };
    let own = json!({"src_dport": "1-65535", "dest_ip": "10.10.10.1", "proto": "tcp udp"});
    assert_eq!(redirect(own), ["redirect wan "]);
    let host = json!({"dest_ip": "10.10.10.10", "proto": "all"});
    assert_eq!(redirect(host), ["redirect wan 10.10.10.10"]);
}

#[test]
fn an_already_open_service_is_not_reported() {
    let mut packages = lab();
    let ssh =
        |port: &str| json!({"src": "wan", "target": "ACCEPT", "proto": "tcp", "dest_port": port});
    let first = draft(json!([add("rule", ssh("22"))]));
    packages.insert("firewall".to_owned(), first.after["firewall"].clone());
    let at = |values: Value| {
        let edits = crate::sample::edits(json!([add("rule", values)]));
        exposes(&Draft::new(packages.clone(), &edits).unwrap(), &BTreeSet::from([22, 80])).len()
    };
    assert_eq!((at(ssh("22")), at(ssh("20-22")), at(ssh("22 80"))), (0, 0, 1));
}

fn opened_in(network: &str, firewall: &str, list: Value) -> Vec<String> {
    let packages = crate::sample::packages(&[("firewall", firewall), ("network", network)]);
    let draft = Draft::new(packages, &crate::sample::edits(list)).unwrap();
    let found = exposes(&draft, &BTreeSet::from([22, 80]));
    found.iter().map(|of| format!("{} {} {}", of.code, of.zone, of.to)).collect()
}

const NETWORK: &str = "
config interface lan
    option proto static
    option device br-lan
    option ipaddr 10.0.0.1/24
config interface wan
    option proto dhcp
    option device eth1
config interface lte
    option proto dhcp
    option device usb0
";

const FIREWALL: &str = "
config defaults d
    option input ACCEPT
    option forward REJECT
config zone l
    option name lan
    list network lan
    option input ACCEPT
    option forward ACCEPT
config zone w
    option name wan
    list network wan
    option input DROP
    option forward DROP
config zone m
    option name mobile
    list network lte
    option masq 1
    option input DROP
    option forward DROP
config forwarding f
    option src lan
    option dest wan
config rule r1
    option name closed
    option src wan
    option proto tcp
    option dest_port 22
    option target DROP
config rule r2
    option name open
    option src wan
    option proto tcp
    option dest_port '22 80'
    option target ACCEPT
config rule r3
    option name four
    option src wan
    option dest lan
    option proto all
    option family ipv4
    option target ACCEPT
config rule r4
    option name broken
    option src wan
    option dest lan
    option proto all
    option target ACCEPT
    option src_ip friends.example
";

#[test]
fn moving_renaming_or_deleting_sections_can_add_an_opening() {
    let opened = |list: Value| opened_in(NETWORK, FIREWALL, list);
    let op = |config: &str, op: &str, section: &str| -> Value {
        json!({"config": config, "op": op, "section": section})
    };
    let set = |section: &str, values: Value| set("firewall", section, values);
    let renamed = |config: &str, from: &str, to: &str| -> Value {
        json!({"config": config, "op": "rename", "section": from, "name": to})
    };
    let to_lan = set("l", json!({"network": ["lan", "lte"]}));
    for (list, expected) in [
        (json!([op("firewall", "delete", "r1")]), vec!["rule wan "]),
        (json!([set("r1", json!({"enabled": "0"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"dest_port": "23"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"src": "lan"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"limit": "9/second"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"family": "ipv6"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"src_ip": "192.0.2.7"}))]), vec!["rule wan "]),
        (json!([set("r1", json!({"target": "ACCEPT"}))]), vec!["rule wan ", "rule wan "]),
        (
            json!([{"config": "firewall", "op": "order", "sections": ["r2", "r1"]}]),
            vec!["rule wan "],
        ),
        (json!([set("r2", json!({"src": "*"}))]), vec!["rule mobile ", "rule wan "]),
        (json!([set("r2", json!({"proto": "tcp udp"}))]), vec!["rule wan "]),
        (json!([set("r3", json!({"family": null}))]), vec!["rule wan lan"]),
        (json!([set("r3", json!({"family": "any"}))]), vec!["rule wan lan"]),
        (json!([set("r4", json!({"src_ip": null}))]), vec!["rule wan lan"]),
        (
            json!([set("m", json!({"network": null})), to_lan]),
            vec!["input lan ", "forward lan lan"],
        ),
        (json!([set("m", json!({"masq": "0", "input": "ACCEPT"}))]), vec!["input mobile "]),
        (
            json!([
                renamed("network", "lte", "modem"),
                set("m", json!({"network": null})),
                set("l", json!({"network": ["lan", "modem"]}))
            ]),
            vec!["input lan ", "forward lan lan"],
        ),
        (
            json!([op("network", "delete", "lte"), set("m", json!({"network": null})),
                {"config": "network", "op": "add", "type": "interface", "section": "x",
                    "values": {"device": "usb0", "proto": "dhcp"}},
                set("l", json!({"network": ["lan", "x"]}))]),
            vec!["input lan ", "forward lan lan"],
        ),
        (json!([set("w", json!({"network": null}))]), vec!["input wan "]),
        (json!([op("firewall", "delete", "w")]), vec!["input wan "]),
        (json!([set("w", json!({"enabled": "0"}))]), vec!["input wan "]),
        (json!([set("l", json!({"device": ["eth+"]}))]), vec!["input lan ", "forward lan lan"]),
        (json!([set("l", json!({"network": null, "subnet": "0.0.0.0/0"}))]), vec!["input lan "]),
        (
            json!([set("w", json!({"network": ["wan", "lan"], "forward": "ACCEPT"}))]),
            vec!["forward wan wan"],
        ),
    ] {
        assert_eq!(opened(list.clone()), expected, "{list}");
    }
}

#[test]
fn an_edit_that_admits_no_more_packets_is_not_reported() {
    let opened = |list: Value| opened_in(NETWORK, FIREWALL, list);
    let set = |section: &str, values: Value| set("firewall", section, values);
    for list in [
        json!([set("r1", json!({"dest_port": "22 80"}))]),
        json!([set("r1", json!({"name": "other", "proto": "all", "dest_port": null}))]),
        json!([set("r1", json!({"src": "*"}))]),
        json!([set("r2", json!({"dest_port": "80"}))]),
        json!([set("r2", json!({"src_ip": "192.0.2.0/24"}))]),
        json!([set("r2", json!({"limit": "9/second"}))]),
        json!([set("r3", json!({"proto": "tcp"}))]),
        json!([set("r3", json!({"src_ip": "0.0.0.0/0"}))]),
        json!([{"config": "firewall", "op": "delete", "section": "r2"}]),
        json!([{"config": "firewall", "op": "delete", "section": "r4"}]),
        json!([{"config": "firewall", "op": "rename", "section": "r1", "name": "r9"}]),
        json!([{"config": "firewall", "op": "order", "sections": ["r3", "r1", "r2"]}]),
        json!([set("w", json!({"network": ["wan", "lte"]})), set("m", json!({"network": null}))]),
        json!([set("d", json!({"input": "DROP"}))]),
        json!([set("l", json!({"masq": "1"}))]),
        json!([set("m", json!({"input": "REJECT"}))]),
        json!([{"config": "network", "op": "set", "section": "wan",
            "values": {"proto": "pppoe", "device": "eth0"}}]),
    ] {
        assert_eq!(opened(list.clone()), [""; 0], "{list}");
    }
}

#[test]
fn several_added_anonymous_sections_are_all_checked() {
    let rule = |src: &str| add("rule", json!({"src": src, "target": "ACCEPT", "proto": "all"}));
    let named = json!({"config": "firewall", "op": "add", "type": "zone", "section": "new",
        "values": {"name": "other"}});
    for list in [
        json!([rule("wan"), rule("lan")]),
        json!([rule("lan"), rule("wan")]),
        json!([named, rule("wan"), rule("lan")]),
    ] {
        assert_eq!(opened_in(NETWORK, FIREWALL, list.clone()), ["rule wan "], "{list}");
    }
}

#[test]
fn moving_a_service_to_an_open_port_is_reported() {
    let open = format!(
        "{FIREWALL}config rule\n option src wan\n option proto udp\n option dest_port 5300\n \
         option target ACCEPT\n"
    );
    let dhcp = "config dnsmasq d\n option port 53\n";
    let files = [("firewall", &*open), ("network", NETWORK), ("dhcp", dhcp)];
    let count = |port: &str| {
        let edit = json!({"config": "dhcp", "op": "set", "section": "d", "values": {"port": port}});
        let edits = crate::sample::edits(json!([edit]));
        let draft = Draft::new(crate::sample::packages(&files), &edits).unwrap();
        exposes(&draft, &BTreeSet::from([22, 53, 80])).len()
    };
    assert_eq!((count("5300"), count("5301")), (1, 0));
}

#[test]
fn an_interface_on_the_device_of_a_wan_leads_to_the_internet() {
    let opened = |list: Value| opened_in(NETWORK, FIREWALL, list);
    let interface = |values: Value| {
        json!({"config": "network", "op": "add", "type": "interface", "section": "x",
            "values": values})
    };
    let lan = set("firewall", "l", json!({"network": ["lan", "x"]}));
    let moved = |section: &str, device: &str| set("network", section, json!({"device": device}));
    let bridge = |ports: Value| {
        json!({"config": "network", "op": "add", "type": "device",
            "values": {"name": "br-lan", "type": "bridge", "ports": ports}})
    };
    for list in [
        json!([interface(json!({"proto": "static", "device": "eth1"})), lan]),
        json!([interface(json!({"proto": "dhcpv6", "device": "eth1"})), lan]),
    ] {
        assert_eq!(opened(list.clone()), ["input lan ", "forward lan lan"], "{list}");
    }
    for list in [
        json!([moved("lan", "eth1")]),
        json!([moved("lan", "eth1"), moved("wan", "br-lan")]),
        json!([bridge(json!(["eth0", "eth1"]))]),
        json!([bridge(json!("eth0 usb0"))]),
    ] {
        assert_eq!(opened(list.clone()), ["input lan "], "{list}");
    }
    for list in [
        json!([interface(json!({"proto": "static", "device": "eth1.7"})), lan]),
        json!([bridge(json!(["eth0", "eth2"]))]),
        json!([moved("wan", "eth2")]),
    ] {
        assert_eq!(opened(list.clone()), [""; 0], "{list}");
    }
    // The port below PPPoE receives untagged frames only from the modem.
    let pppoe = NETWORK.replacen("proto dhcp", "proto pppoe", 1);
    let modem = json!([interface(json!({"proto": "static", "device": "eth1"})), lan]);
    assert_eq!(opened_in(&pppoe, FIREWALL, modem), [""; 0]);
}
