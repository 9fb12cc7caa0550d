// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of the network, as the kernel reports them.

use std::net::IpAddr;

use crate::rules::RoutingRule;
use crate::types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, Neighbour, PppoeSession, QueueingDiscipline, Route,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Replaces the whole model.
    Full(Vec<Change>),
    Link(Link),
    /// Removes the link with this index, and its addresses, routes and neighbours.
    LinkGone(u32),
    /// VLANs of all bridge ports.
    BridgeVlans(Vec<BridgeVlan>),
    Address(Address),
    AddressGone(Address),
    Route(Route),
    /// Replaces all routes to the same network with the same metric and source.
    RouteReplaced(Route),
    RouteGone(Route),
    /// All routes. The kernel sends no event when it removes IPv4 routes of a link that goes down,
    /// or routes with a removed source address.
    Routes(Vec<Route>),
    /// All routing rules, in the kernel's order.
    Rules(Vec<RoutingRule>),
    Neighbour(Neighbour),
    /// Removes a neighbour by link index and address.
    NeighbourGone(u32, IpAddr),
    /// A station was learned on a bridge port, or moved to it.
    Fdb(FdbEntry),
    FdbGone(FdbEntry),
    /// All configured queueing disciplines.
    Queues(Vec<QueueingDiscipline>),
    /// All `PPPoE` sessions, and the pppd processes that run them.
    Pppoe(Vec<PppoeSession>, Vec<Dialer>),
}
