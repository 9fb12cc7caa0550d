// SPDX-License-Identifier: GPL-2.0-or-later
use config::parse_uci;

use super::*;
use crate::settings::Settings;

fn read(text: &str) -> Result<Vec<Policy>, String> {
    let values = parse_uci(text).unwrap();
    let (settings, warnings) = Settings::from_uci(&values).map_err(|error| error.to_string())?;
    assert_eq!(warnings, [], "{text}");
    Ok(settings.policies)
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn segments() -> Segments {
    let zones = [
        ("lan", set(&["br-lan.10", "br-lan.11"])),
        ("iot", set(&["br-lan.20"])),
        ("wan", set(&["pppoe-wan"])),
        ("vpn", set(&[])),
    ];
    let vlans = [(10, set(&["br-lan.10"])), (11, set(&["br-lan.11"])), (20, set(&["br-lan.20"]))];
    Segments {
        zones: zones.map(|(name, devices)| (name.to_owned(), devices)).into(),
        vlans: vlans.into(),
    }
}

#[test]
fn reads_every_option_of_a_policy() {
    let text = "config policy
	option name 'guests'
	option src 'iot'
	option dest 'wan'
	option src_vlan '20'
	option dest_vlan '4094'
	option action 'always'
config policy 'rest'
	option src '*'
config policy
	option enabled '0'
	option action 'none'
";
    let guests = Policy {
        section: "@policy[0]".to_owned(),
        id: "cfg016ff5".to_owned(),
        enabled: true,
        name: "guests".to_owned(),
        src: Some("iot".to_owned()),
        dest: Some("wan".to_owned()),
        src_vlan: Some(20),
        dest_vlan: Some(4094),
        action: Action::Always,
    };
    let [rest, id] = ["rest"; 2].map(str::to_owned);
    let rest = Policy { section: rest, id, enabled: true, ..Policy::default() };
    let read = read(text).unwrap();
    assert_eq!(read[..2], [guests, rest]);
    assert!(!read[2].enabled, "a disabled policy is kept");
}

#[test]
fn every_error_names_section_option_and_value() {
    let vlan = "is not a VLAN (1 to 4094)";
    for (option, value, what) in [
        ("action", "drop", "is not one of inspect, none, always"),
        ("src_vlan", "0", vlan),
        ("dest_vlan", "4095", vlan),
        ("src_vlan", "-1", vlan),
        ("src_vlan", "lan", vlan),
        ("dest_vlan", "65556", vlan),
        ("enabled", "maybe", "is neither 1 nor 0"),
        ("name", "a\"b", "contains '\"', which is not allowed in a name"),
        ("src", "a\\b", "contains '\\\\', which is not allowed in a name"),
    ] {
        let text = format!("config policy\n\toption {option} '{value}'\n");
        let value = value.escape_debug();
        let expected = format!("section '@policy[0]', option '{option}', value '{value}': {what}");
        assert_eq!(read(&text).unwrap_err(), expected);
    }
}

#[test]
fn a_missing_zone_is_reported() {
    let text = "config policy guests\noption src guset\noption dest wan\n";
    let policies = read(text).unwrap();
    let problems = policies[0].check(&segments());
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["section 'guests', option 'src', value 'guset': \
          is not a firewall zone; known zones: iot, lan, vpn, wan"]
    );
    assert_eq!(policies[0].check(&Segments::default()).len(), 2, "no zone exists");
    let without = read("config policy\noption src vpn\n").unwrap();
    assert_eq!(without[0].check(&segments()), [], "a zone without devices exists");
}

#[test]
fn resolves_zones_and_vlans_to_devices() {
    let on = |text: &str| read(text).unwrap().remove(0).on(&segments());
    let zone = on("config policy\noption src lan\n");
    assert_eq!((zone.from, zone.to), (Some(set(&["br-lan.10", "br-lan.11"])), None));
    let vlan = on("config policy\noption dest_vlan 20\n");
    assert_eq!((vlan.from, vlan.to), (None, Some(set(&["br-lan.20"]))));
    let both = on("config policy\noption src lan\noption src_vlan 11\n");
    assert_eq!(both.from, Some(set(&["br-lan.11"])));
    let any = on("config policy\n");
    assert_eq!((&any.from, &any.to, any.is_void()), (&None, &None, false));
}

#[test]
fn a_policy_without_devices_matches_nothing() {
    for text in [
        "config policy\noption src vpn\n",
        "config policy\noption dest_vlan 99\n",
        "config policy\noption src lan\noption src_vlan 20\n",
    ] {
        let judged = read(text).unwrap()[0].on(&segments());
        assert!(judged.is_void(), "{text}");
    }
}

#[test]
fn leaves_out_unwritable_devices_of_a_zone() {
    let mut segments = segments();
    segments.zones.insert("odd".to_owned(), set(&["a\" }", "eth0"]));
    let odd = Policy { src: Some("odd".to_owned()), ..Policy::default() }.on(&segments);
    assert_eq!(odd.from, Some(set(&["eth0"])));
}
