// SPDX-License-Identifier: GPL-2.0-or-later
//! Devices of a flowtable: the lowest ones of every forwarding path.
//!
//! The flowtable's hook is at a device's ingress. The packets of a path enter by its lowest
//! device, and the kernel walks down to the same device when it resolves the egress of a flow, so
//! a bridge, a VLAN device or a ppp device in the list would see none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::model::Topology;
use crate::side::is_port;
use crate::types::{Link, LinkKind, Name, RouteKind};

/// Whether a device belongs into a flowtable, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowestDevice {
    /// Index of the device.
    pub index: u32,
    /// Its name.
    pub device: Name,
    /// The device belongs into the flowtable.
    pub eligible: bool,
    /// Why it does or does not, as a text for the user.
    pub why: String,
}

/// Lowest devices, each with the layer 3 devices above it.
pub(crate) type Carries = BTreeMap<u32, BTreeSet<Name>>;

impl Topology {
    /// Every link by index, with the verdict whether a flowtable lists it.
    #[must_use]
    pub fn lowest(&self) -> Vec<LowestDevice> {
        let mut carries = Carries::new();
        for link in self.links() {
            if self.is_routed(link) {
                self.descend(link, 0, &link.name, &mut BTreeSet::new(), &mut carries);
            }
        }
        let kept = self.kept();
        self.links()
            .map(|link| {
                let (carries, kept) = (carries.get(&link.index), kept.get(&link.index));
                let why = match (carries, kept) {
                    (Some(above), _) => self.why_in(link, above),
                    (None, Some(above)) => {
                        format!("kept for the PPPoE session over {}", names(above))
                    }
                    (None, None) => self.why_out(link),
                };
                LowestDevice {
                    index: link.index,
                    device: link.name.clone(),
                    eligible: carries.or(kept).is_some(),
                    why,
                }
            })
            .collect()
    }

    /// The tunnels that packets are routed over. They have no lowest device, but the kernel still
    /// adds their flows: it then offloads what enters through a port, but not what leaves the
    /// tunnel (`nft_dev_forward_path` fails for that side alone).
    #[must_use]
    pub fn tunnels(&self) -> BTreeSet<Name> {
        let tunnels = self.links().filter(|link| {
            matches!(link.kind, LinkKind::Other(_)) && !is_port(link) && self.is_routed(link)
        });
        tunnels.map(|link| link.name.clone()).collect()
    }

    /// The lowest devices below those that `PPPoE` sessions ran over. While a session is down,
    /// nothing else shows that its devices belong to a path; without this record each dial would
    /// change the flowtable twice.
    fn kept(&self) -> Carries {
        let mut kept = Carries::new();
        for link in self.dialled.iter().filter_map(|name| self.link_named(name)) {
            self.descend(link, 0, &link.name, &mut BTreeSet::new(), &mut kept);
        }
        kept
    }

    /// Whether packets are routed over the link: it has an address or a route beyond the
    /// link-local ones that every device has.
    fn is_routed(&self, link: &Link) -> bool {
        link.kind != LinkKind::Loopback
            && (self.addresses().any(|have| have.index == link.index && reaches(have.address))
                || self.routes().any(|route| {
                    route.index == Some(link.index)
                        && route.kind == RouteKind::Unicast
                        && !route.network.is_multicast()
                        && reaches(route.network)
                }))
    }

    pub(crate) fn descend(
        &self,
        link: &Link,
        vlan: u16,
        top: &Name,
        seen: &mut BTreeSet<u32>,
        carries: &mut Carries,
    ) {
        if !seen.insert(link.index) {
            return;
        }
        match link.kind {
            LinkKind::Bridge { vlan_filtering } => {
                let inside = if vlan_filtering { self.inside(link, vlan) } else { 0 };
                for port in self.links().filter(|port| port.master == Some(link.index)) {
                    if inside == 0 || self.has_vlan(port, inside) {
                        self.descend(port, 0, top, seen, carries);
                    }
                }
            }
            LinkKind::Vlan { id, .. } => {
                if let Some(lower) = self.lower(link.index) {
                    self.descend(lower, id, top, seen, carries);
                }
            }
            LinkKind::Ppp => {
                if let Some(lower) = self.lower(link.index) {
                    self.descend(lower, 0, top, seen, carries);
                }
            }
            _ if is_port(link) => {
                carries.entry(link.index).or_default().insert(top.clone());
            }
            _ => {}
        }
    }

    fn has_vlan(&self, port: &Link, vid: u16) -> bool {
        self.port_vlans(port.index).iter().any(|vlan| vlan.vid == vid)
    }

    fn why_in(&self, link: &Link, above: &BTreeSet<Name>) -> String {
        let names = names(above);
        match self.master(link) {
            Some(bridge) if bridge.is_bridge() => {
                format!("port of bridge {}, carries {names}", bridge.name)
            }
            _ if above.len() == 1 && above.contains(&link.name) => {
                "has its own addresses".to_owned()
            }
            _ => format!("underlying port of {names}"),
        }
    }

    fn why_out(&self, link: &Link) -> String {
        match &link.kind {
            LinkKind::Loopback => "loopback: not used for forwarding".to_owned(),
            LinkKind::Bridge { .. } => "bridge: its ports are listed instead".to_owned(),
            LinkKind::Vlan { .. } => "VLAN device: its parent is listed instead".to_owned(),
            LinkKind::Ppp if self.lower(link.index).is_none() => {
                "PPP device with an unknown parent".to_owned()
            }
            LinkKind::Ppp => "PPP device: its underlying port is listed instead".to_owned(),
            kind if !is_port(link) => {
                format!("{kind} is not an Ethernet port")
            }
            _ => match self.master(link) {
                Some(bridge) if bridge.is_bridge() => {
                    format!("bridge {} has no addressed network on this port", bridge.name)
                }
                Some(master) if is_port(master) => {
                    format!("member of {}, which is listed instead", master.name)
                }
                _ => "no addressed network uses it".to_owned(),
            },
        }
    }

    fn master(&self, link: &Link) -> Option<&Link> {
        self.link(link.master?)
    }
}

fn names(above: &BTreeSet<Name>) -> String {
    above.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")
}

impl Link {
    fn is_bridge(&self) -> bool {
        matches!(self.kind, LinkKind::Bridge { .. })
    }
}

/// An address or network that is not only for the link itself.
fn reaches(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_link_local(),
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
#[path = "lowest_tests.rs"]
mod tests;
