// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn settings(host: &str, options: &str) -> Settings {
    let file = format!("config export 'x'\n\toption host '{host}'\n{options}");
    let values = config::parse_uci(&file).unwrap();
    let mut package = config::Package::new(&values).unwrap();
    let settings = Settings::read(&mut package).pop().unwrap();
    package.finish().unwrap();
    settings
}

#[test]
fn public_and_private_addresses_are_distinguished() {
    for global in [
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.1.1",
        "192.169.0.1",
        "198.17.0.1",
        "223.255.255.1",
        "2a00::1",
        "2001:db8::1",
        "2001:1::1",
        "3fff::1",
    ] {
        assert!(is_global(global.parse().unwrap()), "{global}");
    }
    for private in [
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.0.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "240.0.0.1",
        "0.1.2.3",
        "::1",
        "fd00::1",
        "fc00::1",
        "fe80::1",
        "fec0::1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002:a00:1::1",
        "2001:0:1::1",
        "100::1",
        "4000::1",
        "::10.0.0.1",
    ] {
        assert!(!is_global(private.parse().unwrap()), "{private}");
    }
}

/// Tests public, loopback and private collectors, and a configured interface.
#[test]
fn a_private_collector_must_be_reached_over_an_inner_zone() {
    let devices = EgressDevices::default();
    let egress = |to: IpAddr| if to.is_loopback() { Ok(LOOPBACK) } else { Ok(7) };
    let find = |host: &str, options: &str| devices.find(&settings(host, options), egress);
    assert_eq!(find("203.0.113.9", ""), Ok(None), "the kernel's route");
    assert_eq!(find("127.0.0.1", ""), Ok(None));
    assert_eq!(find("::1", ""), Ok(None));
    for host in ["10.255.99.10", "100.64.99.10", "::ffff:10.255.99.10", "fd99::10"] {
        assert_eq!(find(host, ""), Err(ExportReason::NoRoute), "{host}");
    }
    let down = ExportReason::InterfaceDown { interface: "vpn".to_owned() };
    for host in ["10.255.99.10", "203.0.113.9"] {
        assert_eq!(find(host, "\toption interface 'vpn'\n"), Err(down.clone()));
    }
    let interfaces = [("vpn".to_owned(), "wg0".to_owned())].into();
    let devices = EgressDevices { interfaces, ..EgressDevices::default() };
    let bound = devices.find(&settings("203.0.113.9", "\toption interface 'vpn'\n"), egress);
    assert_eq!(bound, Ok(Some("wg0".to_owned())));
}
