// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `device` and `bridge-vlan` sections of `/etc/config/network`: names, MTU, bridge ports,
//! VLAN IDs and VLAN memberships (`lan1:u*`).

use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use super::common::{is_mac, vlan};
use ::uci::Section;

/// A port of a VLAN, such as `lan1:u*`.
pub(crate) struct Port<'a> {
    pub(crate) name: &'a str,
    /// The VLAN is the port's PVID.
    pub(crate) pvid: bool,
    /// Frames leave with a tag.
    pub(crate) tagged: bool,
}

impl<'a> Port<'a> {
    /// Parses a port with the flags `t`, `u` and `*` after a colon, like netifd.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (name, flags) = text.split_once(':').unwrap_or((text, ""));
        let known = flags.chars().all(|flag| matches!(flag, 't' | 'u' | '*'));
        (known && config::is_device_name(name)).then(|| Self {
            name,
            pvid: flags.contains('*'),
            tagged: flags.contains('t'),
        })
    }
}

pub(super) fn judge(report: &mut Report<'_>) {
    let devices = report.of("device");
    names(report, &devices);
    ports(report, &devices);
    for device in &devices {
        report.number(device, "mtu", 68..=65535);
        report.text(device, "macaddr", "a MAC address", is_mac);
        report.switches(device, &["vlan_filtering", "stp", "igmp_snooping", "ipv6", "gro"]);
        if matches!(device.text("type"), Some("8021q" | "8021ad")) {
            let number = device.text("vid").unwrap_or_default();
            if vlan(number).is_none() {
                range(report, device, "vid", number);
            }
        }
    }
    vlans(report, &devices);
}

/// Checks that each device has only one section.
fn names(report: &mut Report<'_>, devices: &[&Section]) {
    let mut seen = BTreeSet::new();
    for device in devices {
        let name = device.text("name").unwrap_or_default();
        if !config::is_device_name(name) {
            report.wrong(device, "name", name, "a name of a device, at most 15 characters");
        } else if !seen.insert(name) {
            let text = format!("there is another section for the device '{name}'");
            report.note(device, "name", "duplicate", &[("value", name)], &text);
        }
    }
}

/// Checks that each device is a port of one bridge only, and not the device of an interface, which
/// would receive nothing.
fn ports(report: &mut Report<'_>, devices: &[&Section]) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let interfaces = report.of("interface");
    for device in devices.iter().filter(|device| device.text("type") == Some("bridge")) {
        let bridge = device.text("name").unwrap_or_default();
        for port in device.words("ports") {
            if !config::is_device_name(port) {
                report.wrong(device, "ports", port, "a name of a device");
            } else if let Some(other) = owners.insert(port, bridge) {
                let text = format!("'{port}' is a port of '{other}' already");
                report.note(
                    device,
                    "ports",
                    "port-twice",
                    &[("port", port), ("other", other)],
                    &text,
                );
            }
            if let Some(user) = interfaces.iter().find(|of| of.text("device") == Some(port)) {
                let text = format!("'{port}' is the device of interface '{}'", user.name);
                let params = [("port", port), ("interface", &*user.name)];
                report.note(device, "ports", "port-used", &params, &text);
            }
        }
    }
}

fn range(report: &mut Report<'_>, section: &Section, option: &str, number: &str) {
    let text = format!("'{}' is not a VLAN ID (1 to 4094)", number.escape_debug());
    report.note(section, option, "vlan-range", &[("value", number)], &text);
}

fn vlans(report: &mut Report<'_>, devices: &[&Section]) {
    let mut seen = BTreeSet::new();
    let mut pvids: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for section in report.of("bridge-vlan") {
        let bridge = section.text("device").unwrap_or_default();
        let number = section.text("vlan").unwrap_or_default();
        let known = |device: &&&Section| {
            device.text("name") == Some(bridge) && device.text("type") == Some("bridge")
        };
        let found = devices.iter().find(known);
        if found.is_none() {
            let text = format!("there is no bridge '{}'", bridge.escape_debug());
            report.note(section, "device", "unknown-device", &[("device", bridge)], &text);
        }
        match vlan(number) {
            None => range(report, section, "vlan", number),
            Some(id) if !seen.insert((bridge, id)) => {
                let text = format!("VLAN {id} of '{bridge}' has a section already");
                let params = [("vlan", number), ("device", bridge)];
                report.note(section, "vlan", "vlan-duplicate", &params, &text);
            }
            Some(_) => {}
        }
        members(report, section, found.copied(), &mut pvids);
    }
}

fn members<'a>(
    report: &mut Report<'a>,
    section: &'a Section,
    bridge: Option<&Section>,
    pvids: &mut BTreeMap<(&'a str, &'a str), &'a str>,
) {
    let (device, number) = (section.text("device"), section.text("vlan").unwrap_or_default());
    let mut here = BTreeSet::new();
    for text in section.words("ports") {
        let Some(port) = Port::read(text) else {
            report.wrong(section, "ports", text, "a port, with :t, :u or :u* behind it");
            continue;
        };
        let name = port.name;
        if !here.insert(name) {
            let text = format!("'{name}' is in VLAN {number} twice");
            report.note(
                section,
                "ports",
                "port-twice",
                &[("port", name), ("other", number)],
                &text,
            );
        }
        if bridge.is_some_and(|bridge| !bridge.words("ports").contains(&name)) {
            let bridge = device.unwrap_or_default();
            let text = format!("'{name}' is not a port of '{bridge}'");
            let params = [("port", name), ("device", bridge)];
            report.note(section, "ports", "unknown-port", &params, &text);
        }
        if !port.pvid {
            continue;
        }
        if let Some(other) = pvids.insert((device.unwrap_or_default(), name), number) {
            let text = format!("frames without a tag at '{name}' belong to VLAN {other} already");
            let params = [("port", name), ("vlan", number), ("other", other)];
            report.note(section, "ports", "pvid-twice", &params, &text);
        }
    }
}
