// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the devices of zones and VLANs, the ports for inspection, and `HOME_NET`.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

use config::Network;
use ruleset::Segments;
use topology::{LinkKind, Topology, is_link_local};

use crate::network::interfaces::{Firewall, Interface};

/// Name of a zone, and whether it leads to the Internet.
pub(crate) type Zone = (Rc<str>, bool);

/// Zones of layer 3 devices, by their interfaces and by the devices that zones name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceZones {
    devices: HashMap<String, Zone>,
    /// Zones of all devices whose names start with a prefix.
    prefixes: Vec<(String, Zone)>,
}

impl DeviceZones {
    pub(crate) fn new(firewall: &Firewall, interfaces: &[Interface]) -> Self {
        let zone = |name: &str| (Rc::from(name), firewall.is_wan(name));
        let mut all = Self::default();
        for (name, device) in firewall.devices() {
            match device.strip_suffix('+') {
                Some(prefix) => all.prefixes.push((prefix.to_owned(), zone(name))),
                None => drop(all.devices.insert(device.to_owned(), zone(name))),
            }
        }
        for interface in interfaces {
            if !interface.device.is_empty() && !interface.zone.is_empty() {
                all.devices.insert(interface.device.clone(), zone(&interface.zone));
            }
        }
        all
    }

    /// Returns the zone of a device; empty without a zone.
    pub(crate) fn of(&self, device: &str) -> Zone {
        let prefix = || self.prefixes.iter().find(|(prefix, _)| device.starts_with(prefix));
        let found = self.devices.get(device).or_else(|| prefix().map(|(_, zone)| zone));
        found.cloned().unwrap_or_default()
    }
}

/// Returns the devices of each zone and VLAN.
pub(crate) fn segments(
    firewall: &Firewall,
    interfaces: &[Interface],
    topology: &Topology,
) -> Segments {
    Segments { zones: zones(firewall, interfaces, topology), vlans: vlans(topology) }
}

fn zones(
    firewall: &Firewall,
    interfaces: &[Interface],
    topology: &Topology,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut zones: BTreeMap<String, BTreeSet<String>> =
        firewall.zones().map(|zone| (zone.to_owned(), BTreeSet::new())).into_map();
    for interface in interfaces.iter().filter(|interface| !interface.zone.is_empty()) {
        let devices = zones.entry(interface.zone.clone()).or_default();
        devices.extend(devices_of(interface));
    }
    for (zone, device) in firewall.devices() {
        let devices = zones.entry(zone.to_owned()).or_default();
        let Some(begin) = device.strip_suffix('+') else {
            devices.insert(device.to_owned());
            continue;
        };
        let links = topology.links().filter(|link| link.name.starts_with(begin));
        devices.extend(links.map(|link| link.name.to_string()));
    }
    zones
}

fn vlans(topology: &Topology) -> BTreeMap<u16, BTreeSet<String>> {
    let mut vlans: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    let mut vlan_of: BTreeMap<&str, u16> = BTreeMap::new();
    for link in topology.links() {
        if let LinkKind::Vlan { id, .. } = link.kind {
            vlans.entry(id).or_default().insert(link.name.to_string());
            vlan_of.insert(&link.name, id);
        }
    }
    for session in topology.pppoe() {
        if let (Some(device), Some(id)) = (&session.device, vlan_of.get(&*session.lower)) {
            vlans.entry(*id).or_default().insert(device.to_string());
        }
    }
    vlans
}

/// Returns the layer 3 devices of an interface. Includes the future device of a session or tunnel
/// that is down, because packets arrive over it before netifd reports it.
fn devices_of(interface: &Interface) -> Vec<String> {
    let future =
        match interface.proto.as_str() {
            "dslite" => Some(format!("ds-{}", interface.name)),
            proto @ ("pppoe" | "pptp" | "l2tp" | "map" | "ipip6" | "ipip" | "6in4" | "6rd"
            | "6to4") => Some(format!("{proto}-{}", interface.name)),
            _ => None,
        };
    let mut devices: BTreeSet<String> = future.into_iter().into_set();
    if !interface.device.is_empty() {
        devices.insert(interface.device.clone());
    }
    devices.into_iter().collect()
}

/// Returns the devices that inspection can be configured to use.
pub(crate) fn ports(topology: &Topology) -> Vec<ips::CapturePort> {
    let mut upper_devices = upper_devices(topology);
    let routable = topology.addresses().filter(|have| !is_link_local(have.address));
    let addressed: BTreeSet<u32> = routable.map(|have| have.index).into_set();
    topology
        .links()
        .map(|link| ips::CapturePort {
            name: link.name.to_string(),
            bridge: link
                .master
                .and_then(|index| topology.link(index))
                .map(|bridge| bridge.name.to_string()),
            carries: upper_devices.remove(&*link.name).unwrap_or_default(),
            addressed: addressed.contains(&link.index),
            up: link.up,
            mtu: link.mtu,
        })
        .collect()
}

