// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::*;
use crate::parse_uci;

/// The default configuration of `OpenWrt`, with its rules for packets that a WAN needs.
const DELIVERED: &str = "
config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'

config zone 'lan'
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'ACCEPT'

config zone 'wan'
	option name 'wan'
	list network 'wan'
	list network 'wan6'
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'DROP'
	option masq '1'
	option mtu_fix '1'

config forwarding
	option src 'lan'
	option dest 'wan'

config rule
	option name 'Allow-Ping'
	option src 'wan'
	option proto 'icmp'
	option icmp_type 'echo-request'
	option family 'ipv4'
	option target 'ACCEPT'

config rule
	option name 'Allow-ICMPv6-Forward'
	option src 'wan'
	option dest '*'
	option proto 'icmp'
	list icmp_type 'echo-request'
	option target 'ACCEPT'

config rule
	option name 'Allow-IPSec-ESP'
	option src 'wan'
	option dest 'lan'
	option proto 'esp'
	option target 'ACCEPT'

config rule
	option name 'Allow-ISAKMP'
	option src 'wan'
	option dest 'lan'
	option dest_port '500'
	option proto 'udp'
	option target 'ACCEPT'
";

fn with(more: &str) -> Vec<Exposure> {
    exposures(&parse_uci(&format!("{DELIVERED}{more}")).unwrap())
}

/// Type of the section, zone, and the opening.
fn exposed(more: &str) -> Vec<(&'static str, String, String)> {
    let name = |opening| match opening {
        Opening::Router => "router".to_owned(),
        Opening::Zone(zone) => zone,
    };
    with(more).into_iter().map(|e| (e.kind, e.zone, name(e.opening))).collect()
}

fn one(kind: &'static str, zone: &str, to: &str) -> Vec<(&'static str, String, String)> {
    vec![(kind, zone.to_owned(), to.to_owned())]
}

#[test]
fn a_router_as_it_is_delivered_is_closed() {
    assert_eq!(with(""), []);
    assert_eq!(exposures(&Value::Null), []);
    assert_eq!(exposures(&json!({"a": 3, "b": {".type": "zone"}})), []);
}

#[test]
fn a_zone_that_accepts_opens_the_router() {
    for policy in ["ACCEPT", "accept", "Acc"] {
        let open = with(&format!("config zone 'wan'\n option input '{policy}'\n"));
        let section = "wan".to_owned();
        let zone = "wan".to_owned();
        assert_eq!(open, [Exposure { section, kind: "zone", zone, opening: Opening::Router }]);
    }
    assert_eq!(with("config zone 'wan'\n option input 'DROP'\n"), []);
    let off = "config zone 'wan'\n option input 'ACCEPT'\n option enabled '0'\n";
    assert_eq!(with(off), [], "not in force");
}

#[test]
fn a_zone_without_a_policy_has_the_default_one() {
    let file = |input: &str| {
        parse_uci(&format!(
            "config defaults\n option input '{input}'\nconfig zone 'w'\n option name 'wan'\n"
        ))
        .unwrap()
    };
    assert_eq!(exposures(&file("ACCEPT"))[0].section, "w");
    assert_eq!(exposures(&file("REJECT")), []);
}

#[test]
fn a_forwarding_opens_the_zone_it_leads_to() {
    let forwarding = |src: &str, dest: &str| {
        exposed(&format!("config forwarding\n option src '{src}'\n option dest '{dest}'\n"))
    };
    assert_eq!(forwarding("wan", "lan"), one("forwarding", "wan", "lan"));
    assert_eq!(forwarding("*", "lan"), one("forwarding", "wan", "lan"));
    assert_eq!(forwarding("wan", "*"), one("forwarding", "wan", "*"));
    assert_eq!(forwarding("lan", "wan"), []);
    assert_eq!(forwarding("wan", "wan"), []);
    let off = "config forwarding\n option src 'wan'\n option dest 'lan'\n option enabled '0'\n";
    assert_eq!(exposed(off), []);
}

#[test]
fn a_default_that_forwards_opens_every_zone() {
    let mut file = parse_uci(DELIVERED).unwrap();
    let sections = file.as_object_mut().unwrap();
    sections.values_mut().find(|s| s[".type"] == "defaults").unwrap()["forward"] = "ACCEPT".into();
    let found = exposures(&file);
    assert_eq!((found[0].kind, &found[0].opening), ("defaults", &Opening::Zone("*".into())));
}

#[test]
fn a_rule_that_names_no_port_opens_all() {
    let rule = |options: &[(&str, &str)]| {
        let options: Vec<String> =
            options.iter().map(|(name, value)| format!(" option {name} '{value}'\n")).collect();
        exposed(&format!("config rule\n option target 'ACCEPT'\n{}", options.concat()))
    };
    assert_eq!(rule(&[("src", "wan")]), one("rule", "wan", "router"));
    assert_eq!(rule(&[("src", "*"), ("proto", "all")]), one("rule", "wan", "router"));
    assert_eq!(rule(&[("src", "wan"), ("dest", "lan")]), one("rule", "wan", "lan"));
    let narrowed = [
        ("dest_port", "22"),
        ("src_ip", "192.0.2.1"),
        ("proto", "icmp"),
        ("target", "DROP"),
        ("enabled", "0"),
        ("ipset", "friends"),
        ("weekdays", "Mon"),
    ];
    for narrow in narrowed {
        assert_eq!(rule(&[("src", "wan"), narrow]), [], "{narrow:?}");
    }
    assert_eq!(rule(&[("src", "lan")]), []);
    assert_eq!(rule(&[]), [], "without a zone it is for packets that the router sends");
}

#[test]
fn a_zone_that_masquerades_is_an_outer_one_unless_it_leads_through_another() {
    let zone = |name: &str| {
        format!("config zone\n option name '{name}'\n option masq '1'\n option input 'ACCEPT'\n")
    };
    let forwarding = |src: &str, dest: &str| {
        format!("config forwarding\n option src {src}\n option dest {dest}\n")
    };
    assert_eq!(exposed(&zone("lte")), one("zone", "lte", "router"));
    let vpn = format!("{}{}", zone("vpn"), forwarding("vpn", "wan"));
    assert_eq!(exposed(&vpn), [], "a VPN's server");
    let opened = format!("{vpn}{}", forwarding("wan", "vpn"));
    assert_eq!(exposed(&opened), one("forwarding", "wan", "vpn"));
    let both = format!("{}{}{}", zone("a"), zone("b"), forwarding("a", "b"));
    assert_eq!(exposed(&both), one("zone", "b", "router"));
    let each_other = format!("{both}{}", forwarding("b", "a"));
    assert_eq!(exposed(&each_other).len(), 2, "either may be the outer one");
}
