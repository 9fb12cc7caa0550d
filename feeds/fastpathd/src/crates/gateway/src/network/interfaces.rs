// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses logical interfaces from netifd, and firewall zones from UCI. `exposure.rs` of crate
//! `config` decides which zones lead to the Internet.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use config::exposure::{Exposure, Opening, Router, WAN, exposures, outer_zones};
use serde::Serialize;
use serde_json::Value;
use uci::{Package, Section};

/// An interface of `/etc/config/network`, from `network.interface dump`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Firewall zone; empty without a zone.
    pub(crate) zone: String,
    #[serde(skip)]
    pub(crate) outer: bool,
    pub(crate) proto: String,
    pub(crate) up: bool,
    /// netifd brings the interface up by itself; false after `ifdown`, and with `option auto 0`.
    #[serde(skip)]
    pub(crate) autostart: bool,
    #[serde(skip)]
    pub(crate) uptime_s: u64,
    /// Layer 3 device while up, and the configured device otherwise; empty without a device.
    pub(crate) device: String,
    /// The configured device, below a tunnel such as PPPoE.
    #[serde(skip)]
    pub(crate) lower: String,
    #[serde(skip)]
    pub(crate) addresses: Vec<String>,
    /// Its first DNS server, else the router of its default route.
    #[serde(skip)]
    pub(crate) server: Option<IpAddr>,
    /// Code of netifd's last error since the interface was up; empty without an error.
    #[serde(skip)]
    pub(crate) error: String,
}

/// Settings of the firewall that the daemon uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Firewall {
    zone_of: HashMap<String, String>,
    zones: Vec<String>,
    /// Pairs of zone and device.
    devices: Vec<(String, String)>,
    /// Zones that lead to the Internet.
    outer: BTreeSet<String>,
    /// fw4's own flow offloading is enabled.
    pub(crate) own_offload: bool,
    /// Exposures to the Internet, except exposures of single services.
    pub(crate) exposures: Vec<Exposure>,
}

impl Firewall {
    /// Parses `values` of `fastpath.config get {"config":"firewall"}`.
    pub(crate) fn parse(values: &Value) -> Self {
        let own_offload = health::offloading_section(values).is_some();
        let (outer, mut exposures) = (outer_zones(values), exposures(values, &Router::default()));
        // The doctor reports single ports, if a service listens there.
        exposures.retain(|exposure| !matches!(exposure.opening, Opening::Services(_)));
        let mut firewall = Self { outer, own_offload, exposures, ..Self::default() };
        for section in values.as_object().map(Package::read).unwrap_or_default().of("zone") {
            firewall.add_zone(section);
        }
        firewall
    }

    fn add_zone(&mut self, section: &Section) {
        let Some(zone) = section.text("name") else { return };
        self.zones.push(zone.to_owned());
        for device in section.words("device") {
            self.devices.push((zone.to_owned(), device.to_owned()));
        }
        for network in section.words("network") {
            self.zone_of.insert(network.to_owned(), zone.to_owned());
        }
    }

    pub(crate) fn zones(&self) -> impl Iterator<Item = &str> {
        self.zones.iter().map(String::as_str)
    }

    /// Returns pairs of zone and device for devices that zones name directly, as is usual for
    /// tunnels. A `+` at the end matches all devices with this prefix.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (&str, &str)> {
        self.devices.iter().map(|(zone, device)| (zone.as_str(), device.as_str()))
    }

    /// Returns true if `zone` leads to the Internet, as `wan` does even before its section is read.
    pub(crate) fn is_wan(&self, zone: &str) -> bool {
        zone == WAN || self.outer.contains(zone)
    }
}

/// Parses the answer of `network.interface dump`. Skips entries without a name.
pub(crate) fn parse_dump(dump: &Value, firewall: &Firewall) -> Vec<Interface> {
    let list = dump.get("interface").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|entry| interface(entry, firewall)).collect()
}

fn interface(entry: &Value, firewall: &Firewall) -> Option<Interface> {
    let name = entry.get("interface")?.as_str()?.to_owned();
    let lower = text(entry, "device").to_owned();
    let device = match text(entry, "l3_device") {
        "" => lower.clone(),
        l3 => l3.to_owned(),
    };
    let addresses = ["ipv4-address", "ipv6-address"]
        .iter()
        .filter_map(|family| entry.get(family)?.as_array())
        .flatten()
        .filter_map(|a| Some(format!("{}/{}", a.get("address")?.as_str()?, a.get("mask")?)))
        .collect();
    let zone = firewall.zone_of.get(&name).map_or_else(|| own_zone(entry, firewall), Clone::clone);
    Some(Interface {
        outer: firewall.is_wan(&zone),
        zone,
        proto: text(entry, "proto").to_owned(),
        up: entry.get("up").and_then(Value::as_bool).unwrap_or(false),
        autostart: entry.get("autostart").and_then(Value::as_bool).unwrap_or(true),
        uptime_s: entry.get("uptime").and_then(Value::as_u64).unwrap_or(0),
        name,
        device,
        lower,
        addresses,
        server: server(entry),
        error: error(entry).unwrap_or_default(),
    })
}

fn server(entry: &Value) -> Option<IpAddr> {
    let list = |key: &str| entry.get(key).and_then(Value::as_array).into_iter().flatten();
    let routers =
        list("route").filter(|route| route.get("mask").and_then(Value::as_u64) == Some(0));
    let routers = routers.map(|route| text(route, "nexthop"));
    let addresses = list("dns-server").filter_map(Value::as_str).chain(routers);
    addresses
        .filter_map(|address| address.parse().ok())
        .find(|address: &IpAddr| !address.is_unspecified() && !address.is_loopback())
}

