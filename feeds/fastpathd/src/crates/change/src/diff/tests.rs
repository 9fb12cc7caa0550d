// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::sample::{draft, lab, named};

#[test]
fn each_changed_option_has_a_line() {
    let vlan = named(&lab(), "network", "vlan", "20").name.clone();
    let ports = json!(["lan2:t", "lan3"]);
    let draft = draft(json!([
        {"config": "network", "op": "set", "section": vlan, "values": {"ports": ports}},
        {"config": "network", "op": "add", "type": "interface", "section": "guest",
            "values": {"proto": "none"}},
        {"config": "network", "op": "delete", "section": "iot"},
    ]));
    let lines = lines(&draft);
    let first = json!({"config": "network", "section": vlan, "label": "br-lan 20",
        "type": "bridge-vlan", "what": "set", "option": "ports", "from": ["lan2:t"], "to": ports});
    assert_eq!(json!(lines[0]), first);
    let text = text(&lines);
    assert!(text.contains(&"network.guest: added (interface)".to_owned()), "{text:?}");
    assert!(text.contains(&"network.guest.proto: 'none' instead of nothing".to_owned()));
    assert!(text.contains(&"network.iot: removed (interface)".to_owned()));
}

#[test]
fn a_changed_secret_has_a_line_without_its_values() {
    let draft = draft(json!([
        {"config": "network", "op": "set", "section": "wan", "values": {"password": "new\nline"}},
    ]));
    let lines = lines(&draft);
    assert_eq!(lines.len(), 1);
    let first = json!(lines[0]);
    assert_eq!((&first["from"], &first["to"]), (&json!("•••"), &json!("•••")));
    let all = format!("{lines:?} {:?}", text(&lines));
    assert!(!all.contains("line'") && !all.contains("new"), "{all}");
}

#[test]
fn reordering_and_renaming_have_lines() {
    let first = lab()["firewall"].sections[0].name.clone();
    let draft = draft(json!([
        {"config": "firewall", "op": "rename", "section": first, "name": "base"},
        {"config": "network", "op": "order", "sections": ["wan"]},
    ]));
    let lines = lines(&draft);
    assert_eq!(json!(lines[0])["what"], "rename");
    assert_eq!(json!(lines[1])["section"], json!(null));
    assert_eq!(text(&lines)[1], "network: sections in another order");
}

#[test]
fn a_label_does_not_reveal_a_masked_name() {
    let file = "config odd\n option name geheim\nconfig host\n option name 'ann:geheim@h'\n";
    let package = ::uci::parse(file).unwrap();
    let labels: Vec<_> = package.sections.iter().map(|of| label(&package, of)).collect();
    assert_eq!(labels, ["@odd[0]", "@host[0]"]);
}
