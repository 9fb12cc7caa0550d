// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `interface` and `route` sections of `/etc/config/network`: devices, static addresses,
//! overlapping networks, PPPoE.

use std::net::{IpAddr, Ipv4Addr};

use config::Network;

use super::Report;
use super::common::{is_address, netmask, v4, v6, vlan};
use ::uci::Section;

/// pppd's `MAXNAMELEN` and `MAXSECRETLEN` are 256, including the NUL.
const MAX_NAME_LEN: usize = 255;
/// `IFNAMSIZ` is 16, including the NUL, and netifd names the device `pppoe-NAME`.
const MAX_PPPOE_LEN: usize = 9;
const PPPOE_OVERHEAD: u32 = 8;

pub(super) fn judge(report: &mut Report<'_>) {
    let interfaces = report.of("interface");
    for interface in &interfaces {
        report.switches(interface, &["disabled", "auto", "defaultroute", "peerdns", "delegate"]);
        report.number(interface, "metric", 0..=u32::MAX);
        report.number(interface, "mtu", 68..=65535);
        report.each(interface, "dns", "an address", is_address);
        report.number(interface, "ip6assign", 0..=64);
        device(report, interface, &interfaces);
        match interface.text("proto") {
            Some("static") => addresses(report, interface),
            Some("pppoe") => pppoe(report, interface),
            Some(_) => {}
            None => {
                report.note(
                    interface,
                    "proto",
                    "missing",
                    &[],
                    "is missing: how it gets addresses",
                );
            }
        }
    }
    collisions(report, &interfaces);
    for route in report.of("route").into_iter().chain(report.of("route6")) {
        let name = route.text("interface").unwrap_or_default();
        if !interfaces.iter().any(|interface| interface.name == name) {
            unknown_interface(report, route, "interface", name);
        }
    }
}

pub(super) fn unknown_interface(
    report: &mut Report<'_>,
    section: &Section,
    option: &str,
    name: &str,
) {
    // Without the file, the interfaces are unknown.
    if !report.packages.contains_key("network") {
        return;
    }
    let text = format!("there is no interface '{}'", name.escape_debug());
    report.note(section, option, "unknown-interface", &[("interface", name)], &text);
}

/// Checks that the device of an interface exists or is configured.
fn device(report: &mut Report<'_>, interface: &Section, interfaces: &[&Section]) {
    let Some(name) = interface.text("device") else { return };
    if let Some(alias) = name.strip_prefix('@') {
        if !interfaces.iter().any(|other| other.name == alias) {
            unknown_interface(report, interface, "device", alias);
        }
        return;
    }
    if !config::is_device_name(name) {
        report.wrong(interface, "device", name, "a name of a device, at most 15 characters");
        return;
    }
    let described =
        |name: &str| report.of("device").iter().any(|device| device.text("name") == Some(name));
    let there = |name: &str| described(name) || report.validators.devices.contains(name);
    // netifd creates a VLAN device such as `lan1.7` on demand.
    let below = name.rsplit_once('.').filter(|(below, _)| there(below));
    let Some((below, number)) = below else {
        if !there(name) {
            let text = format!("there is no device '{name}'");
            report.note(interface, "device", "unknown-device", &[("device", name)], &text);
        }
        return;
    };
    if vlan(number).is_none() && !there(name) {
        let text = format!("'{number}' is not a VLAN ID (1 to 4094)");
        report.note(interface, "device", "vlan-range", &[("value", number)], &text);
        return;
    }
    let vlans = report.of("bridge-vlan");
    let of_bridge = |section: &&&Section| section.text("device") == Some(below);
    let mut of_bridge = vlans.iter().filter(of_bridge).peekable();
    // A bridge with VLAN filtering has only the configured VLANs.
    if of_bridge.peek().is_some() && !of_bridge.any(|of| of.text("vlan") == Some(number)) {
        let text = format!("the bridge '{below}' has no VLAN {number}");
        let params = [("device", below), ("vlan", number)];
        report.note(interface, "device", "unknown-vlan", &params, &text);
    }
}

fn addresses(report: &mut Report<'_>, interface: &Section) {
    let (four, six) = (interface.words("ipaddr"), interface.words("ip6addr"));
    if four.is_empty() && six.is_empty() && interface.text("ip6assign").is_none() {
        report.note(interface, "ipaddr", "missing", &[], "an interface with proto static has none");
    }
    let mask = interface.text("netmask");
    if let Some(mask) = mask.filter(|mask| netmask(mask).is_none()) {
        report.wrong(interface, "netmask", mask, "a netmask such as 255.255.255.0");
    }
    for text in four {
        match v4(text) {
            None => report.wrong(interface, "ipaddr", text, "an IPv4 address such as 10.0.0.1/24"),
            Some((_, None)) if mask.is_none() => {
                let text = format!("'{text}' has no length of its network, such as /24");
                report.note(interface, "ipaddr", "prefix", &[("value", &text)], &text);
            }
            Some((address, prefix)) => {
                let prefix = prefix.or(mask.and_then(netmask)).unwrap_or(32);
                if !is_host(address, prefix) {
                    let params = [("value", text)];
                    let text = format!("'{text}' is not a host address");
                    report.note(interface, "ipaddr", "no-host", &params, &text);
                }
            }
        }
    }
    report.each(interface, "ip6addr", "an IPv6 address such as 2001:db8::1/64", |text| {
        v6(text).is_some_and(|(address, _)| !address.is_unspecified() && !address.is_multicast())
    });
    report.text(interface, "gateway", "an IPv4 address", |text| text.parse::<Ipv4Addr>().is_ok());
}

