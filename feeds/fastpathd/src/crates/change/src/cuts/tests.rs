// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::json;

use super::*;
use crate::sample::{draft, lab, named};

/// Host h10: untagged in VLAN 10 at port lan1.
fn h10() -> Administrator {
    Administrator {
        client: "10.10.10.10".parse().unwrap(),
        router: "10.10.10.1".parse().unwrap(),
        port: 80,
        device: Some("br-lan.10".to_owned()),
        link: Some("lan1".to_owned()),
        point: None,
    }
}

/// Host h20: tagged in VLAN 20 at port lan2. The firewall denies it access to the router.
fn h20() -> Administrator {
    Administrator {
        client: "10.10.20.10".parse().unwrap(),
        router: "10.10.20.1".parse().unwrap(),
        device: Some("br-lan.20".to_owned()),
        link: Some("lan2".to_owned()),
        ..h10()
    }
}

fn codes(list: serde_json::Value, admin: Administrator) -> Vec<&'static str> {
    cuts(&draft(list), &[admin]).iter().map(|cut| cut.code).collect()
}

fn set(config: &str, section: &str, values: impl Into<serde_json::Value>) -> serde_json::Value {
    let values = values.into();
    json!({"config": config, "op": "set", "section": section, "values": values})
}

fn of(config: &str, option: &str, value: &str) -> String {
    named(&lab(), config, option, value).name.clone()
}

#[test]
fn a_change_of_the_administrators_access_point_is_a_cut() {
    const WIRELESS: &str = "
config wifi-device 'radio0'
    option band '5g'
config wifi-iface 'home'
    option device 'radio0'
    option network 'lan'
    option ssid 'Home'
    option key 'a good key'
config wifi-iface 'guests'
    option device 'radio0'
    option network 'iot'
    option ssid 'Guests'
";
    let mut admin = [Administrator { link: Some("phy0-ap0".to_owned()), ..h10() }];
    let status = json!({"radio0": {"interfaces": [
        {"section": "home", "ifname": "phy0-ap0"}, {"section": "guests"},
    ]}});
    crate::administrator::add_access_points(&mut admin, status.as_object().unwrap());
    let codes = |section: &str, values: serde_json::Value| -> Vec<&'static str> {
        let mut all = lab();
        all.extend(crate::sample::packages(&[("wireless", WIRELESS)]));
        let edit = set("wireless", section, values);
        let draft = Draft::new(all, &crate::sample::edits(json!([edit]))).unwrap();
        cuts(&draft, &admin).iter().map(|cut| cut.code).collect()
    };
    for values in [
        json!({"ssid": "House"}),
        json!({"key": "another key"}),
        json!({"network": "iot"}),
        json!({"disabled": "1"}),
    ] {
        assert_eq!(codes("home", values.clone()), ["wifi"], "{values}");
        assert_eq!(codes("guests", values.clone()), [""; 0], "{values}");
    }
    assert_eq!(codes("radio0", json!({"disabled": "1"})), ["wifi"]);
    assert_eq!(codes("radio0", json!({"channel": "36"})), [""; 0]);
}

#[test]
fn an_unrelated_change_is_not_a_cut() {
    let ten = of("network", "vlan", "10");
    for edit in [
        set("network", "wan", json!({"mtu": "1400"})),
        set("network", "iot", json!({"disabled": "1"})),
        set("network", "lan", json!({"ipaddr": ["10.10.10.1/24", "10.0.0.1/24"]})),
        set("network", &ten, json!({"ports": ["lan1:u*", "lan2:t"]})),
        set("network", &of("network", "vlan", "20"), json!({"ports": ["lan1:t"]})),
        set("firewall", &of("firewall", "name", "iot"), json!({"input": "DROP"})),
    ] {
        assert_eq!(codes(json!([edit]), h10()), [""; 0], "{edit}");
    }
}

#[test]
fn removing_the_interface_or_its_address_is_a_cut() {
    let delete = json!({"config": "network", "op": "delete", "section": "lan"});
    assert_eq!(codes(json!([delete]), h10()), ["interface"]);
    let disabled = set("network", "lan", json!({"disabled": "1"}));
    assert_eq!(codes(json!([disabled]), h10()), ["interface"]);
    let moved = set("network", "lan", json!({"ipaddr": ["192.168.1.1/24"]}));
    let found = cuts(&draft(json!([moved.clone()])), &[h10(), h10()]);
    assert_eq!(
        (found.len(), found[0].code, &found[0].params["to"]),
        (1, "address", &json!("192.168.1.1"))
    );
    assert_eq!(codes(json!([moved]), h20()), [""; 0]);
    let dhcp = set("network", "lan", json!({"proto": "dhcp", "ipaddr": null}));
    assert_eq!(codes(json!([dhcp]), h10()), ["address"]);
}

