// SPDX-License-Identifier: GPL-2.0-or-later
//! The network around the router: links and routes from the kernel, interfaces from netifd, and
//! zones from the firewall. Handles their changes.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;
use flows::Now;
use ruleset::Segments;
use serde_json::Value;
use topology::{Change, Link, RouteAnswer, RouteBatch, RouteQuery, Topology};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::sys::netdev::NetMeter;
use change::{change_of, decides_routes, shrinks};
use interfaces::{Firewall, parse_dump};
use moves::Moves;
use names::Names;
use reconnects::Reconnects;
use rerouted::Rerouted;
use routes::Lookup;
use stations::Stations;
use view::NetworkView;
use wan::{Wan, wans};

pub(crate) mod answer;
mod change;
pub(crate) mod interfaces;
pub(crate) mod moves;
pub(crate) mod names;
mod reconnects;
pub(crate) mod rerouted;
mod routes;
pub(crate) mod stations;
#[cfg(test)]
mod tests;
pub(crate) mod view;
pub(crate) mod wan;
mod zones;

/// Seconds between readings of interfaces: netifd sends no event for a new uptime or description.
const INTERFACES_EVERY: u32 = 10;

/// Shortest interval between updates of the hosts that keep moving; a new host replaces the table.
const ROAMING_EVERY: Duration = Duration::from_secs(4);
/// Shortest interval between updates that add no host.
const ROAMING_CALM: Duration = Duration::from_secs(60);

/// Time after which the daemon continues without interfaces: netifd may never answer.
const WITHOUT_INTERFACES: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub enum Event {
    /// The kernel's links, addresses, routes or neighbours changed.
    Changed(Vec<Change>),
    /// netifd reports that interfaces changed.
    InterfacesChanged,
    /// The answer of `network.interface dump`.
    Interfaces(Value),
    /// Values of UCI package firewall.
    Firewall(Value),
    /// The kernel's answers to route lookups; `None` if it could not be asked.
    RoutesAnswered(RouteBatch, Option<Vec<(RouteQuery, RouteAnswer)>>),
}

/// A request to netifd or to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Call `network.interface dump`.
    ReadInterfaces,
    /// Look up routes in the kernel.
    AskRoutes(RouteBatch),
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "for each source: read yet, stale")]
pub struct State {
    view: NetworkView,
    firewall: Firewall,
    firewall_known: bool,
    interfaces_seen: Now,
    interfaces_known: bool,
    topology_known: bool,
    stations: Stations,
    moves: Moves,
    /// Addresses of hosts that keep moving, and when the set last changed.
    roaming: BTreeSet<IpAddr>,
    roaming_at: Duration,
    reconnects: Reconnects,
    lookup: Lookup,
    /// The topology has changed since the interfaces were read.
    interfaces_stale: bool,
    /// Seconds since the interfaces were read.
    interfaces_age: u32,
}

impl State {
    pub(crate) fn new(now: Now) -> Self {
        Self { interfaces_seen: now, ..Self::default() }
    }

    pub(crate) fn view(&self) -> &NetworkView {
        &self.view
    }

    pub(crate) fn view_mut(&mut self) -> &mut NetworkView {
        &mut self.view
    }

    pub fn topology(&self) -> &Topology {
        self.view.topology()
    }

    /// Returns the moves of hosts within the last hour.
    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Returns the addresses of hosts that keep moving.
    pub(crate) fn roaming(&self) -> &BTreeSet<IpAddr> {
        &self.roaming
    }

    /// Returns how often an interface has reconnected since the daemon started.
    pub(crate) fn reconnects(&self, interface: &str) -> u64 {
        self.reconnects.of(interface)
    }

    pub(crate) fn firewall(&self) -> &Firewall {
        &self.firewall
    }

    /// Returns true if the kernel's topology has been read.
    pub fn is_known(&self) -> bool {
        self.topology_known
    }

    /// Returns true if the firewall's zones have been read.
    pub(crate) fn zones_known(&self) -> bool {
        self.firewall_known
    }

    /// Returns true if topology and interfaces have been read, or netifd had enough time to answer.
    pub(crate) fn is_complete(&self, now: Now) -> bool {
        self.topology_known && (self.interfaces_known || now.mono >= WITHOUT_INTERFACES)
    }

    /// Returns the devices of each zone and VLAN.
    pub(crate) fn places(&self) -> Segments {
        zones::places(&self.firewall, self.view.interfaces(), self.topology())
    }

    /// Returns the devices that inspection can be configured to use.
    pub(crate) fn ports(&self) -> Vec<ips::CapturePort> {
        zones::ports(self.topology())
    }

    /// Returns the networks of zones that do not lead to the Internet.
    pub(crate) fn home(&self) -> Vec<Network> {
        zones::home(&self.firewall, self.view.interfaces())
    }

    /// Returns the interfaces that lead to the Internet.
    pub(crate) fn wans(&self, rates: &NetMeter, now: Now) -> Vec<Wan> {
        let interfaces = self.view.interfaces();
        let seen_ms = now.unix_ms_at(self.interfaces_seen);
        wans(interfaces, &self.firewall, self.topology(), rates, seen_ms)
    }

