// SPDX-License-Identifier: GPL-2.0-or-later
//! Link-layer path to an address: device, tags, session and MAC addresses of its frames, and the
//! objects it depends on. eBPF programs need it to forward packets without the stack.

use std::net::IpAddr;

use model::NextHop;

use crate::link_kind::is_port;
use crate::model::{Hop, Topology};
use crate::side::MAX_DEPTH;
use crate::types::{Link, LinkKind, Mac, Name};

/// Bytes of the `PPPoE` header and of PPP's protocol field.
const PPPOE: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// 0..=4094.
    pub vid: u16,
    /// True for 802.1ad, false for 802.1Q.
    pub service: bool,
    /// See [`VlanPriorities::egress`](crate::VlanPriorities::egress).
    pub priorities: [u8; 4],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPath {
    /// Index of the lowest device.
    pub port: u32,
    pub port_name: Name,
    /// VLAN tags of frames, outermost first.
    pub tags: Vec<VlanTag>,
    pub session: Option<u16>,
    /// Source MAC of frames to the next hop.
    pub local: Mac,
    /// Destination MAC of frames to the next hop.
    pub next_hop: Mac,
    /// A VLAN device of the path has an `ingress-qos-map`.
    pub classified: bool,
    /// Path MTU up to the next hop.
    pub mtu: u32,
    /// Indexes of the devices from the route's egress device to the lowest.
    pub links: Vec<u32>,
    /// Link index and address of the neighbour; `None` for a ppp device.
    pub neighbour: Option<(u32, IpAddr)>,
    /// Bridge index and MAC of the station; `None` without a bridge.
    pub station: Option<(u32, Mac)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// No route, or the address is this machine's own or multicast.
    Route,
    /// A link of the path is not Ethernet, or its headers are unknown.
    Tunnel,
    /// The next hop has no link-layer address.
    Neighbour,
    /// The bridge has not learned the station in this VLAN.
    Port,
}

struct Down {
    /// Outermost first.
    tags: Vec<VlanTag>,
    classified: bool,
    session: Option<u16>,
    local: Option<Mac>,
    next_hop: Option<Mac>,
    mtu: u32,
    links: Vec<u32>,
    station: Option<(u32, Mac)>,
}

impl Topology {
    /// Returns the link-layer path to the address, through `next_hop` or else through its route.
    pub fn link_path(
        &self,
        address: IpAddr,
        next_hop: Option<NextHop>,
    ) -> Result<LinkPath, PathError> {
        let (link, hop) = self.egress(address, next_hop).ok_or(PathError::Route)?;
        let route = self.routes.find(address).filter(|_| next_hop.is_none());
        let route = route.and_then(|route| route.mtu);
        let (neighbour, next_hop) = match self.hop(hop) {
            _ if link.kind == LinkKind::Ppp => (None, None),
            Hop::Resolved(mac) => (Some(hop), Some(mac)),
            Hop::WithoutMac => return Err(PathError::Tunnel),
            Hop::Unresolved if link.point_to_point => return Err(PathError::Tunnel),
            Hop::Unresolved => return Err(PathError::Neighbour),
        };
        let mut down = Down {
            tags: Vec::new(),
            classified: false,
            session: None,
            local: link.mac,
            next_hop,
            mtu: route.unwrap_or(u32::MAX).min(if address.is_ipv6() {
                link.mtu6
            } else {
                link.mtu
            }),
            links: Vec::new(),
            station: None,
        };
        let lowest = self.walk(link, &mut down)?;
        let (Some(local), Some(next_hop)) = (down.local, down.next_hop) else {
            return Err(PathError::Tunnel);
        };
        Ok(LinkPath {
            port: lowest.index,
            port_name: lowest.name.clone(),
            tags: down.tags,
            session: down.session,
            local,
            next_hop,
            classified: down.classified,
            mtu: down.mtu,
            links: down.links,
            neighbour,
            station: down.station,
        })
    }

    fn walk<'a>(&'a self, top: &'a Link, down: &mut Down) -> Result<&'a Link, PathError> {
        let mut at = top;
        for _ in 0..MAX_DEPTH {
            down.links.push(at.index);
            let overhead = if down.session.is_some() { PPPOE } else { 0 };
            down.mtu = down.mtu.min(at.mtu.saturating_sub(overhead));
            at = match at.kind {
                LinkKind::Vlan { id, service } => {
                    let priorities = at.priorities.egress;
                    down.tags.insert(0, VlanTag { vid: id, service, priorities });
                    down.classified |= at.priorities.ingress;
                    self.lower(at.index).ok_or(PathError::Tunnel)?
                }
                LinkKind::Ppp => {
                    let session = self.ppp.get(&at.name).ok_or(PathError::Tunnel)?;
                    let lower = self.link_named(&session.device).ok_or(PathError::Tunnel)?;
                    down.session = Some(session.id);
                    (down.local, down.next_hop) = (lower.mac, Some(session.peer));
                    lower
                }
                LinkKind::Bridge { vlan_filtering } => self.cross(at, vlan_filtering, down)?,
                _ if is_port(at) => return Ok(at),
                _ => return Err(PathError::Tunnel),
            };
        }
        Err(PathError::Tunnel)
    }

    /// Returns the bridge port of the next hop, and updates the tags for it.
    fn cross(
        &self,
        bridge: &Link,
        vlan_filtering: bool,
        down: &mut Down,
    ) -> Result<&Link, PathError> {
        let mac = down.next_hop.ok_or(PathError::Neighbour)?;
        let tag = down.tags.first().copied();
        let inside =
            if vlan_filtering { self.inside(bridge, tag.map_or(0, |tag| tag.vid)) } else { 0 };
        down.station = Some((bridge.index, mac));
        let port = self.station(bridge.index, mac, inside).ok_or(PathError::Port)?;
        let port = self.link(port).ok_or(PathError::Port)?;
        if vlan_filtering {
            let member = self.port_vlans(port.index).iter().find(|vlan| vlan.vid == inside);
            match (member, tag) {
                (Some(member), Some(_)) if member.tagged => {}
                (Some(member), None) if member.tagged => {
                    down.tags
                        .insert(0, VlanTag { vid: inside, service: false, priorities: [0; 4] });
                }
                // Ingress and egress frames are both untagged.
                (Some(member), None) if member.pvid => {}
                (Some(member), Some(_)) if member.pvid => {
                    down.tags.remove(0);
                }
                _ => return Err(PathError::Port),
            }
        }
        Ok(port)
    }
}

#[cfg(test)]
mod tests;
