// SPDX-License-Identifier: GPL-2.0-or-later
//! Trait through which the flow table queries the network, and the reach of a flowtable.

use std::net::IpAddr;
use std::rc::Rc;

use model::{Connection, NextHop, Routing};

/// Path from the router to an address. Strings are shared, so clones copy pointers only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Side {
    /// Layer 3 device, such as `br-lan.10` or `pppoe-wan`.
    pub device: Rc<str>,
    /// VLAN of the address; 0 if it has none.
    pub vlan: u16,
    /// Firewall zone; empty if there is none.
    pub zone: Rc<str>,
    /// The zone leads to the Internet.
    pub outer: bool,
    /// Lowest device, such as `lan1`; empty if unknown.
    pub port: Rc<str>,
    /// The lowest device is in the flowtable in force.
    pub in_flowtable: bool,
    /// The lowest device has one of our eBPF programs.
    pub in_ebpf: bool,
    /// The next hop's link-layer address is known or not needed.
    pub neighbour: bool,
    /// A tunnel or other virtual device.
    pub tunnel: bool,
    /// The rules exclude the layer 3 device, because VLAN devices or sessions are disabled.
    pub left_out: bool,
    /// The rules exclude the layer 3 device, since the flowtable would bypass a configured queue.
    pub shaped: bool,
    /// SQM redirects packets that the lowest device receives to an ifb, from which they return past
    /// the flowtable.
    pub redirected: bool,
    /// The driver of the lowest device may forward flows in hardware; true if unknown.
    pub hardware: bool,
}

/// Best that a flowtable can do for packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Packets enter through a device that the flowtable does not list.
    Stack,
    Software,
    Hardware,
}

/// Returns the best for packets from each end. A driver forwards only between its own ports, so
/// hardware needs both ends.
pub(crate) fn reach(ends: [Option<&Side>; 2]) -> [Reach; 2] {
    let able = ends.iter().flatten().all(|side| side.hardware);
    ends.map(|end| match end {
        Some(side) if side.unlisted() => Reach::Stack,
        Some(_) | None if able => Reach::Hardware,
        Some(_) | None => Reach::Software,
    })
}

impl Side {
    /// Returns whether our flowtable or program processes packets of this side before the stack.
    pub(crate) fn held(&self) -> bool {
        self.in_flowtable || self.in_ebpf
    }

    /// Returns whether packets certainly miss the flowtable: they return from an ifb or arrive
    /// through an unlisted device. Without a known port that is uncertain, because a bridge's entry
    /// for an address expires while the flowtable forwards its flows.
    pub(crate) fn unlisted(&self) -> bool {
        self.redirected || !self.in_flowtable && (self.tunnel || !self.port.is_empty())
    }
}

/// Network around the router, as of one generation.
pub trait Network {
    /// Returns whether the address belongs to the router.
    fn is_local(&self, address: IpAddr) -> bool;
    /// Returns the path to the address, by its route or by this next hop; `None` without a route.
    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side>;
    /// Returns how packets of this connection with this mark are routed.
    fn routing(&self, connection: &Connection, mark: u32) -> Routing;
    fn name(&self, address: IpAddr) -> Option<&str>;
    /// Returns a number that changes whenever an answer of the other methods may have changed.
    fn generation(&self) -> u64;
}
