// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::{Value, json};

use super::*;
use crate::draft::Draft;
use crate::sample::{edits, lab, named, packages};

const MORE: &[(&str, &str)] = &[
    ("dhcp", "config dhcp lan\nconfig host\n\toption name a\n\toption ip 10.10.10.9\n"),
    ("system", "config system\n\toption hostname gateway\n"),
    ("rpcd", "config login\n\toption username root\n\toption password '$p$root'\n"),
    ("wireless", WIRELESS),
];

const WIRELESS: &str = "
config wifi-device 'radio0'
    option type 'mac80211'
    option path 'platform/soc/wifi'
    option band '5g'
    option channel 'auto'
    option country 'DE'
config wifi-iface 'home'
    option device 'radio0'
    option mode 'ap'
    option network 'lan'
    option ssid 'Home'
    option encryption 'sae-mixed'
    option key 'a good key'
";

fn validators() -> Validators {
    let devices = ["lan1", "lan2", "lan3", "wan", "lo"].map(str::to_owned);
    let bands = json!({"5G": {"modes": ["NOHT", "HT20", "HT40", "VHT80"]}});
    let board = json!({"wlan": {"phy0": {"path": "soc/wifi", "info": {"bands": bands}}}});
    Validators { devices: devices.into(), daemon: Daemon(None), board, ..Validators::default() }
}

fn router() -> Packages {
    let mut all = lab();
    all.extend(packages(MORE));
    all
}

fn judged(list: Value) -> Vec<Problem> {
    let draft = Draft::new(router(), &edits(list)).unwrap();
    problems(&draft, &validators())
}

/// Returns section, option and code of the only problem of an edit.
fn one(edit: impl Into<Value>) -> (String, String, &'static str) {
    let edit = edit.into();
    let mut found = judged(json!([edit]));
    assert_eq!(found.len(), 1, "{edit}: {found:?}");
    let Problem { section, option, code, .. } = found.remove(0);
    (section, option, code)
}

fn set(config: &str, section: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!({"config": config, "op": "set", "section": section, "values": values})
}

fn add(config: &str, kind: &str, values: impl Into<Value>) -> Value {
    let values = values.into();
    json!({"config": config, "op": "add", "type": kind, "id": "new1", "values": values})
}

fn code(edit: Value) -> &'static str {
    one(edit).2
}

#[test]
fn a_valid_configuration_has_no_problems() {
    assert_eq!(examine(&router(), &validators()), []);
    let good = [
        set("network", "wan", json!({"username": "ü's \"name\"", "password": "x".repeat(255)})),
        set("network", "wan", json!({"keepalive": "5 1", "ipv6": "auto", "mtu": "1492"})),
        set("network", "lan", json!({"ipaddr": ["10.10.10.1/24", "192.168.1.1/24"]})),
        add("network", "interface", json!({"proto": "dhcp", "device": "lan1.7"})),
        add("firewall", "rule", json!({"src": "wan", "dest_port": "80 443", "proto": "tcp udp"})),
        add("dhcp", "host", json!({"mac": "52:54:00:01:02:03", "ip": "10.10.10.7"})),
    ];
    for edit in good {
        assert_eq!(judged(json!([edit])), [], "{edit}");
    }
}

#[test]
fn reports_faults_of_radios_and_ssids() {
    let good = [
        set("wireless", "radio0", json!({"channel": "36", "country": "00", "disabled": "1"})),
        set("wireless", "radio0", json!({"htmode": "VHT80", "txpower": "20"})),
        set("wireless", "radio0", json!({"htmode": "HT40+"})),
        set("wireless", "radio0", json!({"htmode": "EHT320", "path": "other/wifi"})),
        set("wireless", "home", json!({"ieee80211r": "1", "bss_transition": "1"})),
        set("wireless", "home", json!({"key": "0".repeat(64), "encryption": "psk2+ccmp"})),
        set("wireless", "home", json!({"key": null, "encryption": "owe"})),
        set("wireless", "home", json!({"ssid": "ü".repeat(16), "network": null})),
        add("wireless", "wifi-iface", json!({"device": "radio0", "mode": "sta"})),
    ];
    for edit in good {
        assert_eq!(judged(json!([edit])), [], "{edit}");
    }
    for (option, value) in [
        ("country", "de"),
        ("country", "Germany"),
        ("channel", "256"),
        ("band", "5"),
        ("htmode", "VHT160"),
        ("htmode", "HT80"),
        ("txpower", "41"),
        ("disabled", "maybe"),
    ] {
        let found = one(set("wireless", "radio0", json!({option: value})));
        assert_eq!(found, ("radio0".into(), option.into(), "value"), "{value}");
    }
    for (option, value, what) in [
        ("ssid", Value::Null, "missing"),
        ("ssid", json!("x".repeat(33)), "value"),
        ("key", Value::Null, "missing"),
        ("key", json!("short"), "value"),
        ("key", json!("g".repeat(64)), "value"),
        ("key", json!("schlüssel"), "value"),
        ("encryption", json!("wpa9"), "value"),
        ("ieee80211k", json!("maybe"), "value"),
        ("mode", json!("master"), "value"),
        ("device", json!("radio7"), "unknown-radio"),
        ("device", Value::Null, "missing"),
        ("network", json!("dmz"), "unknown-interface"),
    ] {
        let found = one(set("wireless", "home", json!({option: value})));
        assert_eq!(found, ("home".into(), option.into(), what), "{value}");
    }
    let bad = judged(json!([set("wireless", "home", json!({"key": "short"}))])).remove(0);
    assert!(!bad.text.contains("short"), "{}", bad.text);
    let gone = json!({"config": "network", "op": "delete", "section": "lan"});
    let of = |problem: &Problem| problem.config == "wireless" && problem.option == "network";
    assert!(judged(json!([gone])).iter().any(of), "an SSID without its network");
}

