// SPDX-License-Identifier: GPL-2.0-or-later
//! The kinds of changes that the model takes: a full read, or links, addresses, routes, rules,
//! neighbours, stations, queues, `PPPoE` sessions.

use std::net::IpAddr;

use crate::rules::RoutingRule;
use crate::types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, Neighbour, PppoeSession, QueueingDiscipline, Route,
};

/// One change of the network, as the kernel reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A full read: objects that are not in it no longer exist.
    Full(Vec<Change>),
    /// A link appeared or changed.
    Link(Link),
    /// The link with this index was removed, with its addresses, routes and neighbours.
    LinkGone(u32),
    /// The VLANs of every bridge port.
    BridgeVlans(Vec<BridgeVlan>),
    /// An address appeared or changed.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// A route appeared.
    Route(Route),
    /// A route replaced those to the same network with the same metric.
    RouteReplaced(Route),
    /// A route is gone.
    RouteGone(Route),
    /// All routes. The kernel removes IPv4 routes of a link that goes down, and those whose source
    /// address is removed, without an event; they are read again then.
    Routes(Vec<Route>),
    /// All routing rules, as the kernel lists them.
    Rules(Vec<RoutingRule>),
    /// A neighbour appeared or changed.
    Neighbour(Neighbour),
    /// A neighbour is gone from the link with this index.
    NeighbourGone(u32, IpAddr),
    /// A station was learned on a bridge port, or moved to it.
    Fdb(FdbEntry),
    /// A station is gone.
    FdbGone(FdbEntry),
    /// All configured queueing disciplines.
    Queues(Vec<QueueingDiscipline>),
    /// All `PPPoE` sessions, and the pppd processes that run them.
    Pppoe(Vec<PppoeSession>, Vec<Dialer>),
}
