// SPDX-License-Identifier: GPL-2.0-or-later
use std::net::IpAddr;

use model::Ports;
use serde_json::json;

use super::*;
use config::{Network, parse_uci};

fn read(text: &str) -> Result<(Settings, Vec<Problem>), SettingsError> {
    Settings::from_uci(&parse_uci(text).unwrap())
}

fn settings(text: &str) -> Settings {
    let (settings, warnings) = read(text).unwrap();
    assert_eq!(warnings, [], "{text}");
    settings
}

fn error(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn an_empty_configuration_yields_the_defaults() {
    assert_eq!(settings(""), Settings::default());
    assert_eq!(settings("config fastpath main\n"), Settings::default());
    assert_eq!(settings("config fastpath main\noption engine ''\n"), Settings::default());
    assert_eq!(Settings::default().wanted(), Engine::Flowtable);
}

#[test]
fn reads_every_option_of_the_settings() {
    use TrafficType::{Ipv6, Pppoe, Sit, Wireguard};
    let text = "config fastpath 'main'
	option enabled '1'
	option engine 'flowtable-hw'
	option hook 'clsact'
	option on_exit 'remove'
	option mark_mask '0x00ff0000'
	option refresh '5'
	list device 'lan1'
	list device 'wan.35'
	option ignore_device 'lan4 lan5'
	option ipv4 '1'
	option ipv6 '0'
	option vlan '1'
	option pppoe '0'
	list slow_tunnel 'wireguard'
	list slow_tunnel 'sit'
	option slow_packets '12'
	option metrics_hosts '100'
	option device_metrics '1'
	option history_interval '60'
	option history_probes '0'

config exclude
	option name 'nas backup'
	option src '10.10.10.0/24'
	option dest '203.0.113.7'
	option proto 'tcp'
	option src_port '1024-65535'
	option dest_port '5201'
	option slow_packets '1000000'
";
    let expected = Settings {
        section: "main".to_owned(),
        policies: vec![],
        enabled: true,
        engine: Engine::FlowtableHw,
        hook: Some("clsact"),
        on_exit: OnExit::Remove,
        mark_mask: 0x00ff_0000,
        refresh: Duration::from_secs(5),
        devices: ["lan1", "wan.35"].map(str::to_owned).into(),
        ignore_devices: ["lan4", "lan5"].map(str::to_owned).into(),
        left_out: [Ipv6, Pppoe, Sit, Wireguard].into_iter().collect(),
        slow_packets: 12,
        metrics_hosts: 100,
        device_metrics: true,
        history: Some(Duration::from_secs(60)),
        history_probes: false,
        excludes: vec![Exclude {
            name: "nas backup".to_owned(),
            src: Some(Network { address: IpAddr::from([10, 10, 10, 0]), prefix: 24 }),
            dest: Some(Network { address: IpAddr::from([203, 0, 113, 7]), prefix: 32 }),
            proto: Some(6),
            src_port: Some(Ports { first: 1024, last: 65535 }),
            dest_port: Some(Ports { first: 5201, last: 5201 }),
            slow_packets: Some(1_000_000),
        }],
    };
    assert_eq!(settings(text), expected);
}

#[test]
fn reads_all_spellings_of_a_switch() {
    for (word, on) in [("1", true), ("on", true), ("yes", true), ("0", false), ("disabled", false)]
    {
        let found = settings(&format!("config fastpath main\noption enabled {word}\n"));
        assert_eq!(found.enabled, on, "{word}");
        assert_eq!(found.wanted(), if on { Engine::Flowtable } else { Engine::Off });
    }
}

#[test]
fn every_error_names_section_option_and_value() {
    let tunnels = "is not one of gre, gretap, ip6gre, ip6gretap, ip6tnl, ipip, sit, wireguard";
    for (option, value, what) in [
        ("hook", "warp", "is not one of auto, tcx, clsact, xdp-generic"),
        ("engine", "warp", "is not one of off, flowtable, flowtable-hw, ebpf"),
        ("enabled", "maybe", "is neither 1 nor 0"),
        ("vlan", "maybe", "is neither 1 nor 0"),
        ("pppoe", "2", "is neither 1 nor 0"),
        ("ipv4", "none", "is neither 1 nor 0"),
        ("ipv6", "6", "is neither 1 nor 0"),
        ("slow_tunnel", "wiregaurd", tunnels),
        ("slow_tunnel", "vlan", tunnels),
        ("on_exit", "explode", "is not one of keep, remove"),
        ("mark_mask", "0xfffffffff", "has more than 32 bits"),
        ("mark_mask", "0x", "is not a number"),
        ("mark_mask", "red", "is not a number"),
        ("mark_mask", "0", "has no usable bit"),
        ("mark_mask", "+1", "is not a number"),
        ("refresh", "0", "is not a number from 1 to 3600"),
        ("refresh", "1.5", "is not a number from 1 to 3600"),
        ("refresh", "-1", "is not a number from 1 to 3600"),
        ("history", "600", "is neither 1 nor 0"),
        ("history_probes", "10", "is neither 1 nor 0"),
        ("history_interval", "0", "is not a number from 1 to 3600"),
        ("metrics_hosts", "101", "is not a number from 0 to 100"),
        ("device_metrics", "512", "is neither 1 nor 0"),
        ("metrics_hosts", "all", "is not a number from 0 to 100"),
        ("slow_packets", "1000001", "is not a number from 0 to 1000000"),
        ("slow_packets", "-1", "is not a number from 0 to 1000000"),
        ("slow_packets", "few", "is not a number from 0 to 1000000"),
        ("device", "a/b", "is not a device name"),
        ("device", "..", "is not a device name"),
        ("device", "abcdefghijklmnop", "is not a device name"),
        ("device", "x\";drop", "is not a device name"),
        ("ignore_device", "a:b", "is not a device name"),
    ] {
        let text = format!("config fastpath 'main'\n\toption {option} '{value}'\n");
        let value = value.escape_debug();
        let expected = format!("section 'main', option '{option}', value '{value}': {what}");
        assert_eq!(error(&text), expected);
    }
}

#[test]
fn reports_errors_in_excludes() {
    let ports = "is not a port (1 to 65535) or port range such as 5000-5010";
    for (option, value, what) in [
        ("src", "10.0.0.256", "is not an address or network such as 10.0.0.0/24"),
        ("src", "nas.lan", "is not an address or network such as 10.0.0.0/24"),
        ("src", "10.0.0.0/33", "has a prefix length that is not 0 to 32"),
        ("dest", "2001:db8::/129", "has a prefix length that is not 0 to 128"),
        ("dest", "10.0.0.0/", "has a prefix length that is not 0 to 32"),
        ("src", "10.0.0.1/24", "has host bits set; did you mean 10.0.0.0/24?"),
        ("proto", "icmp", "is neither tcp nor udp; other protocols are never offloaded"),
        ("slow_packets", "0", "is not a number from 1 to 1000000"),
        ("slow_packets", "1000001", "is not a number from 1 to 1000000"),
        ("dest_port", "0", ports),
        ("dest_port", "65536", ports),
        ("dest_port", "http", ports),
        ("dest_port", "1-2-3", ports),
        ("dest_port", "+80", ports),
        ("src_port", "20-10", "is a range with the end before the start"),
        ("name", "a\"b", "contains '\"', which is not allowed in a name"),
        ("name", "a\nb", "contains '\\n', which is not allowed in a name"),
        ("name", "a\\b", "contains '\\\\', which is not allowed in a name"),
    ] {
        let text = format!("config exclude\n\toption {option} '{value}'\n");
        let value = value.escape_debug();
        let expected = format!("section '@exclude[0]', option '{option}', value '{value}': {what}");
        assert_eq!(error(&text), expected);
    }
    let mixed = "config exclude\noption src 10.0.0.0/8\noption dest 2001:db8::/32\n";
    assert_eq!(
        error(mixed),
        "section '@exclude[0]', option 'dest', value '2001:db8::/32': \
         has another address family than src 10.0.0.0/8"
    );
    assert_eq!(
        error("config exclude nas\noption name all\n"),
        "section 'nas': excludes every flow; to stop offloading, set engine to 'off'"
    );
}

#[test]
fn disabled_excludes_are_validated_but_not_used() {
    assert_eq!(settings("config exclude\noption enabled 0\noption proto tcp\n").excludes, []);
    assert!(error("config exclude\noption enabled 0\noption proto gre\n").contains("'gre'"));
}

#[test]
fn reports_all_problems_in_the_order_of_the_file() {
    let text = "config exclude\noption proto gre\nconfig fastpath main\noption engine warp\n\
        option refresh x\nconfig exclude\noption dest_port x\n";
    let error = read(text).unwrap_err();
    let places: Vec<_> = error
        .problems
        .iter()
        .map(|problem| (problem.section.as_str(), problem.option.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            ("@exclude[0]", "proto"),
            ("main", "engine"),
            ("main", "refresh"),
            ("@exclude[1]", "dest_port")
        ]
    );
    assert_eq!(error.to_string().lines().count(), 4);
}

#[test]
fn warns_about_unknown_options_and_sections() {
    let text = "config fastpath main\noption colour blue\nconfig zone lan\noption x y\n\
        config fastpath second\noption engine warp\n";
    let (found, warnings) = read(text).unwrap();
    assert_eq!(found, Settings::default());
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "section 'main', option 'colour', value '•••': is an unknown option, ignored",
            "section 'lan': has an unknown type, ignored",
            "section 'second': is a duplicate of its type, ignored",
        ]
    );
}

