// SPDX-License-Identifier: GPL-2.0-or-later
//! Table of the connections in the maps. Selects connections to evict, computes counter growth, and
//! decides when to extend conntrack timeouts.

use std::cmp::Reverse;
use std::time::Duration;

use config::Network;
use ctnetlink::Counters;
use hashbrown::{HashMap, HashSet};
use model::Connection;

use crate::connection::{EntryGrowth, EntryReading, Extension, Installation, Left, Timeouts};
use crate::dependency::{DependencyChange, Destination, Endpoint};
use crate::entry::{Entry, InstallRefusal, Key, connect, reject};

/// Connections with fewer packets count as new.
const NEW_PACKETS: u64 = 16;
/// Idle time after which a new connection may be evicted.
const NEW_IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Idle time after which any other connection may be evicted; equals the flowtable timeout.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Entries of dropped connections may use one in this many entries of a map.
const DROPPED_SHARE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Forwarded,
    Dropped { rule: u32, until: Duration },
}

#[derive(Debug, Clone)]
struct Held {
    connection: Connection,
    /// Serial number of the installation.
    installation: u64,
    keys: [Key; 2],
    /// Where the entries of `keys` were written.
    addresses: [u64; 2],
    /// Initiator and responder, as destinations of packets.
    destinations: [Destination; 2],
    fate: Fate,
    /// Packets of both entries at the last reading.
    packets: u64,
    active: Duration,
    /// Expiry in conntrack according to the last timeout that we set.
    expires: Duration,
}

impl Held {
    /// Returns the timeout to set in conntrack; `None` if the current one suffices.
    fn extension(&self, now: Duration, timeouts: &Timeouts) -> Option<Extension> {
        let until = self.active + timeouts.of(self.connection.orig.proto);
        let Connection { id, zone, orig, .. } = self.connection;
        let wanted = self.fate == Fate::Forwarded && self.packets > 0 && until > self.expires;
        wanted.then(|| Extension { id, zone, orig, left: until.saturating_sub(now) })
    }
}

#[derive(Debug)]
struct Station {
    endpoint: Endpoint,
    connections: HashSet<u64>,
}

/// Connection, direction and counters of a map entry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    id: u64,
    /// 0 for packets from the initiator, 1 for packets to the initiator.
    direction: usize,
    counted: Counters,
}

#[derive(Debug, Default)]
pub struct ConnectionTable {
    /// Capacity of each map, in entries.
    capacity: usize,
    connections: HashMap<u64, Held>,
    installations: u64,
    keys: HashMap<Key, Slot>,
    /// Entries in the IPv4 and the IPv6 map.
    used: [usize; 2],
    /// Entries of dropped connections in the IPv4 and the IPv6 map.
    rejected: [usize; 2],
    stations: HashMap<Destination, Station>,
    /// Candidates for eviction from the IPv4 and the IPv6 map, best candidate last.
    victims: [Vec<u64>; 2],
    evicted: u64,
    dropped: Vec<(u32, Counters)>,
}

impl ConnectionTable {
    /// Creates an empty table. `capacity` is the size of each map.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    #[must_use]
    pub fn has(&self, id: u64) -> bool {
        self.connections.contains_key(&id)
    }

    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    #[must_use]
    pub fn dropped(&self) -> &[(u32, Counters)] {
        &self.dropped
    }

    /// Adds a connection. `ends` are the endpoints of initiator and responder.
    ///
    /// # Errors
    /// Fails if the connection cannot be offloaded; the table stays unchanged.
    pub fn install(
        &mut self,
        connection: Connection,
        ends: [Endpoint; 2],
        now: Duration,
    ) -> Result<Installation, InstallRefusal> {
        let (orig, reply) = (&connection.orig, &connection.reply);
        let entries = connect(orig, reply, &ends[0].side, &ends[1].side)?;
        self.add(connection, ends, entries, Fate::Forwarded, now)
    }

    /// Adds a connection whose packets are dropped on behalf of `rule` until `until`.
    pub fn reject(
        &mut self,
        connection: Connection,
        ends: [Endpoint; 2],
        rule: u32,
        until: Duration,
        now: Duration,
    ) -> Result<Installation, InstallRefusal> {
        let (orig, reply) = (&connection.orig, &connection.reply);
        let entries = reject(orig, reply, &ends[0].side, &ends[1].side, rule)?;
        self.add(connection, ends, entries, Fate::Dropped { rule, until }, now)
    }

