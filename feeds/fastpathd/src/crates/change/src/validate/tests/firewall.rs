// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

#[test]
fn reports_faults_of_zones_forwardings_rules_and_redirects() {
    let zone = |values: Value| code(add("firewall", "zone", values));
    assert_eq!(zone(json!({"name": "lan"})), "duplicate");
    assert_eq!(zone(json!({"name": "twelve_chars"})), "value");
    assert_eq!(zone(json!({"name": "dmz", "network": ["dmz"]})), "unknown-interface");
    assert_eq!(zone(json!({"name": "dmz", "network": "lan"})), "zone-twice");
    assert_eq!(zone(json!({"name": "dmz", "input": "MAYBE"})), "value");
    let forwarding = json!({"src": "lan", "dest": "dmz"});
    assert_eq!(code(add("firewall", "forwarding", forwarding)), "unknown-zone");
    let rule = |values: Value| code(add("firewall", "rule", values));
    assert_eq!(rule(json!({"src": "dmz"})), "unknown-zone");
    assert_eq!(rule(json!({"src": "lan", "dest_port": "99999"})), "value");
    assert_eq!(rule(json!({"src": "lan", "proto": "icmp", "dest_port": "80"})), "no-ports");
    assert_eq!(rule(json!({"src": "lan", "src_ip": "10.0.0.300"})), "value");
    assert_eq!(rule(json!({"src": "lan", "target": "PERMIT"})), "value");
    let redirect = json!({"src": "wan", "src_dport": "x", "target": "DNAT"});
    assert_eq!(code(add("firewall", "redirect", redirect)), "value");
    assert_eq!(code(add("firewall", "rule", json!({"src": "lan", "proto": "nosuch"}))), "value");
}

#[test]
fn reports_faults_of_port_forwards() {
    let wrong = |values: Value| {
        let found = judged(json!([add("firewall", "redirect", values)]));
        let notes = found.iter().map(|of| (of.section.clone(), of.option.clone(), of.code));
        notes
            .map(|(section, option, code)| format!("{section} {option} {code}"))
            .collect::<Vec<_>>()
    };
    // Default values of the page's form.
    let empty = json!({"name": "", "target": "DNAT", "proto": "tcp", "src": "wan", "dest": "lan"});
    assert_eq!(wrong(empty), ["new1 dest_ip forward-host"]);
    let both = ["new1 src missing", "new1 dest_ip forward-host"];
    assert_eq!(wrong(json!({"target": "DNAT"})), both);
    let with = |option: &str, value: &str| {
        let mut values = json!({"src": "wan", "src_dport": "80", "dest": "lan", "proto": "tcp",
            "dest_ip": "10.10.10.10", "dest_port": "8080"});
        values[option] = json!(value);
        wrong(values)
    };
    assert_eq!(with("name", "Web"), [""; 0]);
    for (option, bad, code) in [
        ("src", "*", "unknown-zone"),
        ("src", "cellar", "unknown-zone"),
        ("dest", "cellar", "unknown-zone"),
        ("proto", "nosuch", "value"),
        ("src_dport", "0", "value"),
        ("dest_port", "80 81", "value"),
        ("dest_port", "x", "value"),
        ("dest_ip", "host", "value"),
        ("dest_ip", "", "forward-host"),
    ] {
        assert_eq!(with(option, bad), [format!("new1 {option} {code}")], "{option} {bad}");
    }
    // Redirects all DNS requests of the LAN to the router.
    assert_eq!(wrong(json!({"src": "lan", "src_dport": "53", "proto": "tcp udp"})), [""; 0]);
    let all = ["new1 dest missing", "new1 src_dip missing"];
    assert_eq!(wrong(json!({"target": "SNAT"})), all);
    let iot = json!({"config": "network", "op": "delete", "section": "iot"});
    assert_eq!(one(iot).2, "unknown-interface");
}

#[test]
fn reports_a_list_where_fw4_accepts_only_one_value() {
    let lists = |kind: &str, values: Value| {
        let found = judged(json!([add("firewall", kind, values)]));
        let of = found.iter().filter(|of| of.code == "list-given");
        of.map(|of| of.option.clone()).collect::<Vec<_>>()
    };
    let base = |kind: &str| match kind {
        "zone" => json!({"name": "dmz"}),
        "forwarding" => json!({"src": "lan", "dest": "wan"}),
        "redirect" => json!({"src": "wan", "src_dport": "8080", "dest_ip": "10.10.10.10"}),
        _ => json!({"name": "R", "src": "lan", "target": "ACCEPT"}),
    };
    for (kind, single, several) in [
        ("zone", "name input masq family enabled mtu_fix log", "network device subnet masq_src"),
        ("forwarding", "src dest family enabled name", ""),
        (
            "rule",
            "src dest target family limit name mark",
            "proto src_ip dest_ip dest_port src_mac",
        ),
        ("redirect", "src dest src_ip src_dport dest_ip dest_port target src_dip", "proto src_mac"),
        ("nat", "src target snat_ip src_ip", "proto"),
        ("ipset", "name family timeout", "match entry"),
        ("defaults", "input forward syn_flood", ""),
        ("include", "path type", ""),
    ] {
        for option in single.split_whitespace() {
            let mut values = base(kind);
            let value = values[option].as_str().unwrap_or("1").to_owned();
            values[option] = json!([value]);
            assert_eq!(lists(kind, values), [option], "{kind}");
        }
        for option in several.split_whitespace() {
            let mut values = base(kind);
            values[option] = json!(["10.10.10.1"]);
            assert_eq!(lists(kind, values), [""; 0], "{kind} {option}");
        }
    }
}

#[test]
fn reports_a_name_that_is_too_long_for_nft() {
    let long = |kind: &str, values: Value| {
        let found = judged(json!([add("firewall", kind, values)]));
        found.iter().any(|of| of.code == "too-long" && of.option == "name")
    };
    let rule = |name: &str| long("rule", json!({"name": name, "src": "lan", "target": "ACCEPT"}));
    let redirect = |length: usize, reflection: &str| {
        long(
            "redirect",
            json!({"name": "a".repeat(length), "src": "wan", "src_dport": "8080",
            "dest_ip": "10.10.10.10", "reflection": reflection}),
        )
    };
    assert!(!rule(&"a".repeat(122)) && !rule(&"é".repeat(61)));
    assert!(rule(&"a".repeat(123)) && rule(&"é".repeat(62)));
    assert!(!redirect(109, "1") && redirect(110, "1") && !redirect(122, "0") && redirect(123, "0"));
    let forwarding = json!({"name": "a".repeat(123), "src": "lan", "dest": "wan"});
    assert!(long("forwarding", forwarding));
    // fw4 replaces double quotes with single quotes.
    assert_eq!(
        judged(json!([add("firewall", "rule", json!({"name": "a \"b\"", "src": "lan"}))])),
        []
    );
}

#[test]
fn reports_zone_names_that_fw4_does_not_accept() {
    let zone = |name: &str| judged(json!([add("firewall", "zone", json!({"name": name}))]));
    for bad in ["123_guest", "-guest", "1", "a b", "abcdefghijkl", "ü"] {
        let found = zone(bad);
        assert_eq!((found[0].code, found[0].option.as_str()), ("value", "name"), "{bad}");
    }
    for good in ["guest", "_1", "g-2"] {
        assert_eq!(zone(good), [], "{good}");
    }
}
