// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes that the model accepts.

use std::net::IpAddr;

use crate::rules::RoutingRule;
use crate::types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, Neighbour, PppoeSession, QueueingDiscipline, Route,
};

/// One change of the network, as the kernel reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A full read; objects that are not in it no longer exist.
    Full(Vec<Change>),
    /// A link appeared or changed.
    Link(Link),
    /// The link with this index was removed, with its addresses, routes and neighbours.
    LinkGone(u32),
    /// VLANs of all bridge ports.
    BridgeVlans(Vec<BridgeVlan>),
    /// An address appeared or changed.
    Address(Address),
    AddressGone(Address),
    Route(Route),
    /// A route replaced all routes to the same network with the same metric.
    RouteReplaced(Route),
    RouteGone(Route),
    /// All routes. The kernel removes IPv4 routes of a link that goes down, and routes with a
    /// removed source address, without an event, so they are read again.
    Routes(Vec<Route>),
    /// All routing rules, as the kernel lists them.
    Rules(Vec<RoutingRule>),
    /// A neighbour appeared or changed.
    Neighbour(Neighbour),
    /// A neighbour is gone from the link with this index.
    NeighbourGone(u32, IpAddr),
    /// A station was learned on a bridge port, or moved to it.
    Fdb(FdbEntry),
    FdbGone(FdbEntry),
    /// All configured queueing disciplines.
    Queues(Vec<QueueingDiscipline>),
    /// All `PPPoE` sessions, and the pppd processes that run them.
    Pppoe(Vec<PppoeSession>, Vec<Dialer>),
}
