// SPDX-License-Identifier: GPL-2.0-or-later
use config::parse_uci;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(options: &str) -> Result<Settings, String> {
    let values = parse_uci(&format!("config ips 'ips'\n{options}\n")).unwrap();
    let mut package = Package::new(&values).unwrap();
    let settings = Settings::read(&mut package);
    let warnings = package.finish().map_err(|error| error.to_string())?;
    assert_eq!(warnings, []);
    Ok(settings)
}

#[test]
fn uses_defaults_for_a_missing_or_empty_section() {
    let values = json!({});
    let mut package = Package::new(&values).unwrap();
    assert_eq!(Settings::read(&mut package), Settings::default());
    assert_eq!(read(""), Ok(Settings::default()));
    assert!(!Settings::default().enabled);
}

#[test]
fn reads_every_option() {
    let settings = read(
        "option enabled '1'
        option mode 'ids'
        option fail 'closed'
        option default 'always'
        option budget_bytes '0'
        option budget_packets '500'
        option spread 'fanout'
        option queue_first '8'
        option queue_length '64'
        option depth '0'
        option memory '32'
        list home '10.0.0.0/8'
        list home '2001:db8::/32'
        list exempt '10.10.10.5'
        list device 'lan1'
        option block '1'
        option block_time '60'
        option block_limit '9'
        list block_exempt '192.0.2.0/24'",
    );
    let networks = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let expected = Settings {
        enabled: true,
        mode: InspectionMode::Ids,
        fail: FailPolicy::Closed,
        default: Action::Always,
        budget_bytes: 0,
        budget_packets: 500,
        spread: Spread::Fanout,
        queue_first: 8,
        queue_length: 64,
        depth: 0,
        memory: 32,
        home: networks(&["10.0.0.0/8", "2001:db8::/32"]),
        exempt: networks(&["10.10.10.5/32"]),
        devices: vec!["lan1".into()],
        block: true,
        block_time: Duration::from_secs(60),
        block_limit: 9,
        block_exempt: networks(&["192.0.2.0/24"]),
    };
    assert_eq!(settings, Ok(expected));
}

#[test]
fn reports_bad_values_with_section_and_option() {
    for (options, text) in [
        ("option mode 'tap'", "option 'mode', value 'tap': is not one of nfq, ids, inline"),
        ("option fail 'soft'", "option 'fail', value 'soft': is not one of open, closed"),
        (
            "option default 'maybe'",
            "option 'default', value 'maybe': is not one of inspect, none, always",
        ),
        ("option spread 'even'", "option 'spread', value 'even': is not one of hash, fanout"),
        ("option enabled 'perhaps'", "option 'enabled', value 'perhaps': is neither 1 nor 0"),
        ("option budget_bytes '-1'", "option 'budget_bytes', value '-1': is not a number from 0"),
        ("option budget_packets '1e3'", "option 'budget_packets', value '1e3': is not a number"),
        ("option queue_first '65535'", "option 'queue_first', value '65535': is not a number"),
        ("option queue_length '63'", "value '63': is not a number from 64 to 65536"),
        ("option depth '4294967296'", "option 'depth', value '4294967296': is not a number"),
        ("option memory '8'", "option 'memory', value '8': is not a number from 16 to 65536"),
        ("option block_time '0'", "option 'block_time', value '0': is not a number from 1"),
        ("option block_limit '65537'", "option 'block_limit', value '65537': is not a number"),
        ("list home 'lan'", "option 'home', value 'lan': is not an address or network"),
        ("list exempt '10.0.0.1/8'", "value '10.0.0.1/8': has host bits set"),
        ("list block_exempt 'x'", "option 'block_exempt', value 'x': is not an address"),
        ("list device 'a b'", "option 'device', value 'a b': is not a device name"),
        ("list device 'lan1'\nlist device 'lan1'", "value 'lan1': is there twice"),
        ("option enabled 1\noption mode inline", "value '': mode inline bridges exactly two"),
        (
            "option enabled 1\noption mode inline\nlist device a\nlist device b\nlist device c",
            "value 'a b c': mode inline bridges exactly two ports",
        ),
        ("option enabled 1\noption mode ids", "mode ids needs a port to monitor"),
    ] {
        let said = read(options).expect_err(options);
        assert!(said.starts_with("section 'ips', option '"), "{said}");
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn a_disabled_mode_may_lack_its_ports() {
    assert!(read("option mode 'inline'").is_ok());
}

#[test]
fn duplicate_networks_are_merged() {
    let settings = read("list home '10.0.0.0/8'\nlist home '10.0.0.0/8'").unwrap();
    assert_eq!(settings.home.len(), 1);
}

proptest! {
    #[test]
    fn reads_any_values(option in "(mode|fail|memory|home|device|depth)", value: String) {
        let values = json!({"ips": {".type": "ips", option: value}});
        let mut package = Package::new(&values).unwrap();
        let _ = Settings::read(&mut package);
        let _ = package.finish();
    }
}
