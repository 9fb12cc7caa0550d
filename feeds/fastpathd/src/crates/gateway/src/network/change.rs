// SPDX-License-Identifier: GPL-2.0-or-later
//! Maps changes of the network to dependencies of eBPF entries, and finds rerouted flows.

use std::net::IpAddr;

use ebpf::dependency::{Dependency, DependencyChange};
use topology::{Change as NetworkChange, Link, LinkKind, Topology};

pub(super) fn change_of(change: &NetworkChange) -> DependencyChange {
    let host = |address: IpAddr| {
        DependencyChange::Route(address, if address.is_ipv4() { 32 } else { 128 })
    };
    match change {
        NetworkChange::Full(_)
        | NetworkChange::Routes(_)
        | NetworkChange::Rules(_)
        | NetworkChange::Queues(_) => DependencyChange::All,
        NetworkChange::Link(link) => DependencyChange::Dependency(Dependency::Link(link.index)),
        NetworkChange::LinkGone(index) => DependencyChange::Dependency(Dependency::Link(*index)),
        NetworkChange::BridgeVlans(_) => DependencyChange::Vlans,
        // Packets to an address of the router itself are not forwarded.
        NetworkChange::Address(address) | NetworkChange::AddressGone(address) => {
            host(address.address)
        }
        NetworkChange::Route(route)
        | NetworkChange::RouteReplaced(route)
        | NetworkChange::RouteGone(route) => DependencyChange::Route(route.network, route.prefix),
        NetworkChange::Neighbour(neighbour) => {
            DependencyChange::Dependency(Dependency::Neighbour(neighbour.index, neighbour.address))
        }
        NetworkChange::NeighbourGone(index, address) => {
            DependencyChange::Dependency(Dependency::Neighbour(*index, *address))
        }
        NetworkChange::Fdb(entry) | NetworkChange::FdbGone(entry) => {
            DependencyChange::Dependency(Dependency::Station(entry.bridge, entry.mac.0))
        }
        NetworkChange::Pppoe(..) => DependencyChange::Dependency(Dependency::Session),
    }
}

/// Returns true if this change, not yet part of `topology`, makes a link's MTU smaller.
pub(super) fn shrinks(change: &NetworkChange, topology: &Topology) -> bool {
    let NetworkChange::Link(link) = change else { return false };
    // Without IPv6, `mtu6` is unlimited.
    let mtu6 = |link: &Link| link.mtu6.min(link.mtu);
    let known = topology.link(link.index).filter(|known| known.up);
    known.is_some_and(|known| link.mtu < known.mtu || mtu6(link) < mtu6(known))
}

/// Returns true if this change may reroute flows that do not depend on the changed object.
pub(super) fn decides_routes(change: &NetworkChange, topology: &Topology) -> bool {
    let vrf = |index| {
        let kind = topology.link(index).map(|link| &link.kind);
        matches!(kind, Some(LinkKind::Other(kind)) if &**kind == "vrf")
    };
    match change {
        NetworkChange::Full(_) | NetworkChange::Routes(_) | NetworkChange::Rules(_) => true,
        NetworkChange::Route(route)
        | NetworkChange::RouteReplaced(route)
        | NetworkChange::RouteGone(route) => route.source.is_some() || route.several,
        NetworkChange::Link(link) => link.master.is_some_and(vrf),
        NetworkChange::LinkGone(index) => vrf(*index),
        NetworkChange::BridgeVlans(_)
        | NetworkChange::Address(_)
        | NetworkChange::AddressGone(_)
        | NetworkChange::Neighbour(_)
        | NetworkChange::NeighbourGone(..)
        | NetworkChange::Fdb(_)
        | NetworkChange::FdbGone(_)
        | NetworkChange::Queues(_)
        | NetworkChange::Pppoe(..) => false,
    }
}
