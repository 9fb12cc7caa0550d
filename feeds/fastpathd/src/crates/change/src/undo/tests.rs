// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::sample::{draft, lab, named};
use ::uci::Setting;

fn undone(draft: &Draft, current: &Packages) -> Packages {
    let edits = inverse(draft, current).unwrap();
    Draft::new(current.clone(), &edits).unwrap().after
}

fn same(a: &Packages, b: &Packages) -> bool {
    a.len() == b.len() && a.iter().all(|(name, package)| package.says(&b[name]))
}

#[test]
fn undoes_each_kind_of_edit() {
    let vlan = named(&lab(), "network", "vlan", "10").name.clone();
    let draft = draft(json!([
        {"config": "network", "op": "set", "section": "wan",
            "values": {"password": "x", "mtu": "1400"}},
        {"config": "network", "op": "set", "section": vlan, "values": {"ports": null}},
        {"config": "network", "op": "delete", "section": "iot"},
        {"config": "network", "op": "rename", "section": "lan", "name": "home"},
        {"config": "firewall", "op": "add", "type": "zone", "id": "z", "values": {"name": "guest"}},
    ]));
    assert!(same(&undone(&draft, &draft.after), &draft.before));
}

/// Files that the page's network screens edit, besides those of [`lab`].
const SCREENS: &[(&str, &str)] = &[
    (
        "dhcp",
        "
config dnsmasq 'dns'
    option domain 'lan'
config dhcp 'lan'
    option dhcpv6 'server'
",
    ),
    (
        "igmpproxy",
        "
config phyint 'up'
    option network 'lan'
    list altnet '192.0.2.0/24'
",
    ),
    (
        "mwan3",
        "
config interface 'wan'
    option enabled '0'
config member 'wan_m1'
    option interface 'wan'
config rule 'default_rule_v4'
    option use_policy 'balanced'
",
    ),
    (
        "https-dns-proxy",
        "
config https-dns-proxy 'one'
    option bootstrap_dns '1.1.1.1,1.0.0.1'
    option resolver_url 'https://cloudflare-dns.com/dns-query'
",
    ),
    (
        "stubby",
        "
config resolver 'one'
    option address '1.1.1.1'
    option tls_auth_name 'one.one.one.one'
",
    ),
];

/// Returns the edit of a section, or one that adds a named or an anonymous section.
fn edit(op: &str, config: &str, [kind, section]: [&str; 2], values: impl Into<Value>) -> Value {
    let values = values.into();
    let name = if op == "new" { "id" } else { "section" };
    let op = if op == "new" { "add" } else { op };
    let mut edit = json!({"config": config, "op": op, name: section, "values": values});
    if op == "add" {
        edit["type"] = json!(kind);
    }
    edit
}

fn network_edits() -> Vec<Value> {
    let name = |config, option, value| named(&lab(), config, option, value).name.clone();
    let (bridge, vlan) = (name("network", "name", "br-lan"), name("network", "vlan", "10"));
    let zone = name("firewall", "name", "wan");
    let set = |config, section, values| edit("set", config, ["", section], values);
    let add = |config, kind: [&str; 2], values| edit("add", config, kind, values);
    let new =
        |config, kind: &str, values| edit("new", config, [kind, &kind.replace('-', "_")], values);
    let iptv = json!({"name": "br-iptv", "type": "bridge", "ports": ["wan.40", "lan3"]});
    let members = json!({"device": "br-iptv", "vlan": "40", "ports": ["wan.40:u*", "lan3:u*"]});
    let second = json!({"device": "lan2", "proto": "dhcp", "metric": "20"});
    vec![
        json!([set("dhcp", "lan", json!({"start": "60", "limit": "20", "leasetime": "1h"}))]),
        json!([add("dhcp", ["dhcp", "iot"], json!({"interface": "iot", "ra": "server"}))]),
        json!([set("dhcp", "lan", json!({"ra": "relay", "dhcpv6": null, "dns": ["fd00::1"]}))]),
        json!([set("network", "iot", json!({"ip6assign": "64"}))]),
        json!([new("dhcp", "host", json!({"mac": ["02:00:00:00:00:01"], "ip": "10.10.10.7"}))]),
        json!([new("dhcp", "domain", json!({"name": "nas.lan", "ip": "10.10.10.5"}))]),
        json!([set("dhcp", "dns", json!({"server": ["9.9.9.9"], "domain": null}))]),
        json!([
            set("network", &bridge, json!({"ports": ["lan1", "lan2"]})),
            set("network", &vlan, json!({"ports": ["lan1:u*"]})),
            new("network", "device", iptv),
            new("network", "bridge-vlan", members),
            add("network", ["interface", "iptv"], json!({"device": "br-iptv.40"})),
        ]),
        json!([set("igmpproxy", "up", json!({"network": "wan", "altnet": ["10.0.0.0/8"]}))]),
        json!([
            set("network", "wan", json!({"metric": "10"})),
            add("network", ["interface", "wan2"], second),
            set("firewall", &zone, json!({"network": ["wan", "wan6", "wan2"]})),
            set("mwan3", "wan", json!({"enabled": "1"})),
            add("mwan3", ["interface", "wan2"], json!({"enabled": "1"})),
            add("mwan3", ["member", "wan2_m2"], json!({"interface": "wan2", "metric": "2"})),
            add("mwan3", ["policy", "failover"], json!({"use_member": ["wan_m1", "wan2_m2"]})),
            set("mwan3", "default_rule_v4", json!({"use_policy": "failover"})),
        ]),
        json!([set(
            "https-dns-proxy",
            "one",
            json!({"resolver_url": "https://dns.quad9.net/dns-query", "bootstrap_dns": null}),
        )]),
        json!([
            set("stubby", "one", json!({"address": "9.9.9.9", "tls_auth_name": "dns.quad9.net"})),
            new("stubby", "resolver", json!({"address": "2620:fe::fe"})),
            set("dhcp", "dns", json!({"server": ["127.0.0.1#5453"], "noresolv": "1"})),
        ]),
    ]
}