#[test]
fn moving_the_port_to_another_vlan_is_a_cut() {
    let ten = of("network", "vlan", "10");
    let ports = |ports: serde_json::Value| {
        codes(json!([set("network", &ten, json!({"ports": ports}))]), h10())
    };
    assert_eq!(ports(json!(["lan3:u*"])), ["port"]);
    assert_eq!(ports(json!(["lan1:t", "lan3:u*"])), ["port"]);
    assert_eq!(ports(json!(["lan1", "lan3:u*"])), [""; 0]);
    let twenty = of("network", "vlan", "20");
    let both = json!([
        set("network", &ten, json!({"ports": ["lan1:u", "lan3:u*"]})),
        set("network", &twenty, json!({"ports": ["lan1:u*", "lan2:t"]})),
    ]);
    assert_eq!(codes(both, h10()), ["port"]);
    let untagged = set("network", &twenty, json!({"ports": ["lan2:u*"]}));
    assert_eq!(codes(json!([untagged]), h20()), ["port"]);
    let bridge = of("network", "name", "br-lan");
    let less = set("network", &bridge, json!({"ports": ["lan2", "lan3"]}));
    assert_eq!(codes(json!([less]), h10()), ["port"]);
    let renumbered = json!([
        set("network", &ten, json!({"vlan": "11"})),
        set("network", "lan", json!({"device": "br-lan.11"})),
    ]);
    assert_eq!(codes(renumbered, h10()), [""; 0]);
    assert_eq!(
        codes(json!([set("network", "lan", json!({"device": "br-lan.20"}))]), h10()),
        ["port"]
    );
}

#[test]
fn moving_the_interface_is_a_cut_even_if_the_port_is_unknown() {
    let far = Administrator { device: None, link: None, ..h10() };
    let moved = set("network", "lan", json!({"device": "br-lan.20"}));
    assert_eq!(codes(json!([moved]), far.clone()), ["device"]);
    let ten = of("network", "vlan", "10");
    let ports = set("network", &ten, json!({"ports": ["lan3:u*"]}));
    assert_eq!(codes(json!([ports]), far), [""; 0]);
}

#[test]
fn a_firewall_that_denies_the_administrator_is_a_cut() {
    let zone = of("firewall", "name", "lan");
    for edit in [
        set("firewall", &zone, json!({"input": "REJECT"})),
        set("firewall", &zone, json!({"network": null})),
        json!({"config": "firewall", "op": "delete", "section": zone}),
        json!({"config": "firewall", "op": "add", "type": "rule", "id": "n",
            "values": {"src": "lan", "proto": "tcp", "dest_port": "80-90", "target": "drop"}}),
        json!({"config": "firewall", "op": "add", "type": "rule", "id": "n",
            "values": {"src": "*", "src_ip": "10.10.10.0/24", "target": "REJECT"}}),
    ] {
        assert_eq!(codes(json!([edit]), h10()), ["firewall"], "{edit}");
    }
    let kept = json!([
        set("firewall", &zone, json!({"input": "REJECT"})),
        {"config": "firewall", "op": "add", "type": "rule", "id": "n",
            "values": {"src": "lan", "proto": "tcp", "dest_port": "22 80", "target": "ACCEPT"}},
    ]);
    assert_eq!(codes(kept, h10()), [""; 0]);
    let other = json!({"config": "firewall", "op": "add", "type": "rule", "id": "n",
        "values": {"src": "lan", "src_ip": "10.10.10.99", "target": "REJECT"}});
    assert_eq!(codes(json!([other]), h10()), [""; 0]);
    // The firewall already denies this client access.
    let iot = set("firewall", &of("firewall", "name", "iot"), json!({"input": "DROP"}));
    assert_eq!(codes(json!([iot]), h20()), [""; 0]);
}

#[test]
fn finds_cuts_on_a_bridge_or_port_without_vlans() {
    let packages = crate::sample::packages(&[(
        "network",
        "
config device
    option name 'br-lan'
    option type 'bridge'
    list ports 'lan1'
config interface 'lan'
    option device 'br-lan'
    option proto 'static'
    option ipaddr '10.10.10.1/24'
config interface 'mgmt'
    option device 'eth9'
    option proto 'static'
    option ipaddr '10.0.2.15/24'
",
    )]);
    let bridge = packages["network"].sections[0].name.clone();
    let at = |list: serde_json::Value, admin: Administrator| {
        let edits = crate::sample::edits(list);
        cuts(&Draft::new(packages.clone(), &edits).unwrap(), &[admin]).len()
    };
    let plain = Administrator { device: Some("br-lan".to_owned()), ..h10() };
    let vlan = json!([{"config": "network", "op": "add", "type": "bridge-vlan", "id": "n",
        "values": {"device": "br-lan", "vlan": "10", "ports": ["lan1"]}}]);
    assert_eq!(at(vlan.clone(), plain.clone()), 1);
    let mut migrated = vlan.as_array().unwrap().clone();
    migrated.push(set("network", "lan", json!({"device": "br-lan.10"})));
    assert_eq!(at(json!(migrated), plain), 0);
    let management = Administrator {
        router: "10.0.2.15".parse().unwrap(),
        device: Some("eth9".to_owned()),
        link: Some("eth9".to_owned()),
        ..h10()
    };
    assert_eq!(at(vlan, management.clone()), 0);
    let taken = json!([set("network", &bridge, json!({"ports": ["lan1", "eth9"]}))]);
    assert_eq!(at(taken, management), 1);
}
