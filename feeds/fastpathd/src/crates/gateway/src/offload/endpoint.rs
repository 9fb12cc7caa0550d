// SPDX-License-Identifier: GPL-2.0-or-later
//! Resolves addresses to endpoints of the eBPF engine, and maps refusals to reasons.

use ebpf::dependency::{Dependency, Destination, Endpoint};
use ebpf::entry::InstallRefusal;
use ebpf::entry_side::{Encapsulation, EntrySide, Tag};
use flows::{FlowTable, Reason};
use model::Connection;
use topology::{PathError, Topology, VlanTag};

use crate::offload::programs::Program;

/// Returns addresses and routes of both ends of a connection.
pub(crate) fn ends(connection: &Connection, flows: &FlowTable) -> [Destination; 2] {
    let [initiator, responder] = flows.next_hops(connection.id).map_or([None; 2], |h| h.map(Some));
    [
        Destination { address: connection.orig.src, route: initiator },
        Destination { address: connection.reply.src, route: responder },
    ]
}

/// Returns the endpoint of `destination` if its port has a program.
pub(crate) fn endpoint(
    programs: &[Program],
    topology: &Topology,
    destination: Destination,
) -> Result<Endpoint, Reason> {
    let path =
        topology.link_path(destination.address, destination.route).map_err(|why| match why {
            PathError::Route => Reason::NoRoute,
            PathError::Tunnel => Reason::Tunnel,
            PathError::Neighbour => Reason::NoNeighbour,
            PathError::Port => Reason::NoDevice,
        })?;
    let program = programs.iter().find(|program| *program.device == *path.port_name);
    let hook = program.and_then(|program| program.hook).ok_or(Reason::NoDevice)?;
    if path.tags.len() > 2 {
        return Err(Reason::NotTaken);
    }
    let tag = |at: usize| {
        path.tags.get(at).map(|VlanTag { vid, service, .. }| Tag { vid: *vid, service: *service })
    };
    let mut dependencies = vec![Dependency::Session; usize::from(path.session.is_some())];
    for index in &path.links {
        dependencies.push(Dependency::Link(*index));
    }
    if let Some((index, address)) = path.neighbour {
        dependencies.push(Dependency::Neighbour(index, address));
    }
    if let Some((bridge, mac)) = path.station {
        dependencies.push(Dependency::Station(bridge, mac.0));
        dependencies.push(Dependency::Vlans(bridge));
    }
    let side = EntrySide {
        device: path.port,
        hook,
        encapsulation: Encapsulation { outer: tag(0), inner: tag(1), session: path.session },
        local: path.local.0,
        next_hop: Some(path.next_hop.0),
        priorities: [0, 1].map(|at| path.tags.get(at).map_or([0; 4], |tag| tag.priorities)),
        classified: path.classified,
        mtu: path.mtu,
    };
    Ok(Endpoint { side, route: destination.route, dependencies })
}

/// Returns the reason that the API shows for a refusal.
pub(crate) fn reason(refusal: InstallRefusal) -> Reason {
    match refusal {
        InstallRefusal::Protocol | InstallRefusal::Family => Reason::UnsupportedProtocol,
        InstallRefusal::NoNeighbour => Reason::NoNeighbour,
        InstallRefusal::Mtu => Reason::Mtu,
        InstallRefusal::Priority => Reason::Shaped,
        InstallRefusal::Full => Reason::TableFull,
        InstallRefusal::DuplicateTuple => Reason::NotTaken,
    }
}
