// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::ports::DEVICES;
use crate::facts::{Facts, Known, bridges, uci};
use crate::finding::{Finding, Fix};
use crate::machine::fake::Fake;
use crate::texts::tests::all_found;

/// Adds a bridge to `/sys` whose ports have a link and forward.
fn bridge(mut fake: Fake, name: &str, aware: u8, ports: &[&str]) -> Fake {
    fake = fake.file(&format!("{DEVICES}/{name}/bridge/vlan_filtering"), &aware.to_string());
    for port in ports {
        fake = fake
            .file(&format!("{DEVICES}/{name}/brif/{port}/state"), "3\n")
            .file(&format!("{DEVICES}/{port}/brport/state"), "3\n")
            .file(&format!("{DEVICES}/{port}/carrier"), "1\n");
    }
    fake
}

fn member(vid: u16, tagged: bool, pvid: bool) -> Value {
    json!({"vid": vid, "tagged": tagged, "pvid": pvid})
}

fn topology(lan1: &Value, own: &Value) -> Value {
    let lan2 = json!({"name": "lan2", "vlans": [member(20, true, false)]});
    let inner = json!({"name": "br-lan", "vlans": own});
    let ports = json!([{"name": "lan1", "vlans": lan1}, lan2, inner]);
    json!({"bridges": [{"name": "br-lan", "vlan_filtering": true, "ports": ports}]})
}

fn healthy() -> Value {
    let own = json!([member(10, true, false), member(20, true, false)]);
    topology(&json!([member(10, false, true)]), &own)
}

fn found(fake: &Fake, topology: &Value) -> Vec<(&'static str, Finding)> {
    let topology = Known::from(topology.clone());
    let facts =
        Facts { bridges: bridges::read(fake, &topology), uci: uci::read(fake), ..Facts::default() };
    all_found(CHECKS, &facts)
}

fn aware() -> Fake {
    bridge(Fake::new(), "br-lan", 1, &["lan1", "lan2"])
}

#[test]
fn a_vlan_aware_bridge_has_no_finding() {
    assert_eq!(found(&aware(), &healthy()), []);
}

#[test]
fn reports_a_port_without_pvid_or_vlan() {
    let own = json!([member(10, true, false), member(20, true, false)]);
    let (id, finding) =
        found(&aware(), &topology(&json!([member(10, false, false)]), &own)).remove(0);
    assert_eq!((id, finding.case), ("bridge-pvid", ""));
    assert_eq!(finding.evidence[0].value, "10u");
    let (id, finding) = found(&aware(), &topology(&json!([]), &json!([]))).remove(0);
    assert_eq!((id, finding.case), ("bridge-pvid", "no-vlan"));
}

#[test]
fn reports_a_vlan_without_ports() {
    let own = json!([member(10, true, false), member(30, true, false)]);
    let (id, finding) =
        found(&aware(), &topology(&json!([member(10, false, true)]), &own)).remove(0);
    assert_eq!((id, &finding.params["vlans"]), ("bridge-vlan-empty", &json!("30")));
}

#[test]
fn reports_a_port_blocked_by_the_spanning_tree_unless_it_has_no_link() {
    let blocked = aware().file(&format!("{DEVICES}/lan2/brport/state"), "4\n");
    let (id, finding) = found(&blocked, &healthy()).remove(0);
    assert_eq!((id, &finding.params["state"]), ("bridge-stp", &json!("blocking")));
    let unplugged = blocked.file(&format!("{DEVICES}/lan2/carrier"), "0\n");
    assert_eq!(found(&unplugged, &healthy()), []);
}

const VLANS: &str = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n\
                     lan2.20        | 20  | lan2\n";
const NETWORK: &str = "
config device 'v10'
    option name 'br-lan'
    option type 'bridge'
    list ports 'lan1'
    list ports 'lan3'
config device 'tag'
    option name 'lan2.20'
    option type '8021q'
    option ifname 'lan2'
    option vid '20'
config device 'v20'
    option name 'br-iot'
    option type 'bridge'
    list ports 'lan2.20'
config interface 'lan'
    option device 'br-lan'
config interface 'iot'
    option device 'br-iot'
";

fn per_vlan() -> Fake {
    let fake = bridge(Fake::new(), "br-lan", 0, &["lan1", "lan3"]);
    bridge(fake, "br-iot", 0, &["lan2.20"]).file("/proc/net/vlan/config", VLANS)
}

#[test]
fn the_fix_joins_bridges_for_one_vlan_each() {
    let fake = per_vlan().file("/etc/config/network", NETWORK);
    let (id, finding) = found(&fake, &json!({})).remove(0);
    assert_eq!((id, finding.case), ("bridge-per-vlan", ""));
    let Some(Fix::Change(edits)) = finding.fix else { panic!("no change") };
    let set = |section: &str, values: Value| {
        let config = "network";
        json!({"op": "set", "config": config, "section": section, "values": values})
    };
    let delete = |section: &str| json!({"op": "delete", "config": "network", "section": section});
    let vlan = |vlan: &str, ports: Value| {
        json!({
            "op": "add", "config": "network", "type": "bridge-vlan",
            "values": {"device": "br-lan", "vlan": vlan, "ports": ports},
        })
    };
    let ports = json!({"ports": ["lan1", "lan2", "lan3"], "vlan_filtering": null});
    let expected = [
        delete("v20"),
        delete("tag"),
        set("v10", ports),
        vlan("20", json!(["lan2:t"])),
        set("iot", json!({"device": "br-lan.20"})),
        vlan("1", json!(["lan1:u*", "lan3:u*"])),
        set("lan", json!({"device": "br-lan.1"})),
    ];
    assert_eq!(edits, expected);
}

#[test]
fn offers_no_fix_for_bridges_outside_uci() {
    let fake = per_vlan().file("/etc/config/network", &NETWORK.replace("br-iot", "br-other"));
    let (_, finding) = found(&fake, &json!({})).remove(0);
    assert_eq!((finding.case, &finding.fix), ("manual", &None));
}

#[test]
fn a_single_plain_bridge_has_no_finding() {
    assert_eq!(found(&bridge(Fake::new(), "br-lan", 0, &["lan1"]), &json!({})), []);
}
