// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies changes, and answers queries about links, addresses, next hops and stations.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use config::Network;
use hashbrown::{HashMap, HashSet};

use crate::change::Change;
use crate::kernel_routes::{KernelRoutes, Reach};
use crate::pppoe;
use crate::routes::Routes;
use crate::rules::Rules;
use crate::types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, LinkKind, Mac, Name, Neighbour, NeighbourState,
    PortVlan, PppoeSession, QueueingDiscipline, Route, RouteKind,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hop {
    /// The neighbour entry is missing or invalid.
    Unresolved,
    /// The neighbour is valid and has no Ethernet address.
    WithoutMac,
    Resolved(Mac),
}

#[derive(Debug, Clone, Default)]
pub struct Topology {
    pub(crate) links: BTreeMap<u32, Link>,
    /// Whether any device belongs to a VRF; cached because every flow reads it.
    pub(crate) in_vrf: bool,
    names: HashMap<Name, u32>,
    addresses: BTreeSet<Address>,
    own: HashSet<IpAddr>,
    pub(crate) routes: Routes,
    pub(crate) rules: Rules,
    pub(crate) kernel: KernelRoutes,
    neighbours: HashMap<(u32, IpAddr), Neighbour>,
    fdb: HashMap<(u32, Mac, u16), FdbEntry>,
    vlans: BTreeMap<u32, Vec<PortVlan>>,
    queues: Vec<QueueingDiscipline>,
    sessions: Vec<PppoeSession>,
    dialers: Vec<Dialer>,
    pub(crate) ppp: BTreeMap<Name, PppoeSession>,
    /// Devices below former and current sessions. `lowest` keeps them, so that a reconnect does not
    /// change the flowtable.
    pub(crate) dialled: BTreeSet<Name>,
    pub(crate) generation: u64,
}

impl Topology {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies a change. Returns whether answers may differ afterwards; if so, increments
    /// [`Topology::generation`].
    pub fn apply(&mut self, change: Change) -> bool {
        let reach = Reach::of(&change);
        let changed = match change {
            Change::Full(changes) => self.replace(changes),
            other => self.take(other),
        };
        self.kernel.outdate(reach, changed);
        if changed {
            self.generation += 1;
        }
        changed
    }

    fn replace(&mut self, changes: Vec<Change>) -> bool {
        let dialled = self.dialled.clone();
        let kernel = std::mem::take(&mut self.kernel);
        let mut fresh = Self { generation: self.generation, dialled, kernel, ..Self::default() };
        for change in changes {
            fresh.take(change);
        }
        let same = self.answers_like(&fresh);
        *self = fresh;
        !same
    }

    fn answers_like(&self, other: &Self) -> bool {
        self.links == other.links
            && self.addresses == other.addresses
            && self.routes == other.routes
            && self.rules == other.rules
            && self.fdb == other.fdb
            && self.vlans == other.vlans
            && self.queues == other.queues
            && self.sessions == other.sessions
            && self.ppp == other.ppp
            && self.resolved().count() == other.resolved().count()
            && self.resolved().all(|(key, hop)| other.hop(key) == hop)
    }

    fn take(&mut self, change: Change) -> bool {
        match change {
            Change::Full(changes) => self.replace(changes),
            Change::Link(link) => self.put_link(link),
            Change::LinkGone(index) => self.drop_link(index),
            Change::BridgeVlans(ports) => self.put_vlans(ports),
            Change::Address(address) => self.put_address(address),
            Change::AddressGone(address) => self.drop_address(&address),
            Change::Route(route) => self.routes.insert(route, false),
            Change::RouteReplaced(route) => self.routes.insert(route, true),
            Change::RouteGone(route) => self.routes.remove(&route),
            Change::Routes(all) => self.put_routes(all),
            Change::Rules(all) => {
                let fresh = Rules::new(all);
                std::mem::replace(&mut self.rules, fresh.clone()) != fresh
            }
            Change::Neighbour(neighbour) => self.put_neighbour(neighbour),
            Change::NeighbourGone(index, address) => {
                let old = self.neighbours.remove(&(index, address));
                old.is_some_and(|old| old.state == NeighbourState::Valid)
            }
            Change::Fdb(entry) => {
                let old = self.fdb.insert((entry.bridge, entry.mac, entry.vlan), entry.clone());
                old != Some(entry)
            }
            Change::FdbGone(entry) => self.drop_station(&entry),
            Change::Queues(queues) => std::mem::replace(&mut self.queues, queues) != self.queues,
            Change::Pppoe(sessions, dialers) => self.put_sessions(sessions, dialers),
        }
    }

