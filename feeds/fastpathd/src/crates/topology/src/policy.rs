// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether packets may be routed by more than their destination: a VRF, routing rules, routes for
//! some sources, several next hops. Which rules match a packet: `rules.rs`.

use std::net::IpAddr;

use config::Network;

use crate::model::Topology;
use crate::rules::Packet;
use crate::types::{Address, Link, LinkKind};

impl Topology {
    /// Whether packets between two addresses are routed by more than their destination, in either
    /// direction: routing rules that may match them, a VRF, routes for some sources
    /// only, or one with several hops. False only if that is certain.
    ///
    /// Both addresses as the routing decision sees them: after destination NAT, before source NAT.
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

    /// Packets of devices in a VRF have their own tables and may use the same addresses as others:
    /// its addresses alone do not show that a packet does not belong to a VRF.
    pub(crate) fn has_vrf(&self) -> bool {
        self.links().any(|link| self.is_in_vrf(link))
    }

    fn is_in_vrf(&self, link: &Link) -> bool {
        let master = link.master.and_then(|index| self.link(index));
        master.is_some_and(|master| is_vrf(&master.kind))
    }

    /// The device in a VRF whose network the address is in. None if there are several such devices,
    /// in a VRF or not: the address does not show which one it is behind.
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

    /// The rules and routes that make [`is_policy_routed`](Self::is_policy_routed) true for some
    /// flows, as `ip rule` and `ip route` print them.
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