    fn add(
        &mut self,
        connection: Connection,
        ends: [Endpoint; 2],
        entries: [(Key, Entry); 2],
        fate: Fate,
        now: Duration,
    ) -> Result<Installation, InstallRefusal> {
        let keys = [entries[0].0, entries[1].0];
        let known = keys.iter().any(|key| self.keys.contains_key(key));
        if known || keys[0] == keys[1] || self.has(connection.id) {
            return Err(InstallRefusal::DuplicateTuple);
        }
        let family = family(&keys[0]);
        let is_forwarded = fate == Fate::Forwarded;
        if !is_forwarded && self.rejected[family] + 2 > self.capacity / DROPPED_SHARE {
            return Err(InstallRefusal::Full);
        }
        let evicted = if self.used[family] + 2 > self.capacity {
            Some(self.victim(family, now).ok_or(InstallRefusal::Full)?)
        } else {
            None
        };
        self.used[family] += 2;
        self.rejected[family] += if is_forwarded { 0 } else { 2 };
        for (direction, key) in keys.into_iter().enumerate() {
            self.keys.insert(key, Slot { id: connection.id, direction, ..Slot::default() });
        }
        let destinations = destinations(&connection, &ends);
        for (destination, endpoint) in destinations.into_iter().zip(ends) {
            let new = || Station { endpoint, connections: HashSet::new() };
            self.stations.entry(destination).or_insert_with(new).connections.insert(connection.id);
        }
        self.installations += 1;
        let held = Held {
            connection,
            installation: self.installations,
            keys,
            addresses: [0; 2],
            destinations,
            fate,
            packets: 0,
            active: now,
            expires: now,
        };
        self.connections.insert(connection.id, held);
        Ok(Installation { entries, evicted })
    }

    fn victim(&mut self, of: usize, now: Duration) -> Option<u64> {
        // Candidates that have ended or are active again are dropped.
        while let Some(id) = self.victims[of].pop() {
            if self.connections.get(&id).is_some_and(|held| rank(held, now).is_some()) {
                self.evicted += 1;
                return Some(id);
            }
        }
        None
    }

    pub fn leave(&mut self, id: u64) -> Option<Left> {
        let held = self.connections.remove(&id)?;
        for key in &held.keys {
            self.keys.remove(key);
        }
        let family = family(&held.keys[0]);
        self.used[family] -= 2;
        self.rejected[family] -= if held.fate == Fate::Forwarded { 0 } else { 2 };
        for destination in &held.destinations {
            if let Some(station) = self.stations.get_mut(destination) {
                station.connections.remove(&id);
                if station.connections.is_empty() {
                    self.stations.remove(destination);
                }
            }
        }
        Some(Left { connection: held.connection, keys: held.keys })
    }

    /// Returns the endpoint of a destination with connections.
    #[must_use]
    pub fn endpoint(&self, destination: &Destination) -> Option<&Endpoint> {
        self.stations.get(destination).map(|station| &station.endpoint)
    }

    #[must_use]
    pub fn keys(&self, id: u64) -> Option<[Key; 2]> {
        Some(self.connections.get(&id)?.keys)
    }

    pub(crate) fn places(&self, id: u64) -> Option<([Key; 2], [u64; 2])> {
        self.connections.get(&id).map(|held| (held.keys, held.addresses))
    }

    pub(crate) fn set_addresses(&mut self, id: u64, addresses: [u64; 2]) {
        if let Some(held) = self.connections.get_mut(&id) {
            held.addresses = addresses;
        }
    }

    /// Returns the connection of the entry with this key at this address.
    pub(crate) fn at(&self, key: &Key, address: u64) -> Option<u64> {
        let slot = self.keys.get(key)?;
        let held = self.connections.get(&slot.id)?;
        (held.addresses[slot.direction] == address).then_some(slot.id)
    }

    /// Returns what [`reject`](Self::reject) was called with; `None` if packets are forwarded.
    pub(crate) fn rejection(&self, id: u64) -> Option<(Connection, [Endpoint; 2], u32, Duration)> {
        let held = self.connections.get(&id)?;
        let Fate::Dropped { rule, until } = held.fate else { return None };
        let [initiator, responder] = held.destinations.map(|at| self.endpoint(&at).cloned());
        Some((held.connection, [initiator?, responder?], rule, until))
    }

    #[must_use]
    pub fn connection(&self, id: u64) -> Option<Connection> {
        self.connections.get(&id).map(|held| held.connection)
    }

    /// Returns the serial number of a connection's installation.
    #[must_use]
    pub fn installation(&self, id: u64) -> Option<u64> {
        self.connections.get(&id).map(|held| held.installation)
    }

    #[must_use]
    pub fn all(&self) -> Vec<u64> {
        self.connections.keys().copied().collect()
    }

    /// Returns the destinations that the changes may affect.
    #[must_use]
    pub fn touched(&self, changes: &[DependencyChange]) -> Vec<Destination> {
        let stations = self.stations.iter();
        stations
            .filter(|(destination, at)| {
                changes.iter().any(|c| c.touches(destination.address, &at.endpoint))
            })
            .map(|(destination, _)| *destination)
            .collect()
    }

    /// Updates the endpoint of a destination; `None` if unknown. Returns the connections with
    /// outdated entries.
    pub fn moved(&mut self, destination: Destination, endpoint: Option<Endpoint>) -> Vec<u64> {
        let Some(station) = self.stations.get_mut(&destination) else { return Vec::new() };
        match endpoint {
            Some(endpoint) if endpoint.side == station.endpoint.side => {
                station.endpoint = endpoint;
                Vec::new()
            }
            _ => station.connections.iter().copied().collect(),
        }
    }

