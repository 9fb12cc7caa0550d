// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides whether packets may be routed by more than their destination: a VRF, routing rules,
//! source routes, several next hops. `rules.rs` matches rules to packets.

use std::net::IpAddr;

use config::Network;

use crate::model::Topology;
use crate::rules::Packet;
use crate::types::{Address, Link, LinkKind};

impl Topology {
    /// Returns whether packets between two addresses are routed by more than their destination in
    /// either direction: routing rules that may match, a VRF, source routes, or a route with
    /// several next hops. False only if that is certain.
    ///
    /// Both addresses are as the routing decision sees them: after destination NAT, before source
    /// NAT.
    #[must_use]
    pub fn is_policy_routed(&self, one: IpAddr, other: IpAddr) -> bool {
        self.in_vrf || self.is_diverted(one, other) || self.is_diverted(other, one)
    }

    fn is_diverted(&self, from: IpAddr, to: IpAddr) -> bool {
        let came_in = self.routes.find(from).and_then(|route| self.link(route.index?));
        let iif = came_in.map(|link| &*link.name);
        let packet = Packet { from, to, iif };
        let found = self.routes.find(to).map(|route| route.table);
        self.rules.divert(&packet, found) || self.routes.depends(from, to)
    }

    /// Returns whether any device belongs to a VRF. Packets in a VRF have their own tables and may
    /// use the same addresses as others, so no address shows that a packet is outside of it.
    pub(crate) fn has_vrf(&self) -> bool {
        self.links().any(|link| self.is_in_vrf(link))
    }

    fn is_in_vrf(&self, link: &Link) -> bool {
        let master = link.master.and_then(|index| self.link(index));
        master.is_some_and(|master| is_vrf(&master.kind))
    }

    /// Returns the device in a VRF with a network that contains the address. `None` if several
    /// devices have such a network, in a VRF or not: the address does not show which one it is
    /// behind.
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

    /// Returns the VRFs and rules that make [`is_policy_routed`](Self::is_policy_routed) true for
    /// some flows, rules as `ip rule` prints them.
    #[must_use]
    pub fn policies(&self) -> Vec<String> {
        let vrfs = self.links().filter(|link| is_vrf(&link.kind));
        let mut policies: Vec<String> = vrfs.map(|link| format!("vrf {}", link.name)).collect();
        policies.extend(self.rules.made(self.in_vrf).map(ToString::to_string));
        policies
    }
}

fn is_vrf(kind: &LinkKind) -> bool {
    matches!(kind, LinkKind::Other(kind) if &**kind == "vrf")
}