#[test]
fn reports_faults_of_vlans() {
    let bridge = |vlan: &str, ports: Value| {
        add("network", "bridge-vlan", json!({"device": "br-lan", "vlan": vlan, "ports": ports}))
    };
    for bad in ["0", "4095", "-1", "abc", "65546"] {
        assert_eq!(code(bridge(bad, json!(["lan2:t"]))), "vlan-range", "{bad}");
    }
    assert_eq!(code(bridge("10", json!(["lan2:t"]))), "vlan-duplicate");
    assert_eq!(code(bridge("30", json!(["lan1:u*"]))), "pvid-twice");
    assert_eq!(code(bridge("30", json!(["lan9:t"]))), "unknown-port");
    assert_eq!(code(bridge("30", json!(["lan2:t", "lan2"]))), "port-twice");
    assert_eq!(code(bridge("30", json!(["lan2:x"]))), "value");
    let elsewhere = json!({"device": "br-x", "vlan": "30"});
    assert_eq!(code(add("network", "bridge-vlan", elsewhere)), "unknown-device");
    let tagged = json!({"name": "eth.5", "type": "8021q", "vid": "5000"});
    assert_eq!(code(add("network", "device", tagged)), "vlan-range");
    let vlan = json!({"proto": "none", "device": "br-lan.30"});
    assert_eq!(code(add("network", "interface", vlan)), "unknown-vlan");
    let ten = named(&lab(), "network", "vlan", "10").name.clone();
    let gone = json!({"config": "network", "op": "delete", "section": ten});
    assert_eq!(one(gone), ("lan".into(), "device".into(), "unknown-vlan"));
}

#[test]
fn reports_faults_of_devices() {
    let device = |values: Value| code(add("network", "device", values));
    assert_eq!(device(json!({"name": "br-lan"})), "duplicate");
    assert_eq!(device(json!({"name": "a-name-too-long-for-it"})), "value");
    assert_eq!(device(json!({"name": "br-x", "type": "bridge", "ports": ["lan1"]})), "port-twice");
    assert_eq!(device(json!({"name": "br-x", "mtu": "20"})), "value");
    let on = |device: &str| add("network", "interface", json!({"proto": "none", "device": device}));
    assert_eq!(code(on("eth7")), "unknown-device");
    assert_eq!(code(on("lan1.5000")), "vlan-range");
    assert_eq!(code(on("@dmz")), "unknown-interface");
    assert_eq!(code(on("a b")), "value");
}

#[test]
fn reports_faults_of_addresses() {
    let at = |address: &str| one(set("network", "iot", json!({"ipaddr": address})));
    assert_eq!(at("10.10.10.7"), ("iot".into(), "ipaddr".into(), "address-collides"));
    for (bad, what) in [
        ("10.10.20.0", "no-host"),
        ("10.10.20.255", "no-host"),
        ("224.0.0.1", "no-host"),
        ("10.10.20.1/33", "value"),
        ("10.10.20", "value"),
        ("::1", "value"),
    ] {
        assert_eq!(at(bad).2, what, "{bad}");
    }
    assert_eq!(code(set("network", "iot", json!({"netmask": "255.0.255.0"}))), "value");
    assert_eq!(code(set("network", "iot", json!({"netmask": null}))), "prefix");
    assert_eq!(code(set("network", "iot", json!({"ipaddr": null}))), "missing");
    let whole = json!({"ipaddr": "10.0.0.1", "netmask": "255.0.0.0"});
    assert_eq!(code(set("network", "iot", whole)), "address-collides");
    assert_eq!(code(set("network", "lan", json!({"ip6addr": ["2001:db8::1/129"]}))), "value");
    assert_eq!(code(set("network", "lan", json!({"proto": null}))), "missing");
    assert_eq!(code(set("network", "wan", json!({"dns": ["1.1.1"]}))), "value");
}

