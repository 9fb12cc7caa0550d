// SPDX-License-Identifier: GPL-2.0-or-later
//! The trait by which the flow table asks for the network: side of an address, own addresses,
//! how a connection is routed, host names. Also when a side is certainly outside the flowtable.

use std::net::IpAddr;
use std::rc::Rc;

use model::{Connection, NextHop, Routing};

/// The path from the router to an address. Strings are shared: cloning copies pointers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Side {
    /// Layer 3 device, such as `br-lan.10` or `pppoe-wan`.
    pub device: Rc<str>,
    /// VLAN the address is in; 0: none.
    pub vlan: u16,
    /// Firewall zone; empty: none.
    pub zone: Rc<str>,
    /// The zone leads to the Internet.
    pub outer: bool,
    /// Lowest device, such as `lan1`; empty: unknown.
    pub port: Rc<str>,
    /// The lowest device is in the flowtable in force.
    pub in_flowtable: bool,
    /// The lowest device has one of our eBPF programs.
    pub in_ebpf: bool,
    /// The next hop's link layer address is known, or none is needed.
    pub neighbour: bool,
    /// A tunnel or other virtual device.
    pub tunnel: bool,
    /// The rules exclude its layer 3 device: VLAN devices or sessions are disabled.
    pub left_out: bool,
    /// The rules exclude its layer 3 device: the flowtable would bypass a configured queue.
    pub shaped: bool,
    /// SQM takes the packets that its lowest device receives to an ifb, from which they return past
    /// the flowtable.
    pub redirected: bool,
    /// The driver of its lowest device may forward flows by itself; true if that is unknown.
    pub hardware: bool,
}

/// The best that a flowtable can do for the packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Its packets enter through a device that the flowtable does not list.
    Stack,
    Software,
    Hardware,
}

/// The best for the packets of either end. A driver forwards between its own ports only, so both
/// ends need one that can.
pub(crate) fn reach(ends: [Option<&Side>; 2]) -> [Reach; 2] {
    let able = ends.iter().flatten().all(|side| side.hardware);
    ends.map(|end| match end {
        Some(side) if side.unlisted() => Reach::Stack,
        Some(_) | None if able => Reach::Hardware,
        Some(_) | None => Reach::Software,
    })
}

impl Side {
    /// Whether one of our flowtables or programs processes its packets before the stack.
    pub(crate) fn held(&self) -> bool {
        self.in_flowtable || self.in_ebpf
    }

    /// Whether its packets certainly do not meet the flowtable: they return from an ifb, or arrive
    /// through a device that is not in it. A bridge's entry for an address expires while the
    /// flowtable carries its flows past the bridge: without a known port nothing is certain.
    pub(crate) fn unlisted(&self) -> bool {
        self.redirected || !self.in_flowtable && (self.tunnel || !self.port.is_empty())
    }
}

/// The network around the router, as of one generation.
pub trait Network {
    /// Whether the address is one of the router's own.
    fn is_local(&self, address: IpAddr) -> bool;
    /// The path to the address, by its route or by this next hop; `None`: no route.
    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side>;
    /// How packets of this connection with this mark are routed.
    fn routing(&self, connection: &Connection, mark: u32) -> Routing;
    /// Host name of the address, if known.
    fn name(&self, address: IpAddr) -> Option<&str>;
    /// A number that changes when any answer of the other methods can have changed.
    fn generation(&self) -> u64;
}