    /// Returns the growth of an entry; `None` if the entry is unknown, dropping or unchanged.
    pub fn read(&mut self, key: &Key, reading: EntryReading, now: Duration) -> Option<EntryGrowth> {
        let slot = self.keys.get_mut(key)?;
        let (id, direction) = (slot.id, slot.direction);
        let held = self.connections.get_mut(&id)?;
        let before = std::mem::replace(&mut slot.counted, reading.counters);
        let grown = Counters {
            packets: reading.counters.packets.saturating_sub(before.packets),
            bytes: reading.counters.bytes.saturating_sub(before.bytes),
        };
        if grown.packets > 0 {
            held.packets = held.packets.saturating_add(grown.packets);
            held.active = now;
        }
        match held.fate {
            Fate::Dropped { rule, .. } => {
                let at = self.dropped.iter().position(|(known, _)| *known == rule);
                let at = at.unwrap_or_else(|| {
                    self.dropped.push((rule, Counters::default()));
                    self.dropped.len() - 1
                });
                let sum = &mut self.dropped[at].1;
                sum.packets = sum.packets.saturating_add(grown.packets);
                sum.bytes = sum.bytes.saturating_add(grown.bytes);
                None
            }
            Fate::Forwarded => {
                (grown.packets > 0 || reading.stage.is_over()).then_some(EntryGrowth {
                    id,
                    direction,
                    grown,
                    stage: reading.stage,
                    inherited: false,
                })
            }
        }
    }

    /// Returns the initial counters of an adopted entry as growth; `None` if unknown or zero.
    pub fn inherit(&mut self, key: &Key, counters: Counters, now: Duration) -> Option<EntryGrowth> {
        let growth = self.read(key, EntryReading { counters, ..EntryReading::default() }, now)?;
        Some(EntryGrowth { inherited: true, ..growth })
    }

    #[must_use]
    pub fn knows(&self, key: &Key) -> bool {
        self.keys.contains_key(key)
    }

    /// Ranks the candidates for eviction. Called after each reading of the maps.
    pub fn rank(&mut self, now: Duration) {
        self.victims = Default::default();
        // No eviction is needed while a sixteenth of the table is free.
        if self.used.iter().all(|used| used + self.capacity / 16 < self.capacity) {
            return;
        }
        let idle = self.connections.iter();
        let mut idle: Vec<_> =
            idle.filter_map(|(id, held)| Some((rank(held, now)?, *id))).collect();
        idle.sort_by_key(|(rank, _)| Reverse(*rank));
        for (_, id) in idle {
            if let Some(held) = self.connections.get(&id) {
                self.victims[family(&held.keys[0])].push(id);
            }
        }
    }

    /// Returns the timeout to set in conntrack if the connection of an entry has less than half of
    /// its time left. Called after each reading of an entry.
    pub fn extension(
        &mut self,
        key: &Key,
        now: Duration,
        timeouts: &Timeouts,
    ) -> Option<Extension> {
        let held = self.connections.get_mut(&self.keys.get(key)?.id)?;
        let whole = timeouts.of(held.connection.orig.proto);
        if held.expires > now + whole / 2 {
            return None;
        }
        let extension = held.extension(now, timeouts)?;
        held.expires = now + extension.left;
        Some(extension)
    }

    /// Returns the timeout to set in conntrack before a connection is removed.
    #[must_use]
    pub fn last_extension(&self, id: u64, now: Duration, timeouts: &Timeouts) -> Option<Extension> {
        self.connections.get(&id)?.extension(now, timeouts)
    }

    #[must_use]
    pub fn rejected(&self, network: Network) -> Vec<u64> {
        let of = |held: &Held| {
            held.fate != Fate::Forwarded && held.keys.iter().any(|key| network.contains(key.src))
        };
        self.connections.iter().filter(|(_, held)| of(held)).map(|(id, _)| *id).collect()
    }

    #[must_use]
    pub fn expired(&self, now: Duration) -> Vec<u64> {
        if self.rejected == [0; 2] {
            return Vec::new();
        }
        let over = |held: &Held| matches!(held.fate, Fate::Dropped { until, .. } if until <= now);
        self.connections.iter().filter(|(_, held)| over(held)).map(|(id, _)| *id).collect()
    }
}

fn destinations(connection: &Connection, ends: &[Endpoint; 2]) -> [Destination; 2] {
    let [initiator, responder] = ends;
    [
        Destination { address: connection.orig.src, route: initiator.route },
        Destination { address: connection.reply.src, route: responder.route },
    ]
}

fn family(key: &Key) -> usize {
    usize::from(key.src.is_ipv6())
}

/// Returns the rank for eviction, lowest first; `None` if the connection must stay. New connections
/// come first, so that a scan evicts its own connections.
fn rank(held: &Held, now: Duration) -> Option<(bool, Duration)> {
    if matches!(held.fate, Fate::Dropped { .. }) {
        return None;
    }
    let is_established = held.packets >= NEW_PACKETS;
    let idle = now.saturating_sub(held.active);
    let timeout = if is_established { IDLE_TIMEOUT } else { NEW_IDLE_TIMEOUT };
    (idle >= timeout).then_some((is_established, held.active))
}

#[cfg(test)]
mod tests;
