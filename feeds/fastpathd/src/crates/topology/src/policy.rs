// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides whether more than the destination may determine the route of packets: a VRF, routing
//! rules, source routes, several next hops.

use std::net::IpAddr;

use config::Network;

use crate::model::Topology;
use crate::rules::Packet;
use crate::types::{Address, Link, LinkKind};

impl Topology {
    /// Returns whether more than the destination may determine the route between two addresses, in
    /// either direction: routing rules, a VRF, source routes, or several next hops.
    ///
    /// Expects both addresses after destination NAT and before source NAT.
    #[must_use]
    pub fn is_policy_routed(&self, one: IpAddr, other: IpAddr) -> bool {
        self.in_vrf || self.is_diverted(one, other) || self.is_diverted(other, one)
    }

    fn is_diverted(&self, from: IpAddr, to: IpAddr) -> bool {
        let ingress = self.routes.find(from).and_then(|route| self.link(route.index?));
        let iif = ingress.map(|link| &*link.name);
        let packet = Packet { from, to, iif };
        let found = self.routes.find(to).map(|route| route.table);
        self.rules.divert(&packet, found) || self.routes.depends(from, to)
    }

    /// Returns whether any device belongs to a VRF. VRFs may reuse addresses, so an address does
    /// not show that a packet is outside all VRFs.
    pub(crate) fn has_vrf(&self) -> bool {
        self.links().any(|link| self.is_in_vrf(link))
    }

    fn is_in_vrf(&self, link: &Link) -> bool {
        let master = link.master.and_then(|index| self.link(index));
        master.is_some_and(|master| is_vrf(&master.kind))
    }

    /// Returns the device in a VRF with a network that contains the address. `None` if several
    /// devices have such a network, in a VRF or not.
    pub(crate) fn device_in_vrf(&self, address: IpAddr) -> Option<u32> {
        if !self.in_vrf {
            return None;
        }
        let network = |own: &Address| Network { address: own.address, prefix: own.prefix };
        let mut found = self.addresses().filter(|own| network(own).contains(address));
        let first = found.next()?.index;
        let is_only = found.all(|own| own.index == first);
        is_only.then(|| self.link(first)).flatten().filter(|link| self.is_in_vrf(link))?;
        Some(first)
    }

    /// Returns the VRFs and rules that may divert flows, rules in the format of `ip rule`.
    #[must_use]
    pub fn policies(&self) -> Vec<String> {
        let vrfs = self.links().filter(|link| is_vrf(&link.kind));
        let mut policies: Vec<String> = vrfs.map(|link| format!("vrf {}", link.name)).collect();
        policies.extend(self.rules.custom(self.in_vrf).map(ToString::to_string));
        policies
    }
}

fn is_vrf(kind: &LinkKind) -> bool {
    matches!(kind, LinkKind::Other(kind) if &**kind == "vrf")
}
