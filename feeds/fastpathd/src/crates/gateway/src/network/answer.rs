// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `topology`.

use std::net::IpAddr;

use config::Cause;
use flows::{Network, Now};
use ruleset::Plan;
use serde::Serialize;
use topology::{Address, BridgeView, Link, NeighbourState, PppoeView, QueueingDiscipline};

use crate::network::State;
use crate::network::interfaces::Interface;
use crate::network::moves::RoamingHost;
use crate::network::stations::forwards_to;
use crate::network::view::NetworkView;

/// Limit of hosts: the page shows no more, and a ubus message is limited in size.
const MAX_HOSTS: usize = 500;

#[derive(Debug, Serialize)]
pub(crate) struct TopologyAnswer<'a> {
    generation: u64,
    links: Vec<LinkView>,
    bridges: Vec<BridgeView>,
    pppoe: Vec<PppoeView>,
    interfaces: &'a [Interface],
    hosts: Vec<HostView>,
    policies: Vec<String>,
    bridge_flowtable: &'static str,
    roaming: Vec<RoamingHost>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the API")]
struct LinkView {
    index: u32,
    name: String,
    kind: String,
    mac: String,
    mtu: u32,
    up: bool,
    carrier: bool,
    master: String,
    lower: String,
    vlan: u16,
    addresses: Vec<String>,
    lowest: bool,
    in_flowtable: bool,
    shaped: String,
    why: String,
    cause: Cause,
}

#[derive(Debug, Serialize)]
struct HostView {
    address: String,
    mac: String,
    name: String,
    device: String,
    vlan: u16,
    port: String,
}

pub(crate) fn view<'a>(
    state: &'a State,
    planned: Option<&Plan>,
    bridge_flowtable: Option<bool>,
    now: Now,
) -> TopologyAnswer<'a> {
    let network = state.view();
    TopologyAnswer {
        generation: network.generation(),
        links: links(network, planned),
        bridges: network.topology().bridges(),
        pppoe: network.topology().pppoe(),
        interfaces: network.interfaces(),
        hosts: hosts(network),
        policies: network.topology().policies(),
        bridge_flowtable: match bridge_flowtable {
            None => "",
            Some(true) => "yes",
            Some(false) => "no",
        },
        roaming: state.moves().roaming(now),
    }
}

fn links(network: &NetworkView, planned: Option<&Plan>) -> Vec<LinkView> {
    let topology = network.topology();
    let (lowest, shaped) = (topology.lowest(), topology.shaped());
    let name_of = |link: Option<&Link>| link.map(|link| link.name.to_string());
    let view = |link: &Link| {
        let device = lowest.iter().find(|device| device.index == link.index);
        // The plan also knows the settings, so its text takes precedence.
        let decision = planned.and_then(|plan| plan.decisions.get(&*link.name));
        let cause = decision.map(|decision| &decision.why).or(device.map(|device| &device.why));
        let on =
            |queue: &QueueingDiscipline| name_of(topology.link(queue.index)).unwrap_or_default();
        let shaped = shaped.get(&*link.name);
        LinkView {
            index: link.index,
            name: link.name.to_string(),
            kind: link.kind.to_string(),
            mac: link.mac.map(|mac| mac.to_string()).unwrap_or_default(),
            mtu: link.mtu,
            up: link.up,
            carrier: link.carrier,
            master: name_of(link.master.and_then(|of| topology.link(of))).unwrap_or_default(),
            lower: name_of(topology.lower(link.index)).unwrap_or_default(),
            vlan: link.kind.vlan().unwrap_or(0),
            addresses: topology
                .addresses()
                .filter(|address| address.index == link.index)
                .map(|Address { address, prefix, .. }| format!("{address}/{prefix}"))
                .collect(),
            lowest: device.is_some_and(|device| device.eligible),
            in_flowtable: network.devices().contains(&*link.name),
            shaped: shaped.map(|of| format!("{} on {}", of.kind, on(of))).unwrap_or_default(),
            why: cause.map(|cause| cause.text.clone()).unwrap_or_default(),
            cause: cause.cloned().unwrap_or_default(),
        }
    };
    topology.links().map(view).collect()
}

fn hosts(network: &NetworkView) -> Vec<HostView> {
    let neighbours = network.topology().neighbours();
    let mut hosts: Vec<(IpAddr, HostView)> = neighbours
        .filter(|n| n.state == NeighbourState::Valid && forwards_to(n.address))
        .filter_map(|neighbour| {
            let side = network.side(neighbour.address, None)?;
            let view = HostView {
                address: neighbour.address.to_string(),
                mac: neighbour.mac?.to_string(),
                name: network.name(neighbour.address).unwrap_or_default().to_owned(),
                device: side.device.to_string(),
                vlan: side.vlan,
                port: side.port.to_string(),
            };
            Some((neighbour.address, view))
        })
        .collect();
    config::sort::by_key(&mut hosts, |(address, _)| *address);
    hosts.truncate(MAX_HOSTS);
    hosts.into_iter().map(|(_, view)| view).collect()
}
