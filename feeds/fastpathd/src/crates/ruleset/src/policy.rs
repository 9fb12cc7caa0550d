// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `policy` of `/etc/config/fastpath`: parsing, unknown zones, and the devices of zones and
//! VLANs.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use config::{Fault, Problem, Section, is_device_name, label, number_in, switch};
use model::{Action, DevicePolicy};

/// Action for connections that match all given conditions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Policy {
    /// Section name in errors: `guests` or `@policy[0]`.
    pub section: String,
    /// UCI section name, for changes.
    pub id: String,
    /// Disabled policies are kept for the page.
    pub enabled: bool,
    /// May be empty.
    pub name: String,
    /// Firewall zone of the initiator; `None` for any.
    pub src: Option<String>,
    pub dest: Option<String>,
    pub src_vlan: Option<u16>,
    pub dest_vlan: Option<u16>,
    pub action: Action,
}

impl Policy {
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let policy = Self {
            section: section.label().to_owned(),
            id: section.name().to_owned(),
            enabled: section.value("enabled", switch).unwrap_or(true),
            name: section.value("name", label).unwrap_or_default(),
            src: section.value("src", zone).flatten(),
            dest: section.value("dest", zone).flatten(),
            src_vlan: section.value("src_vlan", vlan),
            dest_vlan: section.value("dest_vlan", vlan),
            action: section.value("action", str::parse).unwrap_or_default(),
        };
        section.is_good().then_some(policy)
    }

    /// Returns a problem for each zone that does not exist.
    #[must_use]
    pub fn check(&self, segments: &Segments) -> Vec<Problem> {
        let unknown = |(option, zone): (&str, &Option<String>)| {
            let zone = zone.as_ref().filter(|zone| !segments.zones.contains_key(*zone))?;
            let known: Vec<&str> = segments.zones.keys().map(String::as_str).collect();
            let fault = if known.is_empty() {
                Fault::NoZones
            } else {
                Fault::UnknownZone { zone: zone.clone(), known: known.join(", ") }
            };
            let (section, option) = (self.section.clone(), option.to_owned());
            Some(Problem { section, option, value: zone.clone(), fault: Box::new(fault) })
        };
        [("src", &self.src), ("dest", &self.dest)].into_iter().filter_map(unknown).collect()
    }

    #[must_use]
    pub fn on(&self, segments: &Segments) -> DevicePolicy {
        DevicePolicy {
            name: self.name.clone(),
            action: self.action,
            from: segments.devices(self.src.as_deref(), self.src_vlan),
            to: segments.devices(self.dest.as_deref(), self.dest_vlan),
        }
    }
}

/// Parses a zone; `None` for `*` (any zone, as in fw4).
fn zone(text: &str) -> Result<Option<String>, Fault> {
    if text == "*" { Ok(None) } else { label(text).map(Some) }
}

fn vlan(text: &str) -> Result<u16, Fault> {
    let number = number_in(1..=4094)(text).map_err(|_| Fault::VlanRange)?;
    u16::try_from(number).map_err(|_| Fault::VlanRange)
}

/// Layer 3 devices (`br-lan.20`, `pppoe-wan`) by firewall zone and VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segments {
    /// All firewall zones, including zones without devices.
    pub zones: BTreeMap<String, BTreeSet<String>>,
    pub vlans: BTreeMap<u16, BTreeSet<String>>,
}

impl Segments {
    /// Returns the devices in both the zone and the VLAN; `None` if neither is given.
    fn devices(&self, zone: Option<&str>, vlan: Option<u16>) -> Option<BTreeSet<String>> {
        let zone = zone.map(|zone| self.zones.get(zone).cloned().unwrap_or_default());
        let vlan = vlan.map(|vlan| self.vlans.get(&vlan).cloned().unwrap_or_default());
        let mut devices = match (zone, vlan) {
            (None, None) => return None,
            (Some(devices), None) | (None, Some(devices)) => devices,
            (Some(zone), Some(vlan)) => zone.intersection(&vlan).cloned().into_set(),
        };
        devices.retain(|name| is_device_name(name));
        Some(devices)
    }
}

#[cfg(test)]
mod tests;