/// Returns the zone that the protocol handler names, or an empty string. fw4 adds such an interface
/// to the zone, for example a DS-Lite tunnel that odhcp6c creates.
fn own_zone(entry: &Value, firewall: &Firewall) -> String {
    let zone = entry.get("data").map(|data| text(data, "zone")).unwrap_or_default();
    firewall.zones().find(|have| *have == zone).unwrap_or_default().to_owned()
}

/// Returns the code of the newest error, which is the last. Protocol handlers choose the code.
fn error(entry: &Value) -> Option<String> {
    let code = entry.get("errors")?.as_array()?.last()?.get("code")?.as_str()?;
    let is_code = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    Some(code.chars().filter(is_code).take(40).collect())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn firewall() -> Firewall {
        Firewall::parse(&json!({
            "a": {".type": "defaults", "flow_offloading": "0"},
            "b": {".type": "zone", "name": "lan", "network": ["lan", "office"]},
            "c": {".type": "zone", "name": "uplink", "network": "wan wan6", "masq": "1"},
            "d": {".type": "rule", "name": "x"},
        }))
    }

    #[test]
    fn networks_of_a_zone_may_be_a_list_or_a_string() {
        let dump = json!({"interface": [
            {"interface": "office", "up": true, "uptime": 7, "l3_device": "br-lan.10",
             "device": "br-lan.10", "proto": "static",
             "ipv4-address": [{"address": "10.10.10.1", "mask": 24}],
             "ipv6-address": [{"address": "2001:db8::1", "mask": 64}]},
            {"interface": "wan", "up": false, "device": "wan.35", "proto": "pppoe"},
            {"up": true},
        ]});
        let interfaces = parse_dump(&dump, &firewall());
        assert_eq!(interfaces.len(), 2);
        assert_eq!(interfaces[0].zone, "lan");
        assert_eq!(interfaces[0].addresses, ["10.10.10.1/24", "2001:db8::1/64"]);
        assert_eq!(interfaces[1].zone, "uplink");
        assert_eq!(interfaces[1].device, "wan.35");
        assert!(!interfaces[1].up);
    }

    #[test]
    fn a_protocol_handler_may_name_the_zone() {
        let zone = |name: &str, zone: Value| {
            let dump = json!({"interface": [{"interface": name, "data": {"zone": zone}}]});
            parse_dump(&dump, &firewall()).remove(0).zone
        };
        assert_eq!(zone("wan6_4", json!("uplink")), "uplink");
        assert_eq!(zone("lan", json!("uplink")), "lan");
        for none in [json!("unknown"), json!(3), Value::Null] {
            assert_eq!(zone("wan6_4", none), "");
        }
    }

    #[test]
    fn reports_the_newest_error_of_an_interface() {
        let code = |errors: Value| {
            let dump = json!({"interface": [{"interface": "wan", "errors": errors}]});
            parse_dump(&dump, &Firewall::default()).remove(0).error
        };
        let error = |code: &str| json!({"subsystem": "pppoe", "code": code, "data": []});
        assert_eq!(code(json!([error("USER_REQUEST"), error("NO_DEVICE")])), "NO_DEVICE");
        assert_eq!(code(json!([error("AUTH_\u{1b}[2JFAILED\n")])), "AUTH_2JFAILED");
        for none in [json!([]), Value::Null, json!([{"code": 3}]), json!(["x"])] {
            assert_eq!(code(none), "");
        }
    }

    #[test]
    fn a_masqueraded_zone_leads_to_the_internet() {
        assert!(firewall().is_wan("uplink"));
        assert!(!firewall().is_wan("lan"));
        assert!(Firewall::default().is_wan("wan"));
    }

    #[test]
    fn finds_the_zones_that_lead_to_the_internet() {
        let firewall = Firewall::parse(&json!({
            "a": {".type": "zone", "name": "wan", "network": ["line"], "masq": "1"},
            "b": {".type": "zone", "name": "lan", "network": ["lan"], "masq": "1"},
            "c": {".type": "zone", "name": "vpn", "network": ["wg0"], "masq": "1"},
            "d": {".type": "zone", "name": "routed", "network": ["wan6"]},
            "e": {".type": "zone", "name": "six", "network": ["he"], "masq6": "1"},
            "f": {".type": "forwarding", "src": "lan", "dest": "wan"},
            "g": {".type": "forwarding", "src": "vpn", "dest": "wan"},
        }));
        for (zone, outside) in
            [("wan", true), ("lan", false), ("vpn", false), ("routed", true), ("six", true)]
        {
            assert_eq!(firewall.is_wan(zone), outside, "{zone}");
        }
    }

    #[test]
    fn detects_flow_offloading_of_fw4() {
        let values = json!({"x": {".type": "defaults", "flow_offloading": "1"}});
        assert!(Firewall::parse(&values).own_offload);
        assert!(!firewall().own_offload);
    }

    #[test]
    fn malformed_values_give_no_interfaces_and_zones() {
        assert!(parse_dump(&json!({"interface": 3}), &Firewall::default()).is_empty());
        assert_eq!(Firewall::parse(&json!([1, 2])), Firewall::default());
    }
}
