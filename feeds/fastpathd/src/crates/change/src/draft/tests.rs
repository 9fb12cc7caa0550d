// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::json;

use crate::sample::{draft, lab, named, refused};

#[test]
fn an_edit_applies_to_the_result_of_earlier_edits() {
    let draft = draft(json!([
        {"config": "network", "op": "add", "type": "interface", "section": "guest",
            "values": {"proto": "static", "ipaddr": "10.0.0.1/24"}},
        {"config": "network", "op": "set", "section": "guest", "values": {"ipaddr": null}},
        {"config": "network", "op": "rename", "section": "guest", "name": "visitors"},
        {"config": "firewall", "op": "add", "type": "rule", "id": "new1", "values": {"name": "x"}},
        {"config": "firewall", "op": "order", "sections": ["new1"]},
        {"config": "network", "op": "delete", "section": "iot"},
    ]));
    let visitors = draft.after["network"].section("visitors").unwrap();
    assert_eq!(visitors.options.len(), 1);
    assert!(draft.after["network"].section("iot").is_none());
    assert_eq!(draft.after["firewall"].sections[0].name, "new1");
    assert!(draft.after["firewall"].sections[0].anonymous);
    assert!(draft.is_reordered("firewall") && !draft.is_reordered("network"));
    assert_eq!(draft.touched(), ["firewall", "network"]);
    let changed = draft.changed();
    assert_eq!(changed.len(), 3);
    assert!(changed.iter().filter(|pair| pair.before.is_none()).count() == 2);
    assert!(changed.iter().any(|pair| pair.before.is_some_and(|before| before.name == "iot")));
}

#[test]
fn equal_values_are_not_a_change() {
    let draft = draft(json!([
        {"config": "network", "op": "set", "section": "lan",
            "values": {"proto": "static", "ipaddr": ["10.10.10.1/24"], "mtu": null}},
        {"config": "network", "op": "rename", "section": "lan", "name": "lan"},
    ]));
    assert!(draft.changed().is_empty() && draft.touched().is_empty());
}

#[test]
fn reports_why_an_edit_fails() {
    let error = |op: serde_json::Value| refused(json!([op])).to_string();
    assert_eq!(
        error(json!({"config": "network", "op": "delete", "section": "dmz"})),
        "there is no section 'dmz' in network"
    );
    assert_eq!(
        error(json!({"config": "network", "op": "rename", "section": "iot", "name": "lan"})),
        "there is a section 'lan' in network already"
    );
    assert_eq!(
        error(json!({"config": "dhcp", "op": "add", "type": "host"})),
        "there is no configuration dhcp on this router"
    );
    assert_eq!(
        error(json!({"config": "network", "op": "order", "sections": ["lan", "dmz"]})),
        "there is no section 'dmz' in network"
    );
}

#[test]
fn a_rename_gives_an_anonymous_section_a_name() {
    let vlan = named(&lab(), "network", "vlan", "20").name.clone();
    let edit = json!([{"config": "network", "op": "rename", "section": vlan, "name": "v20"}]);
    let draft = draft(edit);
    assert!(draft.after["network"].section("v20").is_some_and(|section| !section.anonymous));
}
