// SPDX-License-Identifier: GPL-2.0-or-later
//! Files and program outputs on the router: `/proc`, DHCP leases, nft's listing, and the doctor's
//! inputs.

use std::net::{IpAddr, Ipv4Addr};

use cpu::{CpuSet, Found};
use gateway::devices::vendors::find;
use ruleset::InForce;
use serde_json::Value;
use topology::{Mac, parse_dialer, parse_sessions};

use crate::parts;

pub(crate) fn proc(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (one, other) = text.split_at(text.floor_char_boundary(text.len() / 2));
    assert!(parse_sessions(&text).len() <= text.lines().count());
    let _ = (parse_dialer(bytes), Found::read(bytes));
    let shares = gateway::fuzz::load(one, other);
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    let _ = gateway::fuzz::rate(one, other, "wan");
    for line in text.lines().take(8) {
        let _ = gateway::fuzz::offset(line);
        if let Ok(set) = line.parse::<CpuSet>() {
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        if let Ok(set) = CpuSet::from_mask(line) {
            assert_eq!(CpuSet::from_mask(&set.mask()), Ok(set));
        }
    }
    assert!(cpu::fuzz::queues(&text, "eth0").len() <= text.lines().count());
    assert!(change::fuzz::clients(&text) <= text.lines().count());
}

/// Parses dnsmasq's leases, whose names the hosts choose, `/etc/hosts`, umdns' answer, and the file
/// of vendors.
pub(crate) fn leases(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts = parts(&text);
    let part = |name: &str| parts.iter().find(|(each, _)| *each == name).map_or("", |part| part.1);
    let (leases, hosts) = (part(""), part("hosts"));
    for address in ["10.10.10.10", "fd00::10"] {
        let address = address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let name = gateway::fuzz::host(leases, hosts, address).unwrap_or_default();
        assert!(name.len() <= 253 && !name.contains(char::is_control));
    }
    let services = serde_json::from_str(part("services")).unwrap_or_default();
    assert!(gateway::fuzz::kinds(&services).len() <= 1024);
    let macs = [Mac([0; 6]), Mac([0x28, 0xcf, 0xe9, 0, 0, 1]), Mac([0xff; 6])];
    if let Ok(vendors) = find(part("vendors").as_bytes(), &macs) {
        assert_eq!(vendors.iter().map(|(mac, _)| *mac).collect::<Vec<_>>(), macs);
        assert!(vendors.iter().all(|(_, name)| !name.contains(char::is_control)));
    }
}

pub(crate) fn nft(bytes: &[u8]) {
    if let Ok(listing) = serde_json::from_slice::<Value>(bytes) {
        let _ = InForce::parse(&listing);
    }
}

/// Runs the doctor on answers `== NAME` for paths, command lines and methods; `== *` is for all
/// others. The text before the first one selects a group of checks, because all take longer.
pub(crate) fn doctor(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = parts(&text).into_iter();
    let group = parts.next().map_or("", |(_, group)| group.trim());
    let report = doctor::fuzz::run(group, parts.collect());
    assert!(report["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
}
