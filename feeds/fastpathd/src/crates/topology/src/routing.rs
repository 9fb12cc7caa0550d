// SPDX-License-Identifier: GPL-2.0-or-later
//! Policy routing of a connection: queries for the kernel, and whether its answers hold for every
//! packet of the connection.

use std::net::IpAddr;

use model::{Connection, NextHop, Routing};

use crate::kernel_routes::RouteBatch;
use crate::lookup::{Layer4, RouteAnswer, RouteQuery};
use crate::model::Topology;
use crate::rules::Packet;
use crate::selectors::representative_marks;
use crate::types::{Link, LinkKind};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Ingress devices tried for the initiator's packets: first the egress to the initiator by the
/// default tables, then the egress of the replies.
const ATTEMPTS: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Direction {
    from: IpAddr,
    to: IpAddr,
    iif: u32,
    layer4: Layer4,
    /// Connection mark and translated source address; `None` without source NAT.
    translated: Option<(u32, IpAddr)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Asked,
    Hop(NextHop, bool),
    Unknown,
}

impl Topology {
    /// Returns how the packets of a connection with this mark are routed.
    ///
    /// Asks the kernel about packets from the device of the other endpoint. eBPF programs accept
    /// packets only there, so the answer holds for all packets that they forward.
    #[must_use]
    pub fn routing(&self, connection: &Connection, mark: u32) -> Routing {
        let (initiator, responder) = (connection.orig.src, connection.reply.src);
        if !self.is_policy_routed(initiator, responder) {
            let foreign = self.leaves_with_foreign_source(connection);
            return if foreign { Routing::Unknown } else { Routing::Destination };
        }
        let local = self.is_local(initiator) || self.is_local(responder);
        let multicast = initiator.is_multicast() || responder.is_multicast();
        let families = initiator.is_ipv4() != responder.is_ipv4();
        if local || multicast || families {
            return Routing::Unknown;
        }
        match self.ask_both_ways(connection, mark) {
            // With a VRF, several hosts may have the same addresses.
            Routing::Kernel { hops, current } if self.in_vrf => Routing::Vrf { hops, current },
            routing => routing,
        }
    }

    /// Returns the queries that were queued since the last call.
    #[must_use]
    pub fn route_questions(&self) -> Option<RouteBatch> {
        self.kernel.questions()
    }

    /// Applies the kernel's answers to a batch (empty if the kernel could not be asked). Returns
    /// whether an answer differs from the previous one.
    pub fn routes_answered(
        &mut self,
        batch: &RouteBatch,
        answers: &[(RouteQuery, RouteAnswer)],
    ) -> bool {
        let moved = self.kernel.answered(batch, answers);
        self.generation += u64::from(moved);
        moved
    }

    fn ask_both_ways(&self, connection: &Connection, mark: u32) -> Routing {
        let there = |iif| self.decide(&outward(connection, mark, iif));
        let back = |iif| self.decide(&inward(connection, iif));
        let (initiator, responder) = (connection.orig.src, connection.reply.src);
        let in_vrf = [initiator, responder].map(|address| self.device_in_vrf(address));
        let device = |address| self.egress(address, None).map(|(link, _)| link.index);
        // If only the responder is in a VRF, the route of the replies shows the initiator's device.
        let known = match in_vrf {
            [Some(device), _] => Some(device),
            [None, Some(_)] => None,
            [None, None] => device(initiator),
        };
        let mut iif = match known {
            Some(device) => device,
            None => match in_vrf[1].or_else(|| device(responder)).map_or(Decision::Unknown, back) {
                Decision::Hop(hop, _) => hop.device,
                Decision::Asked => return Routing::Asked,
                Decision::Unknown => return Routing::Unknown,
            },
        };
        for _ in 0..ATTEMPTS {
            let (to_responder, current) = match there(iif) {
                Decision::Hop(hop, current) => (hop, current),
                Decision::Asked => return Routing::Asked,
                Decision::Unknown => return Routing::Unknown,
            };
            let (to_initiator, also_current) = match back(to_responder.device) {
                Decision::Hop(hop, current) => (hop, current),
                Decision::Asked => return Routing::Asked,
                Decision::Unknown => return Routing::Unknown,
            };
            if to_initiator.device == iif {
                let hops = [to_initiator, to_responder];
                return Routing::Kernel { hops, current: current && also_current };
            }
            iif = to_initiator.device;
        }
        Routing::Unknown
    }