#[test]
fn undoes_each_edit_of_the_network_screens() {
    let mut before = lab();
    before.extend(crate::sample::packages(SCREENS));
    let mut drafts: Vec<Draft> = Vec::new();
    for (number, list) in network_edits().into_iter().enumerate() {
        let edits = crate::sample::edits(list.clone());
        let alone = Draft::new(before.clone(), &edits).unwrap();
        assert!(!same(&alone.after, &before), "{list}");
        assert!(same(&undone(&alone, &alone.after), &before), "{list}");
        let now = drafts.first().map_or(&before, |of| &of.after).clone();
        let mut next = Draft::new(now, &edits).unwrap();
        next.name_added(|index| format!("cfg{number}_{index}"));
        drafts.insert(0, next);
    }
    let current = drafts[0].after.clone();
    let edits = all_undone(&drafts, &current).unwrap();
    assert!(same(&Draft::new(current, &edits).unwrap().after, &before));
}

#[test]
fn undo_keeps_later_changes_of_other_values() {
    let draft = draft(json!([{"config": "network", "op": "delete", "section": "lan"}]));
    let since = crate::sample::edits(json!([
        {"config": "network", "op": "add", "type": "interface", "section": "vpn"},
        {"config": "network", "op": "set", "section": "wan", "values": {"mtu": "1400"}},
    ]));
    let current = Draft::new(draft.after.clone(), &since).unwrap().after;
    let after = undone(&draft, &current);
    let names: Vec<&str> = after["network"].of("interface").map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["lan", "iot", "wan", "wan6", "vpn"]);
    assert_eq!(after["network"].section("wan").unwrap().text("mtu"), Some("1400"));
}

fn refused_after(change: Value, since: Value) -> ChangedSince {
    let draft = draft(change);
    let since = crate::sample::edits(since);
    let current = Draft::new(draft.after.clone(), &since).unwrap().after;
    inverse(&draft, &current).unwrap_err()
}

#[test]
fn a_change_is_undone_with_the_later_change_of_its_value() {
    let set = |mtu: &str| {
        let values = json!({"mtu": mtu});
        json!([{"config": "network", "op": "set", "section": "wan", "values": values}])
    };
    let first = draft(set("1400"));
    let second = Draft::new(first.after.clone(), &crate::sample::edits(set("1300"))).unwrap();
    assert!(inverse(&first, &second.after).is_err());
    let drafts = [second, first];
    let edits = all_undone(&drafts, &drafts[0].after).unwrap();
    assert_eq!(
        edits,
        crate::sample::edits(json!([
            {"config": "network", "op": "set", "section": "wan", "values": {"mtu": null}}
        ]))
    );
    let since = Draft::new(drafts[0].after.clone(), &crate::sample::edits(set("1200"))).unwrap();
    assert_eq!(all_undone(&drafts, &since.after).unwrap_err().option, "mtu");
}

fn all_undone(drafts: &[Draft], current: &Packages) -> Result<Vec<Edit>, ChangedSince> {
    let mut undo = Undo::new(current.clone());
    for draft in drafts {
        undo.add(draft)?;
    }
    undo.edits()
}

