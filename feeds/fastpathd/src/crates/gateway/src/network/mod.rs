// SPDX-License-Identifier: GPL-2.0-or-later
//! The network around the router: links and routes from the kernel, interfaces from netifd, and
//! zones from the firewall. Handles their changes.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;
use ebpf::dependency::DependencyChange;
use flows::Now;
use ruleset::Segments;
use serde_json::Value;
use topology::{Change, Link, RouteAnswer, RouteBatch, RouteQuery, Topology};

use crate::sys::netdev::NetMeter;
use change::{change_of, decides_routes, shrinks};
use interfaces::{Firewall, parse_dump};
use moves::Moves;
use names::Names;
use reconnects::Reconnects;
use rerouted::Rerouted;
use routes::Lookup;
use stations::{Moved, Stations};
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
    pub(crate) fn segments(&self) -> Segments {
        zones::segments(&self.firewall, self.view.interfaces(), self.topology())
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
    pub(crate) fn second(&mut self) -> Option<Effect> {
        self.interfaces_age += 1;
        let due = self.interfaces_stale || self.interfaces_age >= INTERFACES_EVERY;
        due.then(|| {
            self.interfaces_stale = false;
            self.interfaces_age = 0;
            Effect::ReadInterfaces
        })
    }

    /// Sets the `values` of UCI package firewall.
    pub(crate) fn firewall_read(&mut self, values: &Value) {
        self.firewall = Firewall::parse(values);
        self.firewall_known = true;
    }

    /// Handles the answer of `network.interface dump`. Returns true if policies may concern other
    /// devices now.
    pub(crate) fn interfaces_read(&mut self, dump: &Value, now: Now) -> bool {
        self.interfaces_age = 0;
        self.interfaces_seen = now;
        let interfaces = parse_dump(dump, &self.firewall);
        self.reconnects.read(&interfaces, now.mono);
        let changed = self.view.set_interfaces(interfaces) || !self.interfaces_known;
        self.interfaces_known = true;
        changed
    }

    /// Updates the hosts that keep moving. Returns true if they changed. Called once a second.
    pub(crate) fn roaming_second(&mut self, now: Now) -> bool {
        let since = now.mono.saturating_sub(self.roaming_at);
        if since < ROAMING_EVERY {
            return false;
        }
        let found = self.moves.restless(self.view.topology(), now);
        let more = !found.is_subset(&self.roaming);
        if found == self.roaming || (!more && since < ROAMING_CALM) {
            return false;
        }
        self.roaming = found;
        self.roaming_at = now.mono;
        true
    }

    /// Returns the changes to the IPv6 MTUs of devices, which change without an event.
    pub(crate) fn mtu6_changes(&self, read: &[(String, u32)]) -> Vec<Change> {
        let topology = self.topology();
        read.iter()
            .filter_map(|(name, mtu6)| {
                let link = topology.link_named(name).filter(|link| link.mtu6 != *mtu6)?;
                Some(Change::Link(Link { mtu6: *mtu6, ..link.clone() }))
            })
            .collect()
    }

    /// Applies changes of the kernel's network. `None` if they change nothing.
    pub(crate) fn change(&mut self, changes: Vec<Change>, now: Now) -> Option<Changed> {
        let mut all = Changed::default();
        for change in changes {
            self.stations.learn(&change, &mut all.moved);
            let dependency = change_of(&change);
            let decides = decides_routes(&change, self.view.topology());
            let mut with_it = all.in_flowtable.clone();
            with_it.add(&change, self.view.topology());
            let less = shrinks(&change, self.view.topology());
            if self.view.change(change) {
                all.dependencies.push(dependency);
                all.rerouted |= decides;
                all.shrunk |= less;
                all.in_flowtable = with_it;
            }
        }
        if all.dependencies.is_empty() && self.topology_known {
            return None;
        }
        self.moves.note(&all.moved, self.view.topology(), now);
        self.topology_known = true;
        self.interfaces_stale = true;
        Some(all)
    }

    /// Requests the route lookups that are due, unless a batch is under way or has failed.
    pub(crate) fn ask_routes(&mut self) -> Option<Effect> {
        self.lookup.ask(self.view.topology()).map(Effect::AskRoutes)
    }

    /// Retries route lookups after a failure. Called once a second.
    pub(crate) fn routes_second(&mut self) -> Option<Effect> {
        self.lookup.retry();
        self.ask_routes()
    }

    /// Handles the kernel's answers; `None` if it could not be asked. Returns true if a route has
    /// changed.
    pub(crate) fn routes_answered(
        &mut self,
        batch: &RouteBatch,
        answers: Option<Vec<(RouteQuery, RouteAnswer)>>,
    ) -> bool {
        self.lookup.answered(answers.is_some());
        self.view.routes_answered(batch, &answers.unwrap_or_default())
    }
}

/// Consequences of changes of the kernel's network for other subsystems.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Changed objects that eBPF entries may depend on.
    pub(crate) dependencies: Vec<DependencyChange>,
    /// Hosts that have moved.
    pub(crate) moved: Vec<Moved>,
    /// Flows that do not depend on a changed object may be rerouted, too.
    pub(crate) rerouted: bool,
    /// Flows of the flowtable that may be rerouted.
    pub(crate) in_flowtable: Rerouted,
    /// A link's MTU is smaller.
    pub(crate) shrunk: bool,
}
