// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const MWAN3: &str = "
config interface 'wan'
    option enabled '1'
    option family 'ipv4'
    list track_ip '192.0.2.1'
config interface 'wanb'
    option enabled '0'
config member 'wan_m1'
    option interface 'wan'
    option metric '1'
config policy 'failover'
    list use_member 'wan_m1'
config rule 'default_rule_v4'
    option dest_ip '0.0.0.0/0'
    option use_policy 'failover'
";
const IGMPPROXY: &str = "
config phyint 'up'
    option network 'wan'
    option direction 'upstream'
    list altnet '192.0.2.0/24'
";

fn found(edit: &Value) -> Vec<(String, String, &'static str)> {
    let mut all = router();
    all.extend(packages(&[("mwan3", MWAN3), ("igmpproxy", IGMPPROXY)]));
    let draft = Draft::new(all, &edits(json!([edit]))).unwrap();
    let problems = problems(&draft, &validators()).into_iter();
    problems.map(|of| (of.section, of.option, of.code)).collect()
}

#[test]
fn reports_faults_of_second_lines_and_the_igmp_proxy() {
    let one = |edit: Value| {
        let mut found = found(&edit);
        assert_eq!(found.len(), 1, "{edit}: {found:?}");
        found.remove(0).2
    };
    for good in [
        set("mwan3", "default_rule_v4", json!({"use_policy": "unreachable"})),
        set("mwan3", "wan_m1", json!({"metric": "256", "weight": "1000"})),
        set("igmpproxy", "up", json!({"altnet": ["10.0.0.0/8", "192.0.2.0/24"]})),
    ] {
        assert_eq!(found(&good), [], "{good}");
    }
    // The package's own example has a disabled interface without a network.
    assert_eq!(one(set("mwan3", "wanb", json!({"enabled": "1"}))), "unknown-interface");
    assert_eq!(one(set("mwan3", "wan", json!({"family": "ip"}))), "value");
    assert_eq!(one(set("mwan3", "wan_m1", json!({"interface": "wan2"}))), "unknown-section");
    assert_eq!(one(set("mwan3", "wan_m1", json!({"metric": "0"}))), "value");
    assert_eq!(one(set("mwan3", "failover", json!({"use_member": ["a"]}))), "unknown-section");
    assert_eq!(one(set("mwan3", "default_rule_v4", json!({"use_policy": "b"}))), "unknown-section");
    let long = json!({"config": "mwan3", "op": "add", "type": "policy",
        "section": "a_name_of_16_let", "values": {"use_member": ["wan_m1"]}});
    assert_eq!(one(long), "too-many-characters");
    assert_eq!(one(set("igmpproxy", "up", json!({"network": "iptv"}))), "unknown-interface");
    assert_eq!(one(set("igmpproxy", "up", json!({"direction": "both"}))), "value");
    assert_eq!(one(set("igmpproxy", "up", json!({"altnet": ["192.0.2.1"]}))), "value");
}

#[test]
fn a_device_of_an_interface_is_not_a_bridge_port() {
    let bridge = |port: &str| json!({"name": "br-iptv", "type": "bridge", "ports": [port]});
    assert_eq!(found(&add("network", "device", bridge("wan.40"))), []);
    let used = add("network", "device", bridge("wan.35"));
    assert_eq!(found(&used), [("new1".into(), "ports".into(), "port-used")]);
}