/// Returns whether a host can have the address: not reserved, and neither the network nor the
/// broadcast address.
fn is_host(address: Ipv4Addr, prefix: u8) -> bool {
    let host = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
    let part = address.to_bits() & host;
    let edge = prefix < 31 && (part == 0 || part == host);
    !edge
        && !address.is_unspecified()
        && !address.is_multicast()
        && !address.is_broadcast()
        && address.octets()[0] != 0
}

/// Returns the static addresses of an interface and their networks.
pub(crate) fn networks(interface: &Section) -> Vec<(IpAddr, Network)> {
    if interface.text("proto") != Some("static") || interface.is_on("disabled", false) {
        return Vec::new();
    }
    let mask = interface.text("netmask").and_then(netmask);
    let mut found = Vec::new();
    for (address, prefix) in interface.words("ipaddr").into_iter().filter_map(v4) {
        let prefix = prefix.or(mask).unwrap_or(32);
        found.extend(Network::of(address.into(), prefix).map(|of| (address.into(), of)));
    }
    for (address, prefix) in interface.words("ip6addr").into_iter().filter_map(v6) {
        let prefix = prefix.unwrap_or(128);
        found.extend(Network::of(address.into(), prefix).map(|of| (address.into(), of)));
    }
    found
}

/// Reports interfaces with overlapping networks, whose answers could leave through the wrong one.
fn collisions(report: &mut Report<'_>, interfaces: &[&Section]) {
    for (index, interface) in interfaces.iter().enumerate() {
        for (address, network) in networks(interface) {
            let option = if address.is_ipv4() { "ipaddr" } else { "ip6addr" };
            let other = interfaces[..index].iter().find(|other| {
                networks(other)
                    .iter()
                    .any(|(_, of)| of.contains(network.address) || network.contains(of.address))
            });
            if let Some(other) = other {
                let name = other.name.as_str();
                let text = format!("{network} overlaps with the network of interface '{name}'");
                let value = network.to_string();
                let params = [("value", value.as_str()), ("interface", name)];
                report.note(interface, option, "address-collides", &params, &text);
            }
        }
    }
}

fn pppoe(report: &mut Report<'_>, interface: &Section) {
    if interface.name.len() > MAX_PPPOE_LEN {
        let text = format!("the name of a PPPoE interface has at most {MAX_PPPOE_LEN} characters");
        report.note(interface, "", "name-length", &[], &text);
    }
    for option in ["username", "password", "service", "ac"] {
        let long = interface.text(option).is_some_and(|text| text.len() > MAX_NAME_LEN);
        if long {
            let text = format!("is longer than {MAX_NAME_LEN} bytes, which is all that pppd takes");
            let longest = MAX_NAME_LEN.to_string();
            report.note(interface, option, "too-long", &[("longest", &longest)], &text);
        }
    }
    report.text(interface, "ipv6", "auto, 1 or 0", |text| {
        text == "auto" || config::switch(text).is_ok()
    });
    report.text(interface, "keepalive", "failures and seconds such as '5 1'", |text| {
        let words: Vec<&str> = text.split([' ', ',']).collect();
        words.len() <= 2 && words.iter().all(|word| config::number(word).is_ok())
    });
    report.number(interface, "holdoff", 0..=86400);
    let mtu = interface.text("mtu").and_then(|mtu| config::number(mtu).ok());
    let Some(mtu) = mtu.filter(|mtu| *mtu > 1500 - PPPOE_OVERHEAD) else { return };
    lower_mtu(report, interface, mtu);
}

/// Checks that the lower device has an MTU for PPPoE with more than 1492 bytes (RFC 4638).
fn lower_mtu(report: &mut Report<'_>, interface: &Section, mtu: u32) {
    let needed = mtu + PPPOE_OVERHEAD;
    let name = interface.text("device").unwrap_or_default();
    let below = name.rsplit_once('.').map_or(name, |(below, _)| below);
    for device in [name, below] {
        let sections = report.of("device");
        let section = sections.iter().find(|section| section.text("name") == Some(device));
        let has = section.and_then(|section| config::number(section.text("mtu")?).ok());
        if has.unwrap_or(1500) < needed {
            let text = format!("{mtu} needs an MTU of {needed} at the device '{device}'");
            let needed = needed.to_string();
            let params = [("device", device), ("needed", needed.as_str())];
            report.note(interface, "mtu", "mtu-device", &params, &text);
            return;
        }
    }
}
