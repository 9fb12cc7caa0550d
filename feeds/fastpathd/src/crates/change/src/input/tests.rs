// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares rules with verdicts of firewall4 b6e5157 on connections from the zone `lan`: `a`
//! accepts, `r` refuses, `-` does not match or is skipped.

use serde_json::{Value, json};

use super::*;
use crate::sample::packages;

const NETWORK: &str = "
config interface 'lan'
    option device 'br-lan.10'
    option proto 'static'
    list ipaddr '10.10.10.1/24'
    list ip6addr 'fd00:10::1/64'
config interface 'iot'
    option proto 'static'
    list ipaddr '10.10.20.1/24'
";

/// Returns a firewall with a LAN zone of this policy and a rule.
fn firewall(policy: &str, rule: &Value) -> Package {
    let mut rule = rule.clone();
    rule[".type"] = "rule".into();
    rule[".index"] = 2.into();
    let zone = json!({".type": "zone", ".index": 1, "name": "lan", "network": ["lan"],
        "input": policy});
    Package::read(json!({"a": zone, "b": rule}).as_object().unwrap())
}

fn judged(rule: &Value, admin: &Administrator) -> char {
    let open = |policy: &str| {
        let mut packages = packages(&[("network", NETWORK)]);
        packages.insert("firewall".to_owned(), firewall(policy, rule));
        is_open(&packages, packages["network"].section("lan").unwrap(), admin)
    };
    match (open("ACCEPT"), open("REJECT")) {
        (true, true) => 'a',
        (false, false) => 'r',
        (true, false) => '-',
        (false, true) => '?',
    }
}

#[test]
fn a_rule_has_the_same_verdict_as_in_fw4() {
    let golden: Value = serde_json::from_str(include_str!("../../tests/fw4-input.json")).unwrap();
    let packets = golden["packets"].as_array().unwrap().iter().map(|packet| Administrator {
        client: packet[2].as_str().unwrap().parse().unwrap(),
        router: packet[3].as_str().unwrap().parse().unwrap(),
        port: packet[1].as_u64().unwrap().try_into().unwrap(),
        device: None,
        link: None,
        point: None,
    });
    let packets: Vec<Administrator> = packets.collect();
    let mut wrong = Vec::new();
    for case in golden["rules"].as_array().unwrap() {
        let found: String = packets.iter().map(|admin| judged(&case[0], admin)).collect();
        if found != case[1].as_str().unwrap() {
            wrong.push(format!("{} is {found}, to fw4 {}", case[0], case[1]));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rules_for_all_zones_precede_rules_for_one_zone() {
    let mut packages = packages(&[
        ("network", NETWORK),
        (
            "firewall",
            "
config zone
    option name 'lan'
    option device 'br-lan.+'
    option input 'ACCEPT'
config rule
    option src 'lan'
    option target 'ACCEPT'
config rule
    option src '*'
    option proto '!tcp'
    option target 'DROP'
",
        ),
    ]);
    let admin = Administrator {
        client: "10.10.10.20".parse().unwrap(),
        router: "10.10.10.1".parse().unwrap(),
        port: 80,
        device: None,
        link: None,
        point: None,
    };
    let open = |packages: &Packages| {
        is_open(packages, packages["network"].section("lan").unwrap(), &admin)
    };
    assert!(!open(&packages), "fw4 ignores the `!` of a protocol");
    packages.get_mut("firewall").unwrap().sections.truncate(2);
    assert!(open(&packages));
    let zone = &mut packages.get_mut("firewall").unwrap().sections[0];
    zone.options.insert("name".to_owned(), crate::Setting::Text("1an".to_owned()));
    assert!(!open(&packages), "fw4 makes no zone of this name");
}