    fn put_link(&mut self, link: Link) -> bool {
        if self.links.get(&link.index) == Some(&link) {
            return false;
        }
        let (index, name) = (link.index, link.name.clone());
        if let Some(old) = self.links.insert(index, link)
            && old.name != name
        {
            self.names.remove(&old.name);
        }
        self.names.insert(name, index);
        self.in_vrf = self.has_vrf();
        self.match_ppp();
        true
    }

    fn drop_link(&mut self, index: u32) -> bool {
        let Some(link) = self.links.remove(&index) else { return false };
        // A new link may already use the name.
        if self.names.get(&link.name) == Some(&index) {
            self.names.remove(&link.name);
        }
        self.routes.drop_link(index);
        self.addresses.retain(|address| address.index != index);
        self.own = self.addresses.iter().map(|address| address.address).collect();
        self.neighbours.retain(|(on, _), _| *on != index);
        self.fdb.retain(|_, entry| entry.bridge != index && entry.port != index);
        self.vlans.remove(&index);
        self.queues.retain(|queue| queue.index != index);
        self.in_vrf = self.has_vrf();
        self.match_ppp();
        true
    }

    fn put_vlans(&mut self, ports: Vec<BridgeVlan>) -> bool {
        let mut new = BTreeMap::new();
        new.extend(ports.into_iter().map(|port| (port.index, port.vlans)));
        std::mem::replace(&mut self.vlans, new) != self.vlans
    }

    fn put_address(&mut self, address: Address) -> bool {
        if self.addresses.contains(&address) {
            return false;
        }
        self.drop_address(&address);
        self.own.insert(address.address);
        self.addresses.insert(address)
    }

    fn drop_address(&mut self, address: &Address) -> bool {
        // Ignore the peer, which may have changed.
        let before = self.addresses.len();
        self.addresses.retain(|have| {
            (have.index, have.address, have.prefix)
                != (address.index, address.address, address.prefix)
        });
        self.own = self.addresses.iter().map(|have| have.address).collect();
        self.addresses.len() != before
    }

    fn put_routes(&mut self, all: Vec<Route>) -> bool {
        let mut fresh = Routes::default();
        for route in all {
            fresh.insert(route, false);
        }
        let changed = fresh != self.routes;
        self.routes = fresh;
        changed
    }

    fn put_neighbour(&mut self, neighbour: Neighbour) -> bool {
        let key = (neighbour.index, neighbour.address);
        let old = self.hop(key);
        self.neighbours.insert(key, neighbour);
        self.hop(key) != old
    }

    fn drop_station(&mut self, entry: &FdbEntry) -> bool {
        let key = (entry.bridge, entry.mac, entry.vlan);
        // For a moved station, the kernel reports the new port before the removal from the old one.
        if self.fdb.get(&key).is_some_and(|have| have.port != entry.port) {
            return false;
        }
        self.fdb.remove(&key).is_some()
    }

    fn put_sessions(&mut self, sessions: Vec<PppoeSession>, dialers: Vec<Dialer>) -> bool {
        self.dialled.extend(sessions.iter().map(|session| session.device.clone()));
        let old = std::mem::replace(&mut self.sessions, sessions);
        self.dialers = dialers;
        self.match_ppp() || old != self.sessions
    }

