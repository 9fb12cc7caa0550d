// SPDX-License-Identifier: GPL-2.0-or-later
//! The topology as the eBPF engine has to know it: the endpoint of an address, what a change
//! invalidates, and the reasons why a flow is refused.

use std::net::IpAddr;

use ebpf::dependency::{Change, Dependency, Endpoint};
use ebpf::entry::{Encapsulation, Refusal, Side, Tag};
use flows::Reason;
use topology::{LinkKind, PathError, Topology, VlanTag};

use crate::offload::ebpf::Program;

/// The endpoint of an address, if packets from there meet a program.
pub(crate) fn endpoint(
    programs: &[Program],
    topology: &Topology,
    address: IpAddr,
) -> Result<Endpoint, Reason> {
    let way = topology.link_path(address).map_err(|why| match why {
        PathError::Route => Reason::NoRoute,
        PathError::Tunnel => Reason::Tunnel,
        PathError::Neighbour => Reason::NoNeighbour,
        PathError::Port => Reason::NoDevice,
    })?;
    let program = programs.iter().find(|program| *program.device == *way.port_name);
    let hook = program.and_then(|program| program.hook).ok_or(Reason::NoDevice)?;
    if way.tags.len() > 2 {
        return Err(Reason::NotTaken);
    }
    let tag = |at: usize| {
        way.tags.get(at).map(|VlanTag { vid, service }| Tag { vid: *vid, service: *service })
    };
    let mut dependencies = vec![Dependency::Session; usize::from(way.session.is_some())];
    for index in &way.links {
        dependencies.push(Dependency::Link(*index));
    }
    if let Some((index, address)) = way.neighbour {
        dependencies.push(Dependency::Neighbour(index, address));
    }
    if let Some((bridge, mac)) = way.station {
        dependencies.push(Dependency::Station(bridge, mac.0));
        dependencies.push(Dependency::Vlans(bridge));
    }
    let side = Side {
        device: way.port,
        hook,
        encapsulation: Encapsulation { outer: tag(0), inner: tag(1), session: way.session },
        local: way.local.0,
        next_hop: Some(way.next_hop.0),
        mtu: way.mtu,
    };
    Ok(Endpoint { side, dependencies })
}

/// A change of the network as a change of dependencies.
pub(crate) fn change_of(change: &topology::Change) -> Change {
    use topology::Change as News;
    let host = |address: IpAddr| Change::Route(address, if address.is_ipv4() { 32 } else { 128 });
    match change {
        News::Full(_) | News::Routes(_) | News::Rules(_) | News::Queues(_) => Change::All,
        News::Link(link) => Change::Dependency(Dependency::Link(link.index)),
        News::LinkGone(index) => Change::Dependency(Dependency::Link(*index)),
        News::BridgeVlans(_) => Change::Vlans,
        // An address that becomes our own is no longer forwarded to.
        News::Address(address) | News::AddressGone(address) => host(address.address),
        News::Route(route) | News::RouteReplaced(route) | News::RouteGone(route) => {
            Change::Route(route.network, route.prefix)
        }
        News::Neighbour(neighbour) => {
            Change::Dependency(Dependency::Neighbour(neighbour.index, neighbour.address))
        }
        News::NeighbourGone(index, address) => {
            Change::Dependency(Dependency::Neighbour(*index, *address))
        }
        News::Fdb(entry) | News::FdbGone(entry) => {
            Change::Dependency(Dependency::Station(entry.bridge, entry.mac.0))
        }
        News::Pppoe(..) => Change::Dependency(Dependency::Session),
    }
}

/// Whether this change may reroute flows that do not depend on what changed: through routing
/// rules, VRFs, and routes that do not apply to every packet to their destination.
pub(crate) fn decides_routes(change: &topology::Change, topology: &Topology) -> bool {
    use topology::Change as News;
    let vrf = |index| {
        let kind = topology.link(index).map(|link| &link.kind);
        matches!(kind, Some(LinkKind::Other(kind)) if &**kind == "vrf")
    };
    match change {
        News::Full(_) | News::Routes(_) | News::Rules(_) => true,
        News::Route(route) | News::RouteReplaced(route) | News::RouteGone(route) => {
            route.source.is_some() || route.several
        }
        News::Link(link) => link.master.is_some_and(vrf),
        News::LinkGone(index) => vrf(*index),
        News::BridgeVlans(_)
        | News::Address(_)
        | News::AddressGone(_)
        | News::Neighbour(_)
        | News::NeighbourGone(..)
        | News::Fdb(_)
        | News::FdbGone(_)
        | News::Queues(_)
        | News::Pppoe(..) => false,
    }
}

/// The reason that a flow is shown with.
pub(crate) fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Protocol | Refusal::Family => Reason::UnsupportedProtocol,
        Refusal::NoNeighbour => Reason::NoNeighbour,
        Refusal::Mtu => Reason::Mtu,
        Refusal::Full => Reason::TableFull,
        Refusal::Twin => Reason::NotTaken,
    }
}