    /// Returns the kernel's decision, if it is the same for all packets of this direction.
    fn decide(&self, direction: &Direction) -> Decision {
        let Direction { from, to, iif, layer4, translated } = *direction;
        let name = self.link(iif).map(|link| &*link.name);
        let Some(conditions) = self.rules.conditions(&Packet { from, to, iif: name }) else {
            return Decision::Unknown;
        };
        let ports = matches!(layer4.proto, TCP | UDP);
        let Some(marks) = representative_marks(&conditions.marks) else { return Decision::Unknown };
        if conditions.layer4 && !ports {
            return Decision::Unknown;
        }
        let layer4 = conditions.layer4.then_some(layer4);
        let find = |mark| self.kernel.find(&RouteQuery { from, to, iif, mark, layer4 });
        let answers: Vec<_> = marks.into_iter().map(find).collect();
        let compared = conditions.marks.iter().fold(0, |mask, mark| mask | mark.mask);
        let own = translated.map(|(mark, source)| (find(mark & compared), source));
        let asked = own.iter().map(|(answer, _)| *answer).chain(answers.iter().copied());
        let Some(known) = asked.collect::<Option<Vec<_>>>() else { return Decision::Asked };
        let current = known.iter().all(|(_, current)| *current);
        let routes = || known.iter().map(|(answer, _)| *answer);
        let source = own.and_then(|(answer, source)| Some((answer?.0, self.owner(source)?)));
        let decided = match source {
            Some((RouteAnswer::Hop(hop), device)) if hop.device == device => {
                // The egress device owns the source address, so the packets' mark selects this
                // device. The next hop is certain unless another mark selects another one on the
                // device.
                let elsewhere = |other: RouteAnswer| match other {
                    RouteAnswer::Hop(other) => other.device != device || other == hop,
                    RouteAnswer::Other => true,
                };
                routes().all(elsewhere).then_some(hop)
            }
            // `nf_nat_oif_changed` ends a connection with the address of another device.
            Some(_) => None,
            None => same(routes()),
        };
        decided.map_or(Decision::Unknown, |hop| Decision::Hop(hop, current))
    }

    /// Returns whether the initiator's packets get the source address of a device other than their
    /// egress by the usual tables.
    ///
    /// The kernel ends a masqueraded connection when its egress device changes
    /// (`nf_nat_oif_changed`). It does not report which connections are masqueraded, so this covers
    /// all source NAT, except to addresses that no egress device can have.
    fn leaves_with_foreign_source(&self, connection: &Connection) -> bool {
        let Connection { orig, reply, .. } = connection;
        if reply.dst == orig.src {
            return false;
        }
        let Some((egress, _)) = self.egress(reply.src, None) else { return false };
        let own = self.addresses().filter(|own| own.address == reply.dst);
        let mut owners = own.filter_map(|own| self.link(own.index)).peekable();
        let foreign = |owner: &Link| owner.index != egress.index && !is_internal(&owner.kind);
        owners.peek().is_some() && owners.all(foreign)
    }

    fn owner(&self, address: IpAddr) -> Option<u32> {
        let mut owners = self.addresses().filter(|own| own.address == address);
        let first = owners.next()?.index;
        owners.all(|own| own.index == first).then_some(first)
    }
}

/// Returns whether devices of this kind never forward packets, but hold addresses of the router.
fn is_internal(kind: &LinkKind) -> bool {
    match kind {
        LinkKind::Loopback => true,
        LinkKind::Other(kind) => &**kind == "dummy",
        LinkKind::Ethernet | LinkKind::Bridge { .. } | LinkKind::Vlan { .. } | LinkKind::Ppp => {
            false
        }
    }
}

fn same(mut answers: impl Iterator<Item = RouteAnswer>) -> Option<NextHop> {
    let RouteAnswer::Hop(first) = answers.next()? else { return None };
    answers.all(|answer| answer == RouteAnswer::Hop(first)).then_some(first)
}

/// Returns the initiator's packets, with this ingress device.
fn outward(connection: &Connection, mark: u32, iif: u32) -> Direction {
    let Connection { orig, reply, .. } = connection;
    Direction {
        from: orig.src,
        to: reply.src,
        iif,
        layer4: Layer4 { proto: orig.proto, sport: orig.sport, dport: reply.sport },
        translated: (reply.dst != orig.src).then_some((mark, reply.dst)),
    }
}

/// Returns the responder's packets, with this ingress device.
fn inward(connection: &Connection, iif: u32) -> Direction {
    let Connection { orig, reply, .. } = connection;
    Direction {
        from: reply.src,
        to: orig.src,
        iif,
        layer4: Layer4 { proto: orig.proto, sport: reply.sport, dport: orig.sport },
        translated: None,
    }
}

#[cfg(test)]
mod tests;