    fn match_ppp(&mut self) -> bool {
        let devices: Vec<&Name> = self
            .links
            .values()
            .filter(|link| link.kind == LinkKind::Ppp)
            .map(|link| &link.name)
            .collect();
        let found = pppoe::assign(&devices, &self.sessions, &self.dialers);
        let mut new = BTreeMap::new();
        new.extend(found.into_iter().map(|(device, session)| (device, session.clone())));
        std::mem::replace(&mut self.ppp, new) != self.ppp
    }

    fn resolved(&self) -> impl Iterator<Item = ((u32, IpAddr), Hop)> {
        self.neighbours
            .keys()
            .map(|key| (*key, self.hop(*key)))
            .filter(|(_, hop)| *hop != Hop::Unresolved)
    }

    /// Resolves a next hop by link index and address.
    pub(crate) fn hop(&self, key: (u32, IpAddr)) -> Hop {
        match self.neighbours.get(&key) {
            Some(Neighbour { state: NeighbourState::Valid, mac, .. }) => {
                mac.map_or(Hop::WithoutMac, Hop::Resolved)
            }
            _ => Hop::Unresolved,
        }
    }

    pub(crate) fn station(&self, bridge: u32, mac: Mac, vlan: u16) -> Option<u32> {
        let entry = self.fdb.get(&(bridge, mac, vlan))?;
        (!entry.own && entry.port != bridge).then_some(entry.port)
    }

    pub(crate) fn port_vlans(&self, index: u32) -> &[PortVlan] {
        self.vlans.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Returns a counter of the changes that may alter an answer. A neighbour that turns stale and
    /// is confirmed again does not count.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether the address is this machine's own, or the broadcast address of one of its
    /// networks; false for multicast.
    #[must_use]
    pub fn is_local(&self, address: IpAddr) -> bool {
        if self.is_own(address) {
            return true;
        }
        if address.is_multicast() {
            return false;
        }
        self.routes
            .find(address)
            .is_some_and(|route| matches!(route.kind, RouteKind::Local | RouteKind::Broadcast))
    }

    #[must_use]
    pub fn has_own_in(&self, network: Network) -> bool {
        self.own.iter().any(|address| network.contains(*address))
    }

    /// Like [`Topology::is_local`], without a route look-up.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        address.is_loopback()
            || address.is_unspecified()
            || address == IpAddr::V4(Ipv4Addr::BROADCAST)
            || self.own.contains(&address)
    }

    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    #[must_use]
    pub fn link(&self, index: u32) -> Option<&Link> {
        self.links.get(&index)
    }

    #[must_use]
    pub fn link_named(&self, name: &str) -> Option<&Link> {
        self.links.get(self.names.get(name)?)
    }

    /// Returns the device below a VLAN device, or the device that a `PPPoE` session runs over;
    /// `None` for all other kinds, because `IFLA_LINK` of a `veth` is its peer.
    #[must_use]
    pub fn lower(&self, index: u32) -> Option<&Link> {
        let link = self.link(index)?;
        match link.kind {
            LinkKind::Vlan { .. } => self.link(link.lower?),
            LinkKind::Ppp => {
                let session = self.ppp.get(&link.name).map(|session| &session.device);
                self.link_named(session.or_else(|| pppoe::common_lower(&self.sessions))?)
            }
            _ => None,
        }
    }

    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter()
    }

    #[must_use]
    pub fn queues(&self) -> &[QueueingDiscipline] {
        &self.queues
    }

    pub(crate) fn sessions(&self) -> &[PppoeSession] {
        &self.sessions
    }

    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }

    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.values()
    }

    pub fn fdb(&self) -> impl Iterator<Item = &FdbEntry> {
        self.fdb.values()
    }
}

#[cfg(test)]
mod tests;
