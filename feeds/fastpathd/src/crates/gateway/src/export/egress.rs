// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects the egress device of messages to a collector: the section's interface, or the kernel's
//! route. Any host on the Internet side may claim a private address, so a collector with a private
//! address must be in a zone that does not lead to the Internet.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use topology::Topology;

use crate::export::progress::ExportReason;
use crate::export::settings::Settings;
use crate::network::interfaces::{Firewall, Interface};

/// Index of the loopback device in every network namespace.
const LOOPBACK: u32 = 1;

/// Egress devices that messages may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressDevices {
    /// Devices in zones that do not lead to the Internet, by index.
    pub inner: BTreeMap<u32, String>,
    /// Devices of interfaces that are up, by name of the interface.
    pub interfaces: BTreeMap<String, String>,
}

impl EgressDevices {
    pub(crate) fn of(
        zones: &BTreeMap<String, BTreeSet<String>>,
        firewall: &Firewall,
        interfaces: &[Interface],
        topology: &Topology,
    ) -> Self {
        let (outer, inner): (Vec<_>, Vec<_>) =
            zones.iter().partition(|(zone, _)| firewall.is_wan(zone));
        let has = |zones: &[(&String, &BTreeSet<String>)], name: &str| {
            zones.iter().any(|(_, devices)| devices.contains(name))
        };
        let links = topology.links();
        let inner = links
            .filter(|link| has(&inner, &link.name) && !has(&outer, &link.name))
            .map(|link| (link.index, link.name.to_string()))
            .into_map();
        let up = interfaces.iter().filter(|one| one.up && !one.device.is_empty());
        let interfaces = up.map(|one| (one.name.clone(), one.device.clone())).into_map();
        Self { inner, interfaces }
    }

    /// Returns the device to bind a socket to; `None` for any. `egress` returns the index of the
    /// device that the kernel uses for our own packets to an address.
    ///
    /// # Errors
    /// The interface is down, or a private address is not on the inner side.
    pub fn find(
        &self,
        settings: &Settings,
        egress: impl Fn(IpAddr) -> Result<u32, ExportReason>,
    ) -> Result<Option<String>, ExportReason> {
        if let Some(interface) = settings.interface() {
            let device = self.interfaces.get(interface).cloned();
            let interface = interface.to_owned();
            return device.map(Some).ok_or(ExportReason::InterfaceDown { interface });
        }
        let collector = settings.collector().ip().to_canonical();
        if is_global(collector) {
            return Ok(None);
        }
        match egress(collector)? {
            LOOPBACK => Ok(None),
            device => match self.inner.get(&device) {
                Some(name) => Ok(Some(name.clone())),
                None => Err(ExportReason::NoRoute),
            },
        }
    }
}

/// Returns true if the address can be reached over the Internet. Other addresses belong to private
/// networks, including carriers' networks (100.64.0.0/10) and links.
fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            let is_special = matches!(
                (a, b, c),
                (0 | 10 | 127 | 224.., _, _)
                    | (100, 64..=127, _)
                    | (169, 254, _)
                    | (172, 16..=31, _)
                    | (192, 168, _)
                    | (192, 0, 0)
                    | (198, 18..=19, _)
            );
            !is_special
        }
        // Only 2000::/3, without 6to4 and Teredo, whose addresses contain arbitrary IPv4 addresses.
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            first & 0xe000 == 0x2000 && first != 0x2002 && (first, second) != (0x2001, 0)
        }
    }
}

#[cfg(test)]
mod tests;
