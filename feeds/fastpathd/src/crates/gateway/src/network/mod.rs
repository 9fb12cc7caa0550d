// SPDX-License-Identifier: GPL-2.0-or-later
//! The network around the router, from the kernel, netifd and the firewall's configuration.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;
use ebpf::dependency::DependencyChange;
use flows::Now;
use ruleset::Segments;
use serde_json::Value;
use topology::{Change, Link, RouteAnswer, RouteBatch, RouteQuery, Topology};
use uci::{Package, Section};

use crate::sys::netdev::NetMeter;
use change::{change_of, decides_routes, shrinks};
use interfaces::{Firewall, parse_dump};
use moves::Moves;
use names::{Names, Reservations};
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
const INTERFACES_INTERVAL_S: u32 = 10;

/// Minimum interval between updates of the hosts that keep moving; a new host replaces the table.
const MIN_ROAMING_INTERVAL: Duration = Duration::from_secs(4);
/// Minimum interval between updates that only remove hosts.
const MIN_ROAMING_REMOVAL_INTERVAL: Duration = Duration::from_secs(60);

/// Time after which the daemon continues without interfaces: netifd may never answer.
const INTERFACES_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub enum Event {
    /// The kernel's links, addresses, routes or neighbours changed.
    Changed(Vec<Change>),
    InterfacesChanged,
    /// The answer of `network.interface dump`.
    Interfaces(Value),
    /// Values of UCI package firewall.
    Firewall(Value),
    /// Sections `host` of UCI package dhcp.
    Reservations(Value),
    /// Interfaces of `/etc/config/network` with the options that the daemon may read.
    Lines(Value),
    /// The kernel's answers to route lookups; `None` if the lookups failed.
    RoutesAnswered(RouteBatch, Option<Vec<(RouteQuery, RouteAnswer)>>),
    SsidsSwitched(Result<(), String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Call `network.interface dump`.
    ReadInterfaces,
    AskRoutes(RouteBatch),
    /// Switch these SSIDs off, and others that were switched off on; report
    /// [`Event::SsidsSwitched`].
    SwitchSsids(Vec<String>),
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
    interfaces_age: u32,
    /// Names of interfaces that dial on demand; `None` until the configuration is read.
    dialled: Option<Vec<String>>,
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

    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    pub(crate) fn roaming(&self) -> &BTreeSet<IpAddr> {
        &self.roaming
    }

    pub(crate) fn reconnects(&self, interface: &str) -> u64 {
        self.reconnects.of(interface)
    }

    pub(crate) fn firewall(&self) -> &Firewall {
        &self.firewall
    }

    pub fn is_known(&self) -> bool {
        self.topology_known
    }

    pub(crate) fn zones_known(&self) -> bool {
        self.firewall_known
    }

    /// Returns true if topology and interfaces have been read, or netifd had enough time to answer.
    pub(crate) fn is_complete(&self, now: Now) -> bool {
        self.topology_known && (self.interfaces_known || now.mono >= INTERFACES_TIMEOUT)
    }

    pub(crate) fn segments(&self) -> Segments {
        zones::segments(&self.firewall, self.view.interfaces(), self.topology())
    }

    pub(crate) fn ports(&self) -> Vec<ips::CapturePort> {
        zones::ports(self.topology())
    }

    pub(crate) fn home(&self) -> Vec<Network> {
        zones::home(&self.firewall, self.view.interfaces())
    }

    pub(crate) fn wans(&self, rates: &NetMeter, now: Now) -> Vec<Wan> {
        let interfaces = self.view.interfaces();
        let seen_ms = now.unix_ms_at(self.interfaces_seen);
        wans(interfaces, &self.firewall, self.topology(), rates, seen_ms)
    }

    pub(crate) fn name_hosts(&mut self, leases: &str, hosts: &str) {
        self.view.set_names(Names::parse(leases, hosts));
    }

    pub(crate) fn lines_read(&mut self, values: &Value) {
        let lines = values.as_object().map(Package::read).unwrap_or_default();
        let dials = |line: &&Section| line.text("demand").is_some_and(|idle| idle != "0");
        let names = lines.of("interface").filter(dials).map(|line| line.name.clone());
        self.dialled = Some(names.collect());
    }

    /// Returns true if the interface may connect only while it has traffic.
    pub(crate) fn dials(&self, name: &str) -> bool {
        self.dialled.as_ref().is_none_or(|lines| lines.iter().any(|line| line == name))
    }

    pub(crate) fn reservations_read(&mut self, values: &Value) {
        self.view.set_reservations(Reservations::parse(values));
    }

    /// Requests a reading of the interfaces if due. Called once a second.
    pub(crate) fn second(&mut self) -> Option<Effect> {
        self.interfaces_age += 1;
        let due = self.interfaces_stale || self.interfaces_age >= INTERFACES_INTERVAL_S;
        due.then(|| {
            self.interfaces_stale = false;
            self.interfaces_age = 0;
            Effect::ReadInterfaces
        })
    }

    pub(crate) fn firewall_read(&mut self, values: &Value) {
        self.firewall = Firewall::parse(values);
        self.firewall_known = true;
    }

    /// Handles an answer of netifd. Returns true if policies may apply to other devices.
    pub(crate) fn interfaces_read(&mut self, dump: &Value, now: Now) -> bool {
        self.interfaces_age = 0;
        self.interfaces_seen = now;
        let interfaces = parse_dump(dump, &self.firewall);
        self.reconnects.read(&interfaces, now.mono);
        let changed =
            self.view.set_interfaces(&self.firewall, interfaces) || !self.interfaces_known;
        self.interfaces_known = true;
        changed
    }

    /// Updates the hosts that keep moving. Returns true if they changed. Called once a second.
    pub(crate) fn roaming_second(&mut self, now: Now) -> bool {
        let since = now.mono.saturating_sub(self.roaming_at);
        if since < MIN_ROAMING_INTERVAL {
            return false;
        }
        let found = self.moves.restless(self.view.topology(), now);
        let more = !found.is_subset(&self.roaming);
        if found == self.roaming || (!more && since < MIN_ROAMING_REMOVAL_INTERVAL) {
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
            let mut in_flowtable = all.in_flowtable.clone();
            in_flowtable.add(&change, self.view.topology());
            let shrunk = shrinks(&change, self.view.topology());
            if self.view.change(change) {
                all.dependencies.push(dependency);
                all.rerouted |= decides;
                all.shrunk |= shrunk;
                all.in_flowtable = in_flowtable;
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

    /// Requests the route lookups that are due, unless a batch is pending or has failed.
    pub(crate) fn ask_routes(&mut self) -> Option<Effect> {
        self.lookup.ask(self.view.topology()).map(Effect::AskRoutes)
    }

    /// Retries route lookups after a failure. Called once a second.
    pub(crate) fn routes_second(&mut self) -> Option<Effect> {
        self.lookup.retry();
        self.ask_routes()
    }

    /// Handles answers to route lookups. Returns true if a route has changed.
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
    pub(crate) moved: Vec<Moved>,
    /// Flows that do not depend on a changed object may be rerouted, too.
    pub(crate) rerouted: bool,
    /// Flows of the flowtable that may be rerouted.
    pub(crate) in_flowtable: Rerouted,
    pub(crate) shrunk: bool,
}