#[test]
fn reports_faults_of_pppoe() {
    let wan = |values: Value| one(set("network", "wan", values));
    let long = "n".repeat(500);
    assert_eq!(wan(json!({"username": long})), ("wan".into(), "username".into(), "too-long"));
    assert_eq!(wan(json!({"password": "ü".repeat(128)})).2, "too-long");
    assert_eq!(wan(json!({"username": "two\nlines"})).2, "control");
    assert_eq!(wan(json!({"service": "\u{1b}[2J"})).2, "control");
    assert_eq!(wan(json!({"mtu": "1500"})).2, "mtu-device");
    assert_eq!(wan(json!({"mtu": "20"})).2, "value");
    assert_eq!(wan(json!({"keepalive": "often"})).2, "value");
    assert_eq!(wan(json!({"ipv6": "perhaps"})).2, "value");
    let name = json!({"config": "network", "op": "add", "type": "interface",
        "section": "provider_two", "values": {"proto": "pppoe", "device": "lan1.7"}});
    assert_eq!(code(name), "name-length");
    let big = |name: &str| {
        json!({"config": "network", "op": "add", "type": "device", "id": format!("d{}", name.len()),
            "values": {"name": name, "mtu": "1508"}})
    };
    let all = [big("wan"), big("wan.35"), set("network", "wan", json!({"mtu": "1500"}))];
    assert_eq!(judged(json!(all)), []);
}

#[test]
fn rules_that_block_an_address_are_valid() {
    for address in ["203.0.113.9", "2001:db8::9"] {
        for side in ["src_ip", "dest_ip"] {
            let rule = json!({"name": format!("Block-{address}"), "src": "*", "dest": "*",
                "proto": "all", "target": "DROP", side: address});
            assert_eq!(judged(json!([add("firewall", "rule", rule)])), [], "{side} {address}");
        }
    }
}

#[test]
fn upstream_servers_are_those_of_dnsmasq() {
    let servers =
        |server: &str| judged(json!([add("dhcp", "dnsmasq", json!({"server": [server]}))]));
    let (good, bad) = (
        [
            "9.9.9.9",
            "9.9.9.9#5353",
            "2620:fe::fe",
            "fe80::1%eth0",
            "9.9.9.9@wan",
            "/lan/",
            "/a.b/#",
            "/a.b/c.d/192.0.2.1#54",
            "//192.0.2.1",
            "/*.a.b/192.0.2.1",
        ],
        [
            "dns.example",
            "9.9.9.9#0",
            "9.9.9.9#70000",
            "9.9.9.9#",
            "/a b/192.0.2.1",
            "/a.b",
            "9.9.9.9@",
            "9.9.9.9 8.8.8.8x",
            "/a.b/c",
        ],
    );
    for server in good {
        assert_eq!(servers(server), [], "{server}");
    }
    for server in &bad {
        assert_eq!(servers(server).len(), 1, "{server}");
    }
}

#[test]
fn reports_faults_of_hosts_names_and_logins() {
    assert_eq!(code(add("dhcp", "host", json!({"name": "b", "ip": "10.10.10.9"}))), "duplicate");
    assert_eq!(code(add("dhcp", "host", json!({"mac": "52:54"}))), "value");
    assert_eq!(code(add("dhcp", "host", json!({"ip": "10.10.10.10"}))), "missing");
    assert_eq!(code(add("dhcp", "dhcp", json!({"interface": "dmz"}))), "unknown-interface");
    assert_eq!(code(set("dhcp", "lan", json!({"leasetime": "soon"}))), "value");
    for (option, bad) in [("ra", "on"), ("dhcpv6", "1"), ("start", "0"), ("start", "255")] {
        assert_eq!(code(set("dhcp", "lan", json!({option: bad}))), "value", "{option} {bad}");
    }
    assert_eq!(code(set("dhcp", "lan", json!({"limit": "0"}))), "value");
    let off = json!({"start": "255", "ignore": "1", "ra": "hybrid", "dns": ["fd00::1"]});
    assert_eq!(judged(json!([set("dhcp", "lan", off)])), []);
    let name = |name: &str, ip: &str| add("dhcp", "domain", json!({"name": name, "ip": ip}));
    assert_eq!(judged(json!([name("nas.lan", "10.10.10.5")])), []);
    assert_eq!(judged(json!([name("nas", "fd00::5")])), []);
    assert_eq!(code(name("n as!", "10.10.10.5")), "value");
    assert_eq!(code(name("nas", "10.10.10")), "value");
    let system = router()["system"].sections[0].name.clone();
    for bad in ["-a", "a b", "a.b", "ü", "$(reboot)"] {
        assert_eq!(code(set("system", &system, json!({"hostname": bad}))), "value", "{bad}");
    }
    let login = |name: &str, password: &str| {
        let problem =
            judged(json!([add("rpcd", "login", json!({"username": name, "password": password}))]));
        assert_eq!(problem.len(), 1);
        assert!(!problem[0].text.contains(password), "{}", problem[0].text);
        problem[0].code
    };
    assert_eq!(login("root", "$p$other"), "duplicate");
    assert_eq!(login("ann", "geheim"), "plain-password");
}