    pub(crate) fn name_hosts(&mut self, leases: &str, hosts: &str) {
        self.view.set_names(Names::parse(leases, hosts));
    }

    /// Requests a reading of the interfaces if that is due. Called once a second.
    pub(crate) fn second(&mut self) -> Option<AnyEffect> {
        self.interfaces_age += 1;
        let due = self.interfaces_stale || self.interfaces_age >= INTERFACES_EVERY;
        due.then(|| {
            self.interfaces_stale = false;
            self.interfaces_age = 0;
            AnyEffect::Network(Effect::ReadInterfaces)
        })
    }
}

impl Core {
    pub fn network_event(&mut self, event: Event) -> Vec<AnyEffect> {
        let mut effects = match event {
            Event::Changed(changes) => self.network_changed(changes),
            Event::InterfacesChanged => vec![AnyEffect::Network(Effect::ReadInterfaces)],
            Event::Interfaces(dump) => self.interfaces_read(&dump),
            Event::Firewall(values) => {
                self.firewall_read(&values);
                Vec::new()
            }
            Event::RoutesAnswered(batch, answers) => self.routes_answered(&batch, answers),
        };
        effects.extend(self.ask_routes());
        effects.extend(self.flows_strayed());
        effects
    }

    /// Sets the `values` of UCI package firewall.
    pub(crate) fn firewall_read(&mut self, values: &Value) {
        self.network.firewall = Firewall::parse(values);
        self.network.firewall_known = true;
    }

    /// Handles the answer of `network.interface dump`.
    pub(crate) fn interfaces_read(&mut self, dump: &Value) -> Vec<AnyEffect> {
        let network = &mut self.network;
        network.interfaces_age = 0;
        network.interfaces_seen = self.now;
        let interfaces = parse_dump(dump, &network.firewall);
        network.reconnects.read(&interfaces, self.now.mono);
        let changed = network.view.set_interfaces(interfaces) || !network.interfaces_known;
        network.interfaces_known = true;
        // Policies name zones, and the devices of a zone may have changed, so replan.
        if changed { self.replan_for_network() } else { Vec::new() }
    }

    /// Updates the hosts that keep moving, and replans if they changed. Called once a second.
    pub(crate) fn roaming_second(&mut self) -> Vec<AnyEffect> {
        let (network, now) = (&mut self.network, self.now);
        let since = now.mono.saturating_sub(network.roaming_at);
        if since < ROAMING_EVERY {
            return Vec::new();
        }
        let found = network.moves.restless(network.view.topology(), now);
        let more = !found.is_subset(&network.roaming);
        if found == network.roaming || (!more && since < ROAMING_CALM) {
            return Vec::new();
        }
        network.roaming = found;
        network.roaming_at = now.mono;
        self.replan()
    }

    /// Applies the IPv6 MTUs of devices, which change without an event.
    pub(crate) fn mtu6_second(&mut self, read: &[(String, u32)]) -> Vec<AnyEffect> {
        let topology = self.network.topology();
        let changes: Vec<Change> = read
            .iter()
            .filter_map(|(name, mtu6)| {
                let link = topology.link_named(name).filter(|link| link.mtu6 != *mtu6)?;
                Some(Change::Link(Link { mtu6: *mtu6, ..link.clone() }))
            })
            .collect();
        if changes.is_empty() { Vec::new() } else { self.network_changed(changes) }
    }

    /// Handles changes of the kernel's network.
    pub(crate) fn network_changed(&mut self, changes: Vec<Change>) -> Vec<AnyEffect> {
        let network = &mut self.network;
        let mut dependencies = Vec::new();
        let mut moved = Vec::new();
        let (mut rerouted, mut shrunk) = (false, false);
        let mut in_flowtable = Rerouted::default();
        for change in changes {
            network.stations.learn(&change, &mut moved);
            let dependency = change_of(&change);
            let decides = decides_routes(&change, network.view.topology());
            let mut with_it = in_flowtable.clone();
            with_it.add(&change, network.view.topology());
            let less = shrinks(&change, network.view.topology());
            if network.view.change(change) {
                dependencies.push(dependency);
                rerouted |= decides;
                shrunk |= less;
                in_flowtable = with_it;
            }
        }
        if dependencies.is_empty() && network.topology_known {
            return Vec::new();
        }
        network.moves.note(&moved, network.view.topology(), self.now);
        network.topology_known = true;
        network.interfaces_stale = true;
        // Mark flows first: until their entries are removed, packets take the wrong route.
        if rerouted {
            self.conntrack.flows_mut().routes_changed(self.now, network.view());
        }
        let mut effects = self.dependencies_changed(&dependencies);
        effects.extend(self.replan_for_network());
        effects.extend(self.stations_moved(&moved));
        effects.extend(self.flowtable_rerouted(&in_flowtable));
        if shrunk {
            effects.extend(self.mtu_shrunk());
        }
        effects
    }
}
