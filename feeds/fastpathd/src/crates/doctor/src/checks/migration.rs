// SPDX-License-Identifier: GPL-2.0-or-later
//! The fix of check `bridge-per-vlan`: UCI edits that replace one bridge per VLAN by a single
//! VLAN-aware bridge.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uci::{Package, Section};

use crate::facts::bridges::Bridge;
use crate::finding::set;

/// Maximum VLAN ID. IEEE 802.1Q reserves 0 and 4095.
const MAX_VLAN: u16 = 4094;

/// Returns the edits. `None` if a bridge is not in UCI or has tags of several VLANs.
pub(super) fn edits(network: &Package, bridges: &[&Bridge]) -> Option<Vec<Value>> {
    let sections: Vec<&Section> = bridges
        .iter()
        .map(|bridge| {
            let section = network.find("device", "name", &bridge.name)?;
            (section.text("type") == Some("bridge")).then_some(section)
        })
        .collect::<Option<_>>()?;
    let vlans = numbers(network, bridges)?;
    let first = bridges.iter().position(|of| of.name == "br-lan").unwrap_or_default();
    let kept = &bridges.get(first)?.name;

    let mut edits = Vec::new();
    for (_, section) in sections.iter().enumerate().filter(|(at, _)| *at != first) {
        edits.push(delete(&section.name));
    }
    for name in vlan_devices(network, bridges) {
        edits.push(delete(name));
    }
    let values = json!({"ports": ports(bridges), "vlan_filtering": null});
    edits.push(set("network", &sections.get(first)?.name, &values));
    for (bridge, vlan) in bridges.iter().zip(&vlans) {
        let members: Vec<String> = bridge
            .ports
            .iter()
            .map(|port| match &port.vlan {
                Some((below, _)) => format!("{below}:t"),
                None => format!("{}:u*", port.name),
            })
            .collect();
        edits.push(json!({
            "op": "add", "config": "network", "type": "bridge-vlan",
            "values": {"device": kept, "vlan": vlan.to_string(), "ports": members},
        }));
        for interface in network.of("interface") {
            if interface.text("device") == Some(&bridge.name) {
                let values = json!({"device": format!("{kept}.{vlan}")});
                edits.push(set("network", &interface.name, &values));
            }
        }
    }
    Some(edits)
}

fn delete(section: &str) -> Value {
    json!({"op": "delete", "config": "network", "section": section})
}

/// Returns the VLAN of each bridge: the tag of its ports, or an unused VLAN ID.
fn numbers(network: &Package, bridges: &[&Bridge]) -> Option<Vec<u16>> {
    let tags = |bridge: &Bridge| -> BTreeSet<u16> {
        bridge.ports.iter().filter_map(|port| port.vlan.as_ref().map(|(_, vid)| *vid)).into_set()
    };
    let mut taken: BTreeSet<u16> = bridges.iter().flat_map(|bridge| tags(bridge)).into_set();
    let devices = network.of("device");
    taken.extend(devices.filter_map(|of| of.text("vid")?.parse::<u16>().ok()));
    let mut numbers = Vec::new();
    for bridge in bridges {
        let mut tags = tags(bridge).into_iter();
        let number = match (tags.next(), tags.next()) {
            (Some(vid), None) => vid,
            (None, _) => (1..=MAX_VLAN).find(|vid| !taken.contains(vid))?,
            _ => return None,
        };
        taken.insert(number);
        numbers.push(number);
    }
    let distinct: BTreeSet<&u16> = numbers.iter().into_set();
    (distinct.len() == numbers.len()).then_some(numbers)
}

/// Returns the physical ports of all bridges.
fn ports(bridges: &[&Bridge]) -> BTreeSet<String> {
    let lowest = bridges.iter().flat_map(|bridge| &bridge.ports);
    lowest.map(|port| port.vlan.as_ref().map_or(&port.name, |(below, _)| below).clone()).into_set()
}

/// Returns the sections of VLAN devices that are ports of the bridges.
fn vlan_devices<'a>(network: &'a Package, bridges: &[&Bridge]) -> Vec<&'a str> {
    let names: BTreeMap<&str, &str> = network
        .of("device")
        .filter_map(|section| Some((section.text("name")?, section.name.as_str())))
        .into_map();
    let ports = bridges.iter().flat_map(|bridge| &bridge.ports);
    let tagged = ports.filter(|port| port.vlan.is_some());
    tagged.filter_map(|port| names.get(port.name.as_str()).copied()).collect()
}