#[test]
fn rejects_json_that_is_not_uci() {
    for values in [json!(null), json!([]), json!({ "main": 1 }), json!({ "main": {} })] {
        assert!(Settings::from_uci(&values).is_err(), "{values}");
    }
    let of = |value: Value| {
        let section = json!({ ".type": "fastpath", ".index": 0, "engine": value, "device": value });
        Settings::from_uci(&json!({ "main": section }))
    };
    for value in [json!(1), json!(["a", 1]), json!({}), json!(null)] {
        let error = of(value.clone()).expect_err("no text").to_string();
        assert!(error.contains("option 'engine'"), "{value}: {error}");
    }
}

#[test]
fn inspection_needs_two_mark_bits() {
    let found = settings("config fastpath gateway\noption mark_mask 0x180\n");
    assert_eq!(found.marks().unwrap().bypass(), 0x100);
    let found = settings("config fastpath gateway\noption mark_mask 0x100\n");
    assert_eq!(
        found.marks().unwrap_err().to_string(),
        "section 'gateway', option 'mark_mask', value '0x00000100': \
         has one bit; inspection needs two"
    );
}

#[test]
fn hook_auto_selects_no_fixed_hook() {
    for (value, hook) in
        [("auto", None), ("tcx", Some("tcx")), ("xdp-generic", Some("xdp-generic"))]
    {
        let text = format!("config fastpath main\noption hook '{value}'\n");
        assert_eq!(settings(&text).hook, hook);
    }
}

#[test]
fn engine_ebpf_needs_four_mark_bits() {
    let read = |engine: &str, mask: &str| {
        let main =
            json!({".type": "fastpath", ".name": "main", "engine": engine, "mark_mask": mask});
        Settings::from_uci(&json!({"main": main}))
    };
    let error = read("ebpf", "0x60000000").unwrap_err().to_string();
    assert!(error.contains("has 2 bits; engine ebpf needs four"), "{error}");
    assert!(read("flowtable", "0x60000000").unwrap().0.passed().is_err());
    let settings = read("ebpf", "0xf0").unwrap().0;
    assert_eq!(settings.passed(), Ok([0x20, 0x40]));
    assert!(Settings::default().passed().is_ok());
}
