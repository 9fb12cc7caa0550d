// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is inspected, as the owner says it, and what that means on the devices of this machine.

use std::collections::{BTreeMap, BTreeSet};

use config::{Problem, Section, is_device_name, label, number_in, order, switch};

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    /// It is not inspected, and offloaded at once.
    None,
    /// It is inspected until Suricata has seen enough or its budget is spent, then offloaded.
    #[default]
    Inspect,
    /// It is inspected as long as it lives, and never offloaded.
    Always,
}

impl Action {
    /// The name in the configuration and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Inspect => "inspect",
            Self::Always => "always",
        }
    }
}

impl std::str::FromStr for Action {
    /// What is wrong, to be read after the value.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "inspect" => Ok(Self::Inspect),
            "always" => Ok(Self::Always),
            _ => Err("is neither inspect nor none nor always".to_owned()),
        }
    }
}

/// A section `policy`: what happens to the connections it matches. All that is given must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Policy {
    /// What to call its section in an error: `guests` or `@policy[0]`.
    pub section: String,
    /// Its section as UCI names it, to change it.
    pub id: String,
    /// Switched on; one that is not is kept for the page and otherwise not there.
    pub enabled: bool,
    /// What the owner calls it; may be empty.
    pub name: String,
    /// Firewall zone of who opened the connection.
    pub src: Option<String>,
    /// Firewall zone it was opened to.
    pub dest: Option<String>,
    /// VLAN of who opened the connection.
    pub src_vlan: Option<u16>,
    /// VLAN it was opened to.
    pub dest_vlan: Option<u16>,
    /// What happens to it.
    pub action: Action,
}

impl Policy {
    /// Reads a section. None if it is wrong.
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

    /// The zones it names that there are not.
    #[must_use]
    pub fn check(&self, places: &Places) -> Vec<Problem> {
        let unknown = |(option, zone): (&str, &Option<String>)| {
            let zone = zone.as_ref().filter(|zone| !places.zones.contains_key(*zone))?;
            let known: Vec<&str> = places.zones.keys().map(String::as_str).collect();
            let what = if known.is_empty() {
                "is not a firewall zone; there are none".to_owned()
            } else {
                format!("is not a firewall zone; known zones: {}", known.join(", "))
            };
            let (section, option) = (self.section.clone(), option.to_owned());
            Some(Problem { section, option, value: zone.clone(), what })
        };
        [("src", &self.src), ("dest", &self.dest)].into_iter().filter_map(unknown).collect()
    }

    /// What it means on the devices there are now.
    #[must_use]
    pub fn on(&self, places: &Places) -> Judged {
        Judged {
            name: self.name.clone(),
            action: self.action,
            from: places.devices(self.src.as_deref(), self.src_vlan),
            to: places.devices(self.dest.as_deref(), self.dest_vlan),
        }
    }
}

/// None: any zone, which fw4 spells `*`.
fn zone(text: &str) -> Result<Option<String>, String> {
    if text == "*" { Ok(None) } else { label(text).map(Some) }
}

fn vlan(text: &str) -> Result<u16, String> {
    const WRONG: &str = "is not a VLAN (1 to 4094)";
    let number = number_in(1..=4094)(text).map_err(|_| WRONG.to_owned())?;
    u16::try_from(number).map_err(|_| WRONG.to_owned())
}

/// Which layer-3 devices (those that routes name: `br-lan.20`, `pppoe-wan`) are where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// Of every firewall zone there is; a zone may be without devices.
    pub zones: BTreeMap<String, BTreeSet<String>>,
    /// Of every VLAN that has any.
    pub vlans: BTreeMap<u16, BTreeSet<String>>,
}

impl Places {
    /// The devices in the zone and in the VLAN; none if neither is asked for, which is any device.
    fn devices(&self, zone: Option<&str>, vlan: Option<u16>) -> Option<BTreeSet<String>> {
        let zone = zone.map(|zone| self.zones.get(zone).cloned().unwrap_or_default());
        let vlan = vlan.map(|vlan| self.vlans.get(&vlan).cloned().unwrap_or_default());
        let mut devices = match (zone, vlan) {
            (None, None) => return None,
            (Some(devices), None) | (None, Some(devices)) => devices,
            (Some(zone), Some(vlan)) => order::set(zone.intersection(&vlan).cloned()),
        };
        devices.retain(|name| is_device_name(name));
        Some(devices)
    }
}

/// A [`Policy`] on the devices of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Judged {
    /// What the owner calls it; may be empty.
    pub name: String,
    /// What happens to a connection it matches.
    pub action: Action,
    /// Devices that who opened the connection is behind; none: any; empty: no connection.
    pub from: Option<BTreeSet<String>>,
    /// Devices that it was opened to; as `from`.
    pub to: Option<BTreeSet<String>>,
}

impl Judged {
    /// Whether there is no connection it could match now.
    pub(crate) fn is_void(&self) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(BTreeSet::is_empty)
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
