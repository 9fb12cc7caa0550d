// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::json;

use super::*;
use crate::edit::read_edits;
use crate::sample::{FIREWALL, NETWORK, packages};

fn draft(edit: Value) -> Draft {
    let packages = packages(&[("network", NETWORK), ("firewall", FIREWALL)]);
    Draft::new(packages, &read_edits(&[edit]).unwrap()).unwrap()
}

/// Returns the state of a router: an address of br-lan.10, and tagged VLANs of lan1.
fn seen(address: &str, tagged: &[u64]) -> Seen {
    let vlans: Vec<Value> =
        tagged.iter().map(|vid| json!({"vid": vid, "tagged": true, "pvid": false})).collect();
    let topology = json!({
        "links": [
            {"name": "br-lan.10", "master": "", "mtu": 1500, "addresses": [address]},
            {"name": "lan1", "master": "br-lan", "mtu": 1500, "addresses": []},
        ],
        "bridges": [{"name": "br-lan", "ports": [{"name": "lan1", "vlans": vlans}]}],
    });
    Seen { topology: topology.as_object().cloned(), ..Seen::default() }
}

fn set(section: &str, values: &Value) -> Value {
    json!({"config": "network", "op": "set", "section": section, "values": values})
}

#[test]
fn an_address_is_in_force_once_it_is_the_devices_only_address() {
    let draft = draft(set("lan", &json!({"ipaddr": "10.10.99.1/24"})));
    let result = |address: &str| in_force(&draft, 0, &seen(address, &[]));
    assert_eq!(result("10.10.10.1/24"), Some(false));
    assert_eq!(result("10.10.99.1/24"), Some(true));
    assert_eq!(in_force(&draft, 0, &Seen::default()), None);
}

#[test]
fn a_vlan_is_in_force_once_its_ports_are_members() {
    let values = json!({"device": "br-lan", "vlan": "77", "ports": ["lan1:t", "absent:t"]});
    let add = json!({"config": "network", "op": "add", "type": "bridge-vlan", "values": values});
    let draft = draft(add);
    let result = |tagged: &[u64]| in_force(&draft, 0, &seen("10.10.10.1/24", tagged));
    assert_eq!((result(&[20]), result(&[20, 77])), (Some(false), Some(true)));
}

#[test]
fn an_ssid_is_in_force_once_its_radio_is_up() {
    let wireless = "
config wifi-device 'radio0'
config wifi-iface 'guests'
    option device 'radio0'
    option network 'lan'
    option ssid 'Guests'
";
    let list = |values: Value| {
        let edit = json!([{"config": "wireless", "op": "set", "section": "guests",
            "values": values}]);
        read_edits(edit.as_array().unwrap()).unwrap()
    };
    let result = |values: Value, up: bool, ssid: &str, network: &str| {
        let draft = Draft::new(packages(&[("wireless", wireless)]), &list(values)).unwrap();
        let status = json!({"radio0": {"up": up, "pending": false, "interfaces": [
            {"section": "guests", "config": {"ssid": ssid, "network": [network]}},
        ]}});
        in_force(&draft, 0, &Seen { wireless: status.as_object().cloned(), ..Seen::default() })
    };
    let renamed = || json!({"ssid": "Visitors"});
    assert_eq!(result(renamed(), true, "Guests", "lan"), Some(false));
    assert_eq!(result(renamed(), false, "Visitors", "lan"), Some(false));
    assert_eq!(result(renamed(), true, "Visitors", "lan"), Some(true));
    assert_eq!(result(json!({"network": "guest"}), true, "Guests", "lan"), Some(false));
    assert_eq!(result(json!({"network": "guest"}), true, "Guests", "guest"), Some(true));
    assert_eq!(result(json!({"disabled": "1"}), true, "Guests", "lan"), Some(false));
    assert_eq!(result(json!({"key": "another key"}), true, "Guests", "lan"), None);
}

#[test]
fn the_state_of_a_change_without_a_fact_is_unknown() {
    let draft = draft(set("lan", &json!({"metric": "7"})));
    assert_eq!(in_force(&draft, 0, &seen("10.10.10.1/24", &[])), None);
}

#[test]
fn the_firewall_is_in_force_after_the_next_reload() {
    let rule = json!({"config": "firewall", "op": "add", "type": "rule", "values": {"name": "x"}});
    let draft = draft(rule);
    let result = |firewall_ms| in_force(&draft, 50, &Seen { firewall_ms, ..Seen::default() });
    assert_eq!((result(Some(49)), result(Some(50)), result(None)), (Some(false), Some(true), None));
}

#[test]
fn the_firewall_is_not_in_force_during_a_reload() {
    let folder = std::env::temp_dir().join(format!("fastpath-force-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (state, lock) = (path("state"), path("lock"));
    assert_eq!(loaded(&state, &lock), None);
    std::fs::write(&state, "").unwrap();
    assert!(loaded(&state, &lock).unwrap() > 0);
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    assert_eq!(loaded(&state, &lock), Some(0));
    drop(held);
    assert!(loaded(&state, &lock).unwrap() > 0);
    std::fs::remove_dir_all(&folder).unwrap();
}
