// SPDX-License-Identifier: GPL-2.0-or-later
//! What can change in the model.

use std::net::IpAddr;

use crate::rules::Rule;
use crate::types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, Neighbour, PppoeSession, Queue, Route,
};

/// One change of the network, as the kernel reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Everything there is: what is not among these no longer exists.
    Full(Vec<Change>),
    /// A link appeared or changed.
    Link(Link),
    /// The link with this index is gone, and all that was on it.
    LinkGone(u32),
    /// The VLANs of every bridge port.
    BridgeVlans(Vec<BridgeVlan>),
    /// An address appeared or changed.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// A route appeared.
    Route(Route),
    /// A route took the place of those to the same network with the same metric.
    RouteReplaced(Route),
    /// A route is gone.
    RouteGone(Route),
    /// All routes. The kernel drops IPv4 routes of a link that goes down, and those with a
    /// source address that goes, without telling; so they are read again then.
    Routes(Vec<Route>),
    /// All routing rules, as the kernel lists them.
    Rules(Vec<Rule>),
    /// A neighbour appeared or changed.
    Neighbour(Neighbour),
    /// A neighbour is gone from the link with this index.
    NeighbourGone(u32, IpAddr),
    /// A station appeared on or moved to a bridge port.
    Fdb(FdbEntry),
    /// A station is gone.
    FdbGone(FdbEntry),
    /// All queues that somebody has chosen.
    Queues(Vec<Queue>),
    /// All `PPPoE` sessions, and what is known of the programs that keep them.
    Pppoe(Vec<PppoeSession>, Vec<Dialer>),
}
