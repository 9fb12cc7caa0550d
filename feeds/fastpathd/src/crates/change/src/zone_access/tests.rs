// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::{Value, json};

use super::*;
use crate::sample::{draft, lab, named};

fn found(list: impl Into<Value>) -> Vec<String> {
    let sign = |granted| if granted { '+' } else { '-' };
    let access = access(&draft(list));
    access.iter().map(|of| format!("{}{} {}", sign(of.granted), of.path.code, of.text)).collect()
}

fn add(kind: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!([{"config": "firewall", "op": "add", "type": kind, "id": "x", "values": values}])
}

fn set(section: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!([{"config": "firewall", "op": "set", "section": section, "values": values}])
}

#[test]
fn forwardings_and_policies_grant_access_between_zones() {
    let forwarding = lab()["firewall"].of("forwarding").next().unwrap().name.clone();
    assert_eq!(
        found(add("forwarding", json!({"src": "iot", "dest": "wan"}))),
        ["+zone zone 'iot' to zone 'wan', any port"]
    );
    assert_eq!(
        found(json!([{"config": "firewall", "op": "delete", "section": forwarding}])),
        ["-zone zone 'lan' to zone 'wan', any port"]
    );
    assert_eq!(
        found(set(&forwarding, json!({"enabled": "0"}))),
        ["-zone zone 'lan' to zone 'wan', any port"]
    );
    assert_eq!(
        found(set(&forwarding, json!({"src": "iot"}))),
        ["+zone zone 'iot' to zone 'wan', any port", "-zone zone 'lan' to zone 'wan', any port"]
    );
    let lan = named(&lab(), "firewall", "name", "lan").name.clone();
    assert_eq!(
        found(set(&lan, json!({"input": "DROP"}))),
        ["-router zone 'lan' to the router, any port"]
    );
    assert_eq!(
        found(set(&lan, json!({"forward": "accept"}))),
        ["+zone zone 'lan' to zone 'lan', any port"]
    );
}

#[test]
fn the_default_policy_applies_to_zones_without_a_policy() {
    let defaults = lab()["firewall"].sections[0].name.clone();
    let own = found(set(&defaults, json!({"input": "ACCEPT"})));
    assert_eq!(own, [""; 0], "every zone of the lab has a policy of its own");
    let all = set(&defaults, json!({"forward": "ACCEPT"}));
    let zones = ["every zone", "zone 'lan'", "zone 'iot'", "zone 'wan'"];
    assert_eq!(found(all), zones.map(|zone| format!("+zone {zone} to {zone}, any port")));
}

#[test]
fn a_port_forward_grants_access_to_a_host() {
    let web = json!({"name": "Web", "src": "wan", "src_dport": "443", "dest": "lan",
        "dest_ip": "10.10.10.20", "dest_port": "8443", "proto": "tcp", "target": "DNAT"});
    assert_eq!(
        found(add("redirect", web)),
        ["+port zone 'wan' to 10.10.10.20:8443, tcp 443 ('Web')"]
    );
    let same = json!({"name": "Game", "src": "wan", "src_dport": "27015", "dest_ip": "10.10.10.9"});
    assert_eq!(
        found(add("redirect", same)),
        ["+port zone 'wan' to 10.10.10.9:27015, tcp udp 27015 ('Game')"]
    );
    for other in [
        json!({"src": "lan", "src_dip": "192.0.2.1", "target": "SNAT", "dest_ip": "10.0.0.1"}),
        json!({"src": "wan", "src_dport": "22", "dest_port": "2222"}),
        json!({"src": "wan", "src_dport": "22", "dest_ip": "10.0.0.1", "enabled": "0"}),
    ] {
        assert_eq!(found(add("redirect", other.clone())), [""; 0], "{other}");
    }
}

// fw4 accepts abbreviated targets, and treats an unknown target as DNAT.
#[test]
fn a_redirect_is_a_port_forward_unless_its_target_is_snat() {
    let redirect = |target: &str, host: &str| {
        let ports = json!({"src": "wan", "src_dport": "443"});
        let mut values = ports.as_object().unwrap().clone();
        values.insert("dest_ip".to_owned(), host.into());
        values.insert("target".to_owned(), target.into());
        Value::Object(values)
    };
    let forward = ["+port zone 'wan' to 10.0.0.1:443, tcp udp 443"];
    for target in ["dn", "DNAT", "typo"] {
        assert_eq!(found(add("redirect", redirect(target, "10.0.0.1"))), forward, "{target}");
    }
    assert_eq!(found(add("redirect", redirect("sn", "10.0.0.1"))), [""; 0]);
    assert_eq!(
        found(add("redirect", redirect("DNAT", "2001:db8::10"))),
        ["+port zone 'wan' to [2001:db8::10]:443, tcp udp 443"]
    );
}

#[test]
fn renaming_or_moving_a_rule_does_not_change_access() {
    let rule = |port: &str| json!({"src": "iot", "dest_port": port, "target": "ACCEPT"});
    let add = |id: &str, values: Value| {
        let mut edit = json!({"config": "firewall", "op": "add", "type": "rule", "id": id});
        edit["values"] = values;
        edit
    };
    let list = json!([add("a", json!({"src": "lan"})), add("b", rule("53")), add("c", rule("80"))]);
    let before = draft(list).after;
    let edits = json!([
        {"config": "firewall", "op": "delete", "section": "a"},
        {"config": "firewall", "op": "set", "section": "b", "values": {"name": "DNS"}},
    ]);
    let after = Draft::new(before, &crate::sample::edits(edits)).unwrap();
    assert_eq!(access(&after), []);
}

#[test]
fn a_new_deny_rule_withdraws_access() {
    let accepts = json!({"name": "DNS", "src": "iot", "dest_port": "53", "target": "ACCEPT"});
    assert_eq!(found(add("rule", accepts)), ["+rule zone 'iot' to the router, tcp udp 53 ('DNS')"]);
    let denies = json!({"name": "Mail", "src": "*", "dest": "wan", "proto": "tcp",
        "dest_port": "25", "target": "REJECT"});
    assert_eq!(found(add("rule", denies)), ["-rule every zone to zone 'wan', tcp 25 ('Mail')"]);
    let all = json!({"name": "Off", "src": "iot", "dest": "*", "proto": "all", "target": "DROP"});
    assert_eq!(found(add("rule", all)), ["-rule zone 'iot' to every zone, any port ('Off')"]);
    for none in [
        json!({"dest": "wan", "target": "DROP"}),
        json!({"src": "lan", "target": "MARK", "set_mark": "0x1"}),
        json!({"src": "lan", "target": "NOTRACK"}),
        json!({"src": "lan"}),
    ] {
        assert_eq!(found(add("rule", none.clone())), [""; 0], "{none}");
    }
    let ping = named(&lab(), "firewall", "name", "Allow-Ping").name.clone();
    assert_eq!(
        found(json!([{"config": "firewall", "op": "delete", "section": ping}])),
        ["-rule every zone to the router, icmp ('Allow-Ping')"]
    );
}

#[test]
fn other_settings_do_not_change_access() {
    let lan = named(&lab(), "firewall", "name", "lan").name.clone();
    assert_eq!(found(set(&lan, json!({"mtu_fix": "1"}))), [""; 0]);
    assert_eq!(found(json!([{"config": "network", "op": "delete", "section": "iot"}])), [""; 0]);
}