#[test]
fn an_earlier_problem_does_not_block_a_change() {
    let network =
        format!("{}\nconfig interface 'old'\n\toption device 'gone0'\n", crate::sample::NETWORK);
    let before = packages(&[("network", &network)]);
    let list = json!([set("network", "wan", json!({"mtu": "1400"}))]);
    let draft = Draft::new(before, &edits(list)).unwrap();
    assert!(!examine(&draft.before, &validators()).is_empty());
    assert_eq!(problems(&draft, &validators()), []);
}

#[test]
fn the_daemon_checks_its_own_file() {
    let folder = std::env::temp_dir().join(format!("change-daemon-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("fastpathd");
    let said = json!({"config": "fastpath", "section": "main", "option": "engine",
        "value": "warp", "code": "not-listed", "params": {"value": "warp", "names": "off, ebpf"},
        "text": "section 'main', option 'engine', value 'warp': is not one of off, ebpf"});
    let bad = json!({"problems": [said], "warnings": []});
    let good = json!({"problems": [], "warnings": []});
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = '--json --check' ] || exit 2\n\
         echo run >>{}\nshift 2\n\
         says() {{ grep -q warp \"$1\" && echo '{bad}' || echo '{good}'; }}\n\
         echo \"[$(says \"$1\"), $(says \"$2\")]\"\n",
        folder.join("runs").display()
    );
    std::fs::write(&program, script).unwrap();
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, runnable).unwrap();
    let validators = Validators { daemon: Daemon(Some(program)), ..validators() };
    let before = packages(&[("fastpath", "config fastpath 'main'\n\toption engine 'flowtable'\n")]);
    let engine = |engine: &str| {
        let list = json!([set("fastpath", "main", json!({"engine": engine}))]);
        problems(&Draft::new(before.clone(), &edits(list)).unwrap(), &validators)
    };
    assert_eq!(engine("ebpf"), []);
    let found = engine("warp");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].section.as_str(), found[0].option.as_str()), ("main", "engine"));
    assert_eq!((found[0].code, &found[0].params["names"]), ("not-listed", &json!("off, ebpf")));
    let runs = std::fs::read_to_string(folder.join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 2, "one process for each change");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn renaming_a_section_does_not_make_an_old_problem_new() {
    let firewall = format!(
        "{}\nconfig rule\n\toption name 'Old'\n\toption src 'lan'\n\toption proto 'warp'\n",
        crate::sample::FIREWALL
    );
    let before = packages(&[("network", crate::sample::NETWORK), ("firewall", &firewall)]);
    let old = before["firewall"].sections.last().unwrap().name.clone();
    let rename = json!({"config": "firewall", "op": "rename", "section": old, "name": "new"});
    for list in [
        json!([set("firewall", &old, json!({"name": "New"}))]),
        json!([set("firewall", &old, json!({"enabled": "0"}))]),
        json!([rename]),
    ] {
        let draft = Draft::new(before.clone(), &edits(list.clone())).unwrap();
        assert_eq!(problems(&draft, &validators()), [], "{list}");
    }
    let worse = json!([set("firewall", &old, json!({"proto": "woof"}))]);
    let draft = Draft::new(before, &edits(worse)).unwrap();
    assert_eq!(problems(&draft, &validators()).len(), 1);
}

