// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects the devices of a flowtable, with reasons, and lists the tunnels that packets are routed
//! over.
//!
//! A flowtable hooks the ingress of a device. Packets enter through the lowest device of a path,
//! and the kernel resolves the egress of a flow down to the lowest device, so a listed bridge, VLAN
//! device or ppp device would see no packets. A tunnel is the lowest device of the packets inside
//! it. Bonds and ports of a DSA switch replace the devices below them.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use config::Cause;

use crate::link_kind::{is_aggregate, is_listed_tunnel, is_port, is_switch_port};
use crate::model::Topology;
use crate::types::{Link, LinkKind, Name, RouteKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowestDevice {
    pub index: u32,
    pub device: Name,
    pub eligible: bool,
    pub why: Cause,
}

config::coded! {
    /// Reason why a flowtable lists a device, or does not.
    pub enum LinkReason {
        BridgePort { bridge: Name, devices: String } = "bridge-port",
            "port of bridge {bridge}, carries {devices}";
        Addressed = "addressed", "has its own addresses";
        Underlying { devices: String } = "underlying", "underlying port of {devices}";
        Kept { devices: String } = "kept", "kept for the PPPoE session over {devices}";
        Loopback = "loopback", "loopback: not used for forwarding";
        Bridge = "bridge", "bridge: its ports are listed instead";
        Vlan = "vlan", "VLAN device: its parent is listed instead";
        PppUnknown = "ppp-unknown", "PPP device with an unknown parent";
        Ppp = "ppp", "PPP device: its underlying port is listed instead";
        NotPort { kind: String } = "not-a-port", "{kind} is not an Ethernet port";
        BridgeUnused { bridge: Name } = "bridge-unused",
            "bridge {bridge} has no addressed network on this port";
        Member { master: Name } = "member", "member of {master}, which is listed instead";
        Conduit = "conduit", "conduit of a switch: the switch's ports are listed instead";
        Unused = "unused", "no addressed network uses it";
    }
}

/// Lowest devices, each with the layer 3 devices above it.
pub(crate) type Carries = BTreeMap<u32, BTreeSet<Name>>;

impl Topology {
    #[must_use]
    pub fn lowest(&self) -> Vec<LowestDevice> {
        let mut carries = Carries::new();
        for link in self.links() {
            if self.is_routed(link) {
                self.descend(link, 0, &link.name, &mut BTreeSet::new(), &mut carries);
            }
        }
        let kept = self.kept();
        let is_listed =
            |link: &Link| carries.contains_key(&link.index) || kept.contains_key(&link.index);
        self.links()
            .map(|link| {
                let (carries, kept) = (carries.get(&link.index), kept.get(&link.index));
                let why = match (carries, kept) {
                    (Some(above), _) => self.why_in(link, above),
                    (None, Some(above)) => LinkReason::Kept { devices: names(above) },
                    (None, None) => match self.aggregate(link) {
                        Some(of) if is_listed(of) => LinkReason::Member { master: of.name.clone() },
                        Some(of) => self.why_out(of),
                        None => self.why_out(link),
                    },
                };
                LowestDevice {
                    index: link.index,
                    device: link.name.clone(),
                    eligible: carries.or(kept).is_some(),
                    why: why.cause(),
                }
            })
            .collect()
    }

    /// Returns the routed tunnels that a flowtable can list, or all others if `listed` is false.
    /// For unlisted tunnels, the kernel offloads packets from a port to the tunnel, but not the
    /// opposite direction.
    #[must_use]
    pub fn tunnels(&self, listed: bool) -> BTreeSet<Name> {
        let tunnels = self.links().filter(|link| {
            matches!(link.kind, LinkKind::Other(_))
                && !is_port(link)
                && is_listed_tunnel(link) == listed
                && self.is_routed(link)
        });
        tunnels.map(|link| link.name.clone()).into_set()
    }

    /// Returns each routed layer 3 device with all devices that its packets pass, itself included.
    #[must_use]
    pub fn stacks(&self) -> BTreeMap<Name, BTreeSet<Name>> {
        let routed = self.links().filter(|link| self.is_routed(link));
        let stack = |link: &Link| {
            let mut seen = BTreeSet::new();
            self.descend(link, 0, &link.name, &mut seen, &mut Carries::new());
            let names = seen.into_iter().filter_map(|index| self.link(index));
            (link.name.clone(), names.map(|link| link.name.clone()).into_set())
        };
        routed.map(stack).into_map()
    }

    #[must_use]
    pub fn is_bridge(&self, device: &str) -> bool {
        self.link_named(device).is_some_and(Link::is_bridge)
    }

    /// Returns the lowest devices of former `PPPoE` sessions. Without them, each reconnect would
    /// change the flowtable twice.
    fn kept(&self) -> Carries {
        let mut kept = Carries::new();
        for link in self.dialled.iter().filter_map(|name| self.link_named(name)) {
            self.descend(link, 0, &link.name, &mut BTreeSet::new(), &mut kept);
        }
        kept
    }

    /// Returns whether packets are routed over the link: it has an address or a route that is not
    /// link-local.
    fn is_routed(&self, link: &Link) -> bool {
        link.kind != LinkKind::Loopback
            && (self
                .addresses()
                .any(|have| have.index == link.index && !is_link_local(have.address))
                || self.routes().any(|route| {
                    route.index == Some(link.index)
                        && route.kind == RouteKind::Unicast
                        && !route.network.is_multicast()
                        && !is_link_local(route.network)
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
            LinkKind::Vlan { .. } | LinkKind::Ppp => {
                if let Some(lower) = self.lower(link.index) {
                    self.descend(lower, link.kind.vlan().unwrap_or(0), top, seen, carries);
                }
            }
            _ if self.aggregate(link).is_some() || self.is_conduit(link) => {}
            _ if is_port(link) || (link.name == *top && is_listed_tunnel(link)) => {
                carries.entry(link.index).or_default().insert(top.clone());
            }
            _ => {}
        }
    }

    fn has_vlan(&self, port: &Link, vid: u16) -> bool {
        self.port_vlans(port.index).iter().any(|vlan| vlan.vid == vid)
    }

    fn why_in(&self, link: &Link, above: &BTreeSet<Name>) -> LinkReason {
        let devices = names(above);
        match self.master(link) {
            Some(bridge) if bridge.is_bridge() => {
                LinkReason::BridgePort { bridge: bridge.name.clone(), devices }
            }
            _ if above.len() == 1 && above.contains(&link.name) => LinkReason::Addressed,
            _ => LinkReason::Underlying { devices },
        }
    }

    fn why_out(&self, link: &Link) -> LinkReason {
        match &link.kind {
            LinkKind::Loopback => LinkReason::Loopback,
            LinkKind::Bridge { .. } => LinkReason::Bridge,
            LinkKind::Vlan { .. } => LinkReason::Vlan,
            LinkKind::Ppp if self.lower(link.index).is_none() => LinkReason::PppUnknown,
            LinkKind::Ppp => LinkReason::Ppp,
            kind if !is_port(link) => LinkReason::NotPort { kind: kind.to_string() },
            _ if self.is_conduit(link) => LinkReason::Conduit,
            _ => match self.master(link) {
                Some(bridge) if bridge.is_bridge() => {
                    LinkReason::BridgeUnused { bridge: bridge.name.clone() }
                }
                _ => LinkReason::Unused,
            },
        }
    }

    fn master(&self, link: &Link) -> Option<&Link> {
        self.link(link.master?)
    }

    /// Returns the bond or team of a member.
    fn aggregate(&self, member: &Link) -> Option<&Link> {
        self.master(member).filter(|master| is_aggregate(master))
    }

    /// Returns whether a DSA switch tags all frames of this device, so that no hook sees IP there.
    fn is_conduit(&self, link: &Link) -> bool {
        self.links().any(|port| is_switch_port(port) && port.lower == Some(link.index))
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

#[must_use]
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests;