#[test]
fn refuses_to_undo_a_value_that_was_changed_again() {
    let set = |mtu: &str| {
        let values = json!({"mtu": mtu});
        json!([{"config": "network", "op": "set", "section": "wan", "values": values}])
    };
    let error = refused_after(set("1400"), set("1300"));
    assert_eq!((error.section.as_str(), error.option.as_str()), ("wan", "mtu"));
    let delete = json!([{"config": "network", "op": "delete", "section": "wan"}]);
    assert_eq!(refused_after(set("1400"), delete.clone()).section, "wan");
    let add = json!([{"config": "network", "op": "add", "type": "interface", "section": "wan"}]);
    assert_eq!(refused_after(delete, add).section, "wan");
    let add = json!([{"config": "network", "op": "add", "type": "interface", "section": "vpn"}]);
    let set = json!([{"config": "network", "op": "set", "section": "vpn", "values": {"a": "b"}}]);
    assert_eq!(refused_after(add, set).option, "a");
}

#[test]
fn an_anonymous_section_is_found_under_its_new_name() {
    let rule = named(&lab(), "firewall", "name", "Allow-Ping").name.clone();
    let draft = draft(json!([
        {"config": "firewall", "op": "set", "section": rule, "values": {"enabled": "0"}},
    ]));
    let mut current = draft.after.clone();
    let sections = &mut current.get_mut("firewall").unwrap().sections;
    for section in sections.iter_mut() {
        section.name = format!("x{}", section.name);
    }
    let after = undone(&draft, &current);
    assert_eq!(named(&after, "firewall", "name", "Allow-Ping").text("enabled"), None);
}

/// Generates small packages, some with equal sections.
fn package() -> impl Strategy<Value = Package> {
    let options = prop::collection::btree_map("[ab]", "[xy]".prop_map(Setting::Text), 0..3);
    let section = (prop::option::of("[a-d]|undo[01]|undo0_1"), "[st]", options);
    prop::collection::vec(section, 0..7).prop_map(|list| {
        let mut package = Package::default();
        for (index, (name, kind, options)) in list.into_iter().enumerate() {
            let anonymous = name.as_ref().is_none_or(|name| package.section(name).is_some());
            let name = name.filter(|_| !anonymous).unwrap_or_else(|| format!("cfg{index}"));
            package.sections.push(Section { name, anonymous, kind, options });
        }
        package
    })
}

/// Returns a draft with edits of existing sections. `steps` select sections and values.
fn changed(package: Package, steps: &[(u8, usize, String, String)]) -> Draft {
    let before = Packages::from([("network".to_owned(), package)]);
    let mut edits: Vec<Edit> = Vec::new();
    for (index, (what, place, name, value)) in steps.iter().enumerate() {
        let now = Draft::new(before.clone(), &edits).unwrap().after;
        let sections = &now["network"].sections;
        let section = sections.get(place % sections.len().max(1)).map(|of| of.name.clone());
        let setting = Some(Setting::Text(value.clone()));
        let op = match (what % 6, section) {
            (0 | 1, Some(section)) => {
                Op::Set { section, values: Values::from([(name.clone(), setting)]) }
            }
            (2, Some(section)) => Op::Set { section, values: Values::from([(name.clone(), None)]) },
            (3, Some(section)) => Op::Delete { section },
            (4, Some(section)) => Op::Order { sections: vec![section] },
            (5, Some(section)) if now["network"].section(name).is_none() => {
                Op::Rename { section, name: name.clone() }
            }
            _ => {
                let id = Some(format!("new{index}"));
                Op::Add { kind: value.clone(), name: None, id, options: Options::new() }
            }
        };
        edits.push(Edit { config: "network".to_owned(), op });
    }
    Draft::new(before, &edits).unwrap()
}

use ::uci::Options;

proptest! {
    #[test]
    fn undoing_several_changes_restores_the_first_configuration(
        package in package(),
        steps in prop::collection::vec(
            prop::collection::vec((any::<u8>(), 0..9usize, "[a-f]", "[stxy]"), 0..5), 0..4),
    ) {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut now = package.clone();
        for (number, steps) in steps.iter().enumerate() {
            let next = changed(now.clone(), steps);
            // uci generates other names for added sections than the draft.
            let mut written = next.clone();
            written.name_added(|index| format!("cfg{number}_{index}"));
            now = written.after["network"].clone();
            drafts.insert(0, next);
        }
        let current = Packages::from([("network".to_owned(), now)]);
        let edits = all_undone(&drafts, &current).unwrap();
        let back = Draft::new(current, &edits).unwrap();
        prop_assert!(back.after["network"].says(&package), "{edits:?}");
    }

    #[test]
    fn inverting_twice_restores_the_change(
        package in package(),
        steps in prop::collection::vec((any::<u8>(), 0..9usize, "[a-f]", "[stxy]"), 0..8),
    ) {
        let there = changed(package, &steps);
        let edits = inverse(&there, &there.after).unwrap();
        let back = Draft::new(there.after.clone(), &edits).unwrap();
        prop_assert!(same(&back.after, &there.before), "{:?}", inverse(&there, &there.after));
        let again = undone(&back, &back.after);
        prop_assert!(same(&again, &there.after), "{:?}", inverse(&back, &back.after));
    }
}
