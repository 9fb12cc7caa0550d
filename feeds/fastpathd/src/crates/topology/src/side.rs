// SPDX-License-Identifier: GPL-2.0-or-later
//! Side of an address: device, VLAN, port, and whether the next hop is resolved.

use std::net::IpAddr;

use model::{NextHop, TrafficType};

use crate::link_kind::{is_listed_tunnel, is_port};
use crate::model::{Hop, Topology};
use crate::types::{Link, LinkKind, Mac, Name, RouteKind};

/// Maximum depth of a stack of devices; `QinQ` below `PPPoE` has three.
pub(crate) const MAX_DEPTH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SideKind {
    Bridge,
    Ethernet,
    Pppoe,
    /// Through a tunnel or another device without a known Ethernet port.
    Tunnel,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AddressSide {
    /// Layer 3 device of the route: `br-lan.10`, `pppoe-wan`.
    pub device: Name,
    /// VLAN of the frames on the wire or inside the bridge; the inner one of `QinQ`, 0 without a
    /// tag.
    pub vlan: u16,
    /// Lowest device: the bridge port of the station, the physical device below VLAN and `PPPoE`,
    /// or a tunnel that a flowtable can list. `None` if it is unknown or does not exist.
    pub port: Option<Name>,
    /// The next hop's MAC is known; always true on point-to-point devices.
    pub neighbour: bool,
    pub kind: SideKind,
    /// nft's rules at ingress see no IP header: the frames have a PPPoE header or two tags.
    pub unseen: bool,
    /// Traffic type of the layer 3 device; `None` if no switch applies to its kind.
    pub traffic: Option<TrafficType>,
}

struct Below {
    vlan: u16,
    unseen: bool,
    port: Option<Name>,
    kind: SideKind,
}

impl Topology {
    /// Returns the side of an address behind `next_hop`, or else behind its route. `None` for own
    /// and multicast addresses, and without a route.
    #[must_use]
    pub fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<AddressSide> {
        let (link, next_hop) = self.egress(address, next_hop)?;
        let hop = self.hop(next_hop);
        let mac = if let Hop::Resolved(mac) = hop { Some(mac) } else { None };
        let below = self.below(link, mac);
        Some(AddressSide {
            device: link.name.clone(),
            vlan: below.vlan,
            port: below.port,
            neighbour: link.point_to_point || hop != Hop::Unresolved,
            kind: below.kind,
            unseen: below.unseen,
            traffic: TrafficType::of_device_kind(link.kind.name()),
        })
    }

    /// Returns the MAC that frames to this address have, and whether it is the address' own and not
    /// that of a router behind which it is.
    #[must_use]
    pub fn station_of(&self, address: IpAddr) -> Option<(Mac, bool)> {
        let (_, next_hop) = self.egress(address, None)?;
        let Hop::Resolved(mac) = self.hop(next_hop) else { return None };
        Some((mac, next_hop.1 == address))
    }

    /// Returns the egress link and the next hop. `None` for own and multicast addresses, and
    /// without a route.
    pub(crate) fn egress(
        &self,
        address: IpAddr,
        next_hop: Option<NextHop>,
    ) -> Option<(&Link, (u32, IpAddr))> {
        if address.is_multicast() || self.is_own(address) {
            return None;
        }
        let NextHop { device, gateway } = next_hop.or_else(|| self.by_destination(address))?;
        let link = self.link(device)?;
        Some((link, (link.index, gateway.unwrap_or(address))))
    }

    fn by_destination(&self, address: IpAddr) -> Option<NextHop> {
        let route = self.routes.find(address).filter(|route| route.kind == RouteKind::Unicast)?;
        Some(NextHop { device: route.index?, gateway: route.gateway })
    }

    fn below(&self, link: &Link, mut mac: Option<Mac>) -> Below {
        let mut at = link;
        let (mut vlan, mut tags, mut pppoe, mut bridged) = (0, 0, false, false);
        let mut port = None;
        for _ in 0..MAX_DEPTH {
            let next = match at.kind {
                LinkKind::Vlan { id, .. } => {
                    vlan = if vlan == 0 { id } else { vlan };
                    tags += 1;
                    self.lower(at.index)
                }
                LinkKind::Ppp => {
                    pppoe = true;
                    mac = self.ppp.get(&at.name).map(|session| session.peer);
                    self.lower(at.index)
                }
                LinkKind::Bridge { vlan_filtering } => {
                    bridged = true;
                    let inside = if vlan_filtering { self.inside(at, vlan) } else { 0 };
                    vlan = if vlan == 0 { inside } else { vlan };
                    mac.and_then(|mac| self.station(at.index, mac, inside))
                        .and_then(|port| self.link(port))
                }
                _ => {
                    let listed = std::ptr::eq(at, link) && is_listed_tunnel(at);
                    port = (is_port(at) || listed).then(|| at.name.clone());
                    None
                }
            };
            let Some(next) = next else { break };
            at = next;
        }
        let kind = match (pppoe, bridged) {
            (true, _) if !std::ptr::eq(at, link) => SideKind::Pppoe,
            (false, true) => SideKind::Bridge,
            (false, false) if is_port(at) || at.index != link.index => SideKind::Ethernet,
            _ => SideKind::Tunnel,
        };
        Below { vlan, unseen: pppoe || tags > 1, port, kind }
    }

    /// Returns the VLAN inside a filtering bridge of frames with this tag, or the bridge's PVID if
    /// the tag is 0.
    pub(crate) fn inside(&self, bridge: &Link, tag: u16) -> u16 {
        if tag != 0 {
            return tag;
        }
        self.port_vlans(bridge.index).iter().find(|vlan| vlan.pvid).map_or(0, |vlan| vlan.vid)
    }
}

#[cfg(test)]
mod tests;
