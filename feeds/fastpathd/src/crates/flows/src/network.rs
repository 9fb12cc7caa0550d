// SPDX-License-Identifier: GPL-2.0-or-later
//! The network as seen by the flow table, and the reach of a flowtable.

use std::net::IpAddr;
use std::rc::Rc;

use hashbrown::HashMap;
use model::{Connection, NextHop, Routing, TrafficTypes};

use crate::intern::Number;

/// Path from the router to an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Side {
    /// Layer 3 device, such as `br-lan.10` or `pppoe-wan`.
    pub device: Rc<str>,
    /// VLAN of the address; 0 if it has none.
    pub vlan: u16,
    /// Firewall zone; empty if there is none.
    pub zone: Rc<str>,
    pub outer: bool,
    /// Lowest device, such as `lan1`; empty if unknown.
    pub port: Rc<str>,
    pub in_flowtable: bool,
    pub in_ebpf: bool,
    /// The link-layer address of the next hop is known or not needed.
    pub neighbour: bool,
    pub tunnel: bool,
    /// nft's rules at ingress see no IP header.
    pub unseen: bool,
    /// Traffic type of the layer 3 device.
    pub traffic: TrafficTypes,
    /// Our rules exclude the layer 3 device, because the flowtable would bypass a configured queue.
    pub shaped: bool,
    /// Our rules exclude the layer 3 device, because the flowtable cannot read its headers.
    pub encapsulated: bool,
    /// SQM redirects received packets to an ifb, so that they bypass the flowtable.
    pub redirected: bool,
    /// The driver of the lowest device may offload flows to hardware; `None` if unknown.
    pub hardware: Option<bool>,
}

/// Best path that a flowtable offers packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Packets enter through a device that the flowtable does not list.
    Stack,
    Software,
    Hardware,
}

/// Returns the reach for packets from each end. A driver forwards only between its own ports, so
/// hardware requires both ends.
pub(crate) fn reach(ends: [Option<&Side>; 2]) -> [Reach; 2] {
    let able = ends.iter().flatten().all(|side| side.hardware != Some(false));
    ends.map(|end| match end {
        Some(side) if side.unlisted() => Reach::Stack,
        Some(_) | None if able => Reach::Hardware,
        Some(_) | None => Reach::Software,
    })
}

/// Whether the CPU receives the packets of each direction; `None` if unknown.
pub(crate) type ByCpu = [Option<bool>; 2];

/// Lowers the reach to software for directions that the CPU receives.
pub(crate) fn less(reach: [Reach; 2], by_cpu: ByCpu) -> [Reach; 2] {
    let seen = |i: usize| by_cpu[i] == Some(true);
    [0, 1].map(|i| if seen(i) { reach[i].min(Reach::Software) } else { reach[i] })
}

impl Side {
    /// Returns whether an engine processes packets of this side before the stack.
    pub(crate) fn held(&self) -> bool {
        self.in_flowtable || self.in_ebpf
    }

    /// Returns whether packets certainly miss the flowtable. An unknown port proves nothing,
    /// because forwarding database entries of a bridge expire while the flowtable forwards.
    pub(crate) fn unlisted(&self) -> bool {
        self.redirected || !self.in_flowtable && (self.tunnel || !self.port.is_empty())
    }
}

pub trait Network {
    fn is_local(&self, address: IpAddr) -> bool;
    /// Returns the path to the address by `next_hop`, if given, or by its route; `None` without a
    /// route.
    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side>;
    fn routing(&self, connection: &Connection, mark: u32) -> Routing;
    fn name(&self, address: IpAddr) -> Option<&str>;
    /// Returns a number that changes with the results of the other methods.
    fn generation(&self) -> u64;
}

/// Maximum ends in [`KnownEnds`], about 1 MB. When full, all are dropped.
const MAX_KNOWN_ENDS: usize = 16_384;

#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) side: Number,
    pub(crate) name: Number,
    pub(crate) local: bool,
}

/// Ends of flows that were looked up since the network changed.
#[derive(Debug, Default)]
pub(crate) struct KnownEnds {
    generation: u64,
    ends: HashMap<(IpAddr, Option<NextHop>), End>,
}

impl KnownEnds {
    /// Returns a known end, or looks it up.
    pub(crate) fn get(
        &mut self,
        generation: u64,
        end: (IpAddr, Option<NextHop>),
        look_up: impl FnOnce() -> End,
    ) -> End {
        if self.generation != generation || self.ends.len() == MAX_KNOWN_ENDS {
            self.generation = generation;
            self.ends.clear();
        }
        *self.ends.entry(end).or_insert_with(look_up)
    }
}

/// Returns whether initiator and responder are hosts behind the router. An initiator without a zone
/// counts as a host unless the responder is one.
pub(crate) fn inside_ends(initiator: Option<&Side>, responder: Option<&Side>) -> [bool; 2] {
    let responder = inside(responder) == Some(true);
    [inside(initiator).unwrap_or(!responder), responder]
}

/// Returns whether the zone of a side is behind the router; `None` without a zone.
fn inside(side: Option<&Side>) -> Option<bool> {
    let side = side?;
    (!side.zone.is_empty()).then_some(!side.outer)
}
