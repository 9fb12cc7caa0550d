// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds flows of the flowtable that a change of routes or links may reroute. An entry keeps its
//! routes. The kernel checks them only if it sends to a neighbour itself, not below a bridge, a
//! VLAN or a PPPoE session.

use config::Network;
use flows::FlowTable;
use topology::{Change, Link, Topology};

/// Packets that a change may reroute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Rerouted {
    #[default]
    Nothing,
    /// Packets from or to these networks.
    Networks(Vec<Network>),
    Any,
}

impl Rerouted {
    /// Adds a change, which `topology` does not include yet.
    pub(crate) fn add(&mut self, change: &Change, topology: &Topology) {
        match change {
            // A port that leaves a VLAN leaves the network of this VLAN.
            Change::Full(_) | Change::Routes(_) | Change::Rules(_) | Change::BridgeVlans(_) => {
                *self = Self::Any;
            }
            Change::Route(route) | Change::RouteReplaced(route) | Change::RouteGone(route) => {
                match (&mut *self, Network::of(route.network, route.prefix)) {
                    (Self::Any, _) => {}
                    (Self::Networks(known), Some(network)) => known.push(network),
                    (Self::Nothing, Some(network)) => *self = Self::Networks(vec![network]),
                    (Self::Nothing | Self::Networks(_), None) => *self = Self::Any,
                }
            }
            Change::Link(link) => {
                let moved = |known: &Link| (known.up && !link.up) || known.master != link.master;
                if topology.link(link.index).is_some_and(moved) {
                    *self = Self::Any;
                }
            }
            Change::LinkGone(index) => {
                if topology.link(*index).is_some_and(|known| known.up) {
                    *self = Self::Any;
                }
            }
            Change::Address(_)
            | Change::AddressGone(_)
            | Change::Neighbour(_)
            | Change::NeighbourGone(..)
            | Change::Fdb(_)
            | Change::FdbGone(_)
            | Change::Queues(_)
            | Change::Pppoe(..) => {}
        }
    }

    /// Returns true if any forwarded flow may be rerouted.
    pub(crate) fn concerns(&self, flows: &FlowTable) -> bool {
        match self {
            Self::Nothing => false,
            Self::Networks(networks) => flows.forwards_within(networks),
            Self::Any => flows.forwards(None),
        }
    }
}