/// Returns VLAN devices and PPPoE sessions, by the name of the device below.
fn upper_devices(topology: &Topology) -> BTreeMap<String, Vec<String>> {
    let mut upper_devices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut stack = |lower: &str, upper: &str| {
        upper_devices.entry(lower.to_owned()).or_default().push(upper.to_owned());
    };
    for upper in topology.links().filter(|link| matches!(link.kind, LinkKind::Vlan { .. })) {
        if let Some(lower) = upper.lower.and_then(|index| topology.link(index)) {
            stack(&lower.name, &upper.name);
        }
    }
    for session in topology.pppoe() {
        stack(&session.lower, session.device.as_deref().unwrap_or("a PPPoE session"));
    }
    upper_devices
}

/// Returns the networks of zones that do not lead to the Internet.
pub(crate) fn home(firewall: &Firewall, interfaces: &[Interface]) -> Vec<Network> {
    let inner = interfaces.iter().filter(|i| !i.zone.is_empty() && !firewall.is_wan(&i.zone));
    let mut networks: Vec<Network> =
        inner.flat_map(|i| &i.addresses).filter_map(|text| network_of(text)).collect();
    config::sort::by_key(&mut networks, |network| (network.address, network.prefix));
    networks.dedup();
    networks
}

/// Parses an address with prefix length, such as `10.0.0.1/24`, into its network.
fn network_of(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/')?;
    let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
    Network::of(address, prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{lab_dump, lab_firewall, lab_network};
    use crate::network::interfaces::parse_dump;

    fn lab() -> (Firewall, Vec<Interface>, Topology) {
        let firewall = Firewall::parse(&lab_firewall());
        let interfaces = parse_dump(&lab_dump(), &firewall);
        let mut topology = Topology::new();
        for change in lab_network() {
            topology.apply(change);
        }
        (firewall, interfaces, topology)
    }

    #[test]
    fn a_zone_has_the_layer_3_devices_of_its_networks() {
        let (firewall, interfaces, topology) = lab();
        let segments = segments(&firewall, &interfaces, &topology);
        assert_eq!(segments.zones["wan"], ["pppoe-wan".to_owned()].into());
        assert_eq!(segments.zones["lan"], ["br-lan.10".to_owned()].into());
        assert_eq!(segments.vlans[&20], ["br-lan.20".to_owned()].into());
        assert_eq!(segments.vlans[&35], ["pppoe-wan", "wan.35"].map(str::to_owned).into());
    }

    #[test]
    fn a_zone_includes_the_devices_that_it_names() {
        let mut values = lab_firewall();
        let devices = ["wg0", "pppoe-+"];
        values["z3"] = serde_json::json!({".type": "zone", "name": "vpn", "device": devices});
        let (_, interfaces, topology) = lab();
        let segments = segments(&Firewall::parse(&values), &interfaces, &topology);
        assert_eq!(segments.zones["vpn"], ["pppoe-wan", "wg0"].map(str::to_owned).into());
    }

    #[test]
    fn a_device_is_in_the_zone_that_names_it() {
        let mut values = lab_firewall();
        let devices = ["wg0", "tun+", "br-lan.+"];
        values["z3"] = serde_json::json!({".type": "zone", "name": "vpn", "device": devices});
        let firewall = Firewall::parse(&values);
        let zones = DeviceZones::new(&firewall, &parse_dump(&lab_dump(), &firewall));
        for (device, zone, outer) in [
            ("wg0", "vpn", false),
            ("tun7", "vpn", false),
            ("pppoe-wan", "wan", true),
            ("br-lan.10", "lan", false),
            ("wg1", "", false),
        ] {
            assert_eq!(zones.of(device), (Rc::from(zone), outer), "{device}");
        }
    }

    #[test]
    fn a_session_that_is_down_keeps_its_device() {
        let (_, mut interfaces, _) = lab();
        for interface in &mut interfaces {
            interface.device = interface.lower.clone();
        }
        let wan = interfaces.iter().find(|interface| interface.proto == "pppoe").unwrap();
        assert!(devices_of(wan).contains(&format!("pppoe-{}", wan.name)));
    }

    #[test]
    fn a_tunnel_that_is_down_keeps_its_device() {
        let dump = serde_json::json!({"interface": [
            {"interface": "wan6_4", "proto": "dslite"},
            {"interface": "wan6_4", "proto": "map"},
        ]});
        let interfaces = parse_dump(&dump, &Firewall::default());
        assert_eq!(devices_of(&interfaces[0]), ["ds-wan6_4"]);
        assert_eq!(devices_of(&interfaces[1]), ["map-wan6_4"]);
    }

    #[test]
    fn a_port_lists_its_bridge_and_the_devices_above_it() {
        let (_, _, topology) = lab();
        let ports = ports(&topology);
        let named = |name: &str| ports.iter().find(|port| port.name == name).unwrap();
        assert_eq!(named("lan1").bridge.as_deref(), Some("br-lan"));
        assert_eq!(named("wan").carries, ["wan.35"]);
        assert_eq!(named("wan.35").carries, ["pppoe-wan"]);
        assert!(named("br-lan.10").addressed);
    }

    #[test]
    fn home_networks_exclude_the_internet() {
        let (firewall, interfaces, _) = lab();
        let home: Vec<String> =
            home(&firewall, &interfaces).iter().map(ToString::to_string).collect();
        assert!(home.contains(&"10.10.10.0/24".to_owned()), "{home:?}");
        assert!(!home.iter().any(|network| network.starts_with("198.51.")), "{home:?}");
    }
}