#[test]
fn reports_leases_with_the_same_address_or_mac() {
    let host = |name: &str, mac: &str, ip: &str| {
        json!({"config": "dhcp", "op": "add", "type": "host", "id": name,
            "values": {"name": name, "mac": mac, "ip": ip}})
    };
    let before = packages(&[("network", crate::sample::NETWORK), ("dhcp", "")]);
    let found = |list: Value| {
        let draft = Draft::new(before.clone(), &edits(list)).unwrap();
        let problems = problems(&draft, &validators()).into_iter();
        problems.map(|of| format!("{} {}", of.code, of.option)).collect::<Vec<_>>()
    };
    let [a, b] = ["aa:bb:cc:dd:ee:01", "AA-BB-CC-DD-EE-01"];
    assert_eq!(found(json!([host("own", a, "10.10.10.1")])), ["value ip"]);
    assert_eq!(found(json!([host("outside", a, "10.99.10.1")])), ["value ip"]);
    let twice = json!([host("one", a, "10.10.10.50"), host("two", b, "10.10.10.51")]);
    assert_eq!(found(twice), ["duplicate mac"]);
    let short = json!([
        host("one", "a-b-c-d-e-1", "10.10.10.50"),
        host("two", "0a:0b:0c:0d:0e:01", "10.10.10.51")
    ]);
    assert_eq!(found(short), ["duplicate mac"]);
    let apart = json!([host("one", a, "10.10.10.50"), host("two", a, "10.10.20.50")]);
    assert_eq!(found(apart), [""; 0], "in two networks");
    for none in ["10.10.10.0", "10.10.10.255"] {
        assert_eq!(found(json!([host("none", a, none)])), ["value ip"], "{none}");
    }
    assert_eq!(found(json!([host("phones", "48:A9:8A:*:*:*", "10.10.10.53")])), [""; 0]);
    assert_eq!(found(json!([host("short", "a-b-c-d-e-f", "10.10.10.54")])), [""; 0]);
}

mod firewall;
mod lines;
mod resolvers;

mod generated {
    use proptest::prelude::*;

    use super::*;

    fn negated(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        (prop_oneof![Just(""), Just("!"), Just("! ")], value)
            .prop_map(|(not, value)| format!("{not}{value}"))
    }

    fn network() -> impl Strategy<Value = String> {
        let four = any::<std::net::Ipv4Addr>;
        let six = any::<std::net::Ipv6Addr>;
        prop_oneof![
            four().prop_map(|a| a.to_string()),
            (four(), 0u8..=32).prop_map(|(a, n)| format!("{a}/{n}")),
            (four(), four()).prop_map(|(a, m)| format!("{a}/{m}")),
            (four(), four()).prop_map(|(a, b)| format!("{a}-{b}")),
            (six(), 0u8..=128).prop_map(|(a, n)| format!("{a}/{n}")),
            (six(), six()).prop_map(|(a, m)| format!("{a}/{m}")),
            (six(), six()).prop_map(|(a, b)| format!("{a}-{b}")),
            Just("lan".to_owned()),
        ]
    }

    fn ports() -> impl Strategy<Value = String> {
        (any::<u16>(), any::<u16>(), prop_oneof![Just('-'), Just(':')], any::<bool>()).prop_map(
            |(one, other, between, single)| {
                if single {
                    one.to_string()
                } else {
                    format!("{}{between}{}", one.min(other), one.max(other))
                }
            },
        )
    }

    fn stored(values: &[String], as_list: bool) -> Value {
        if as_list { json!(values) } else { json!(values.join(" ")) }
    }

    proptest! {
        #[test]
        fn accepts_values_of_rules_that_fw4_accepts(
            sources in prop::collection::vec(negated(network()), 1..4),
            ports in prop::collection::vec(negated(ports()), 1..4),
            macs in prop::collection::vec(
                negated("([0-9a-fA-F]{1,2}[:-]){5}[0-9a-fA-F]{1,2}"), 1..3),
            protocol in "tcp|udp|6|17|tcpudp|TCP",
            family in "any|all|\\*|inet|ipv4|ipv6|4|6",
            target in "ACCEPT|accept|acc|r|Rej|d",
            as_list: bool,
        ) {
            // A text with a space after a negation would be two words.
            let close = |values: Vec<String>| {
                if as_list { values } else { values.iter().map(|of| of.replace(' ', "")).collect() }
            };
            let rule = json!({"src": "lan", "dest": "wan",
                "src_ip": stored(&close(sources), as_list),
                "dest_port": stored(&close(ports), as_list),
                "src_mac": stored(&close(macs), as_list),
                "proto": stored(&[protocol], as_list), "family": family, "target": target});
            prop_assert_eq!(judged(json!([add("firewall", "rule", rule)])), []);
        }
    }
}
