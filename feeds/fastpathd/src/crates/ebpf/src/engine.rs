// SPDX-License-Identifier: GPL-2.0-or-later
//! Synchronizes the kernel's maps with the [`ConnectionTable`]: renews the heartbeat, reads
//! counters, removes ended connections, and adopts entries of a previous daemon.

use std::collections::{BTreeMap, btree_map};
use std::io;
use std::time::Duration;

use ctnetlink::Counters;
use hashbrown::HashMap;
use model::Connection;

use crate::connection::{
    EntryGrowth, EntryReading, Extension, Installation, Position, Stage, Timeouts,
};
use crate::dependency::{DependencyChange, Destination, Endpoint};
use crate::entry::{Entry, InstallRefusal, Key, TCP};
use crate::exits::PortExits;
use crate::table::ConnectionTable;

use steps::{Passes, Stale};

mod steps;

/// Lifetime of entries after a heartbeat. Heartbeats are sent every second; a busy router may delay
/// some.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// Entries read per second, if all of them are read within [`MAX_PASS_S`]. They take 0.1 s of CPU
/// time on a small router.
const READS_PER_SECOND: usize = 20_000;

/// Entries per [`OffloadEngine::step`], so that a step takes a few milliseconds at most.
pub const STEP: usize = 512;

/// Maximum seconds until all entries are read. Less than the timeout of a new UDP connection in
/// conntrack (30 s), which readings extend.
const MAX_PASS_S: usize = 20;

/// Maximum TCP positions kept for removed connections, in case they are offloaded again. When full,
/// all are dropped; the next packets of a connection set its positions again.
const MAX_POSITIONS: usize = 4096;

/// An element of a flow map.
#[derive(Debug, Clone, Copy)]
pub struct Element {
    pub key: Key,
    /// [`Maps::address`] when the element was written.
    pub address: u64,
    /// The programs do not find the element, because [`Maps::hide`] was called since.
    pub is_hidden: bool,
    pub reading: EntryReading,
}

pub trait Maps: std::fmt::Debug {
    /// Returns where [`put`](Self::put) writes the entry of this key.
    fn address(&self, key: &Key) -> u64;

    /// Writes a waiting entry with the counters and position of `from`, replacing any entry of this
    /// key and address.
    ///
    /// # Errors
    /// Returns [`MapError::Full`] if the map is full, otherwise the kernel's error.
    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError>;

    /// Starts two waiting entries. Returns false if an entry is missing or has ended.
    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError>;

    /// Returns the values of an entry that the programs write, or `None` if it does not exist.
    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError>;

    /// Removes an entry and returns its last reading, or `None` if it did not exist.
    fn remove(&mut self, key: &Key, address: u64) -> Result<Option<EntryReading>, MapError>;

    /// Passes about `most` entries to `each`, beginning after those of the last call. Returns true
    /// after the last entry; the next call begins with the first one. Concurrent changes may skip
    /// or repeat entries.
    ///
    /// # Errors
    /// Fails if the kernel refuses; some entries may have been passed already.
    fn read(&mut self, most: usize, each: &mut dyn FnMut(&Element)) -> Result<bool, MapError>;

    /// Hides all entries from the programs at once, by another secret of their keys.
    fn hide(&mut self) -> Result<(), MapError>;

    /// Extends the lifetime of all entries to `timeout` from now.
    fn heartbeat(&mut self, timeout: Duration) -> Result<(), MapError>;

    fn exits(&mut self) -> Result<PortExits, MapError>;
}

#[derive(Debug, thiserror::Error)]
pub enum MapError {
    #[error("the flow map is full")]
    Full,
    #[error("cannot write an entry to a flow map")]
    Put(#[source] io::Error),
    #[error("cannot remove an entry from a flow map")]
    Remove(#[source] io::Error),
    #[error("cannot read a flow map")]
    Read(#[source] io::Error),
    #[error("cannot write the heartbeat of the daemon")]
    Heartbeat(#[source] io::Error),
    #[error("cannot read the programs' verdict counters")]
    Exits(#[source] io::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Refused(#[from] InstallRefusal),
    #[error(transparent)]
    Kernel(#[from] MapError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemovalCause {
    Requested,
    Closing,
    /// A SYN, or a FIN or RST before the start, shows that the tuple may have been reused.
    Restarted,
    /// The path to either end has changed.
    Moved,
    Evicted,
    /// The drop has reached its time limit.
    Expired,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub grown: Vec<EntryGrowth>,
    /// Removed connections. Their last counters are in `grown`.
    pub removed: Vec<(u64, RemovalCause)>,
    pub extensions: Vec<Extension>,
}

#[derive(Debug)]
pub struct OffloadEngine {
    maps: Box<dyn Maps>,
    table: ConnectionTable,
    timeouts: Timeouts,
    /// Entries of a previous daemon that may be adopted. A hash table would grow in a long step.
    stale: BTreeMap<Key, Stale>,
    /// Entries of a previous daemon to remove.
    unwanted: btree_map::IntoIter<Key, Stale>,
    passes: Passes,
    /// TCP positions of removed connections, in the order of [`Installation::entries`].
    positions: HashMap<u64, [Position; 2]>,
    report: Report,
}

impl OffloadEngine {
    /// Creates an engine that adopts the entries in the maps, once [`step`](Self::step) has found
    /// them. `capacity` is the size of each of the two maps.
    #[must_use]
    pub fn new(maps: Box<dyn Maps>, capacity: usize, timeouts: Timeouts) -> Self {
        Self {
            maps,
            table: ConnectionTable::new(capacity),
            timeouts,
            stale: BTreeMap::new(),
            unwanted: btree_map::IntoIter::default(),
            passes: Passes { left: 1, is_first: true, hidden: 0, has_others: true },
            positions: HashMap::new(),
            report: Report::default(),
        }
    }

    /// Continues with the pending report of an engine with other maps.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = report;
        self
    }

    #[must_use]
    pub fn table(&self) -> &ConnectionTable {
        &self.table
    }

    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Returns and clears only the counter growth of the report.
    pub fn growth(&mut self) -> Vec<EntryGrowth> {
        std::mem::take(&mut self.report.grown)
    }

    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// Installs waiting entries for a connection, unless it is installed.
    pub fn install(
        &mut self,
        connection: Connection,
        ends: [Endpoint; 2],
        now: Duration,
    ) -> Result<(), InstallError> {
        if self.table.has(connection.id) {
            return Ok(());
        }
        let installation = self.table.install(connection, ends, now)?;
        self.write(connection.id, &installation, now)
    }

    /// Starts the entries of a connection. Conntrack must have reported it as established after the
    /// installation, so that no FIN or RST is missed in between. If an entry is missing or has
    /// ended, removes the connection and returns false.
    ///
    /// # Errors
    /// Fails if the kernel refuses; the connection is removed.
    pub fn start(&mut self, id: u64, now: Duration) -> Result<bool, MapError> {
        let Some(keys) = self.table.keys(id) else { return Ok(false) };
        let started = self.maps.start(&keys);
        match &started {
            Ok(true) => {}
            Ok(false) => self.leave(id, RemovalCause::Restarted, now),
            Err(_) => self.leave(id, RemovalCause::Requested, now),
        }
        started
    }

    /// Drops packets of a connection on behalf of `rule` until `until`.
    pub fn reject(
        &mut self,
        connection: Connection,
        ends: [Endpoint; 2],
        rule: u32,
        until: Duration,
        now: Duration,
    ) -> Result<(), InstallError> {
        self.leave(connection.id, RemovalCause::Requested, now);
        let installation = self.table.reject(connection, ends, rule, until, now)?;
        self.write(connection.id, &installation, now)
    }

    fn write(
        &mut self,
        id: u64,
        installation: &Installation,
        now: Duration,
    ) -> Result<(), InstallError> {
        if let Some(evicted) = installation.evicted {
            self.leave(evicted, RemovalCause::Evicted, now);
        }
        let positions = self.positions.remove(&id).unwrap_or_default();
        let addresses = installation.entries.each_ref().map(|(key, _)| self.maps.address(key));
        self.table.set_addresses(id, addresses);
        for ((key, entry), position) in installation.entries.iter().zip(positions) {
            match self.put(key, entry, position) {
                Ok((found, reading)) => {
                    self.report.grown.extend(self.table.inherit(key, found, now));
                    self.report.grown.extend(self.table.read(key, reading, now));
                }
                Err(error) => {
                    self.withdraw(id);
                    let full = matches!(error, MapError::Full);
                    return Err(if full { InstallRefusal::Full.into() } else { error.into() });
                }
            }
        }
        Ok(())
    }

    /// Writes an entry that resumes at `position`. Returns the counters of a replaced entry of the
    /// previous daemon when the engine started, and its last reading.
    fn put(
        &mut self,
        key: &Key,
        entry: &Entry,
        position: Position,
    ) -> Result<(Counters, EntryReading), MapError> {
        let mut found = Counters::default();
        let mut from = EntryReading { position, ..EntryReading::default() };
        if let Some(stale) = self.stale.remove(key) {
            found = stale.counted;
            let known = EntryReading { counters: found, ..from };
            // Remove the entry first, so that no packet is counted between read and write.
            from = match stale.last {
                Some(last) => last,
                None => self.maps.remove(key, stale.address)?.unwrap_or(known),
            };
            if from.stage.is_over() {
                from.position = position;
            }
            from.stage = Stage::Waiting;
        }
        self.maps.put(key, entry, from)?;
        Ok((found, from))
    }

    /// Removes the entries of a connection that could not be installed completely.
    fn withdraw(&mut self, id: u64) {
        for key in self.table.leave(id).iter().flat_map(|left| &left.keys) {
            // Ignore errors: the caller reports the failed write.
            let _ = self.maps.remove(key, self.maps.address(key));
        }
    }

    pub fn remove(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
    }

    /// Removes an ended connection and its TCP positions, because its ID may be reused.
    pub fn forget(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
        self.positions.remove(&id);
    }

    fn leave(&mut self, id: u64, cause: RemovalCause, now: Duration) {
        let Some((keys, addresses)) = self.table.places(id) else { return };
        let is_hidden = addresses[0] != self.maps.address(&keys[0]);
        self.passes.hidden = self.passes.hidden.saturating_sub(usize::from(is_hidden));
        let mut positions = [Position::default(); 2];
        let mut over = false;
        for ((key, address), position) in keys.iter().zip(addresses).zip(&mut positions) {
            if let Ok(Some(last)) = self.maps.remove(key, address) {
                *position = last.position;
                over |= last.stage.is_over();
                // The caller knows the end, so do not report it.
                let last = EntryReading { stage: Stage::default(), ..last };
                self.report.grown.extend(self.table.read(key, last, now));
            }
        }
        if over {
            // A new connection with this tuple needs its own timeout and sequence numbers.
            self.positions.remove(&id);
        } else {
            self.report.extensions.extend(self.table.last_extension(id, now, &self.timeouts));
        }
        self.table.leave(id);
        // A few packets on the slow path do not invalidate the position: the windows are large.
        if keys[0].proto == TCP && !over {
            if self.positions.len() == MAX_POSITIONS {
                self.positions.clear();
            }
            self.positions.insert(id, positions);
        }
        self.report.removed.push((id, cause));
    }

    /// Removes connections whose endpoints have changed. `endpoint` resolves a destination.
    pub fn changed(
        &mut self,
        changes: &[DependencyChange],
        endpoint: impl Fn(Destination) -> Option<Endpoint>,
        now: Duration,
    ) {
        for destination in self.table.touched(changes) {
            for id in self.table.moved(destination, endpoint(destination)) {
                self.leave(id, RemovalCause::Moved, now);
            }
        }
    }

    /// Renews the heartbeat, reads counters, and removes ended connections and expired drops.
    /// Called once a second; reads only a part of many connections.
    pub fn second(&mut self, now: Duration) -> Result<(), MapError> {
        self.maps.heartbeat(TIMEOUT)?;
        if self.passes.left > 0 {
            // The steps read all entries.
            self.step(STEP, now)?;
        } else if self.advance(READS_PER_SECOND.max(2 * self.table.len() / MAX_PASS_S), now)? {
            self.table.rank(now);
        }
        for id in self.table.expired(now) {
            self.leave(id, RemovalCause::Expired, now);
        }
        Ok(())
    }

    /// Reads about `most` entries, and removes ended connections and hidden entries. Returns true
    /// after the last entry.
    fn advance(&mut self, most: usize, now: Duration) -> Result<bool, MapError> {
        let (table, report, stale) = (&mut self.table, &mut self.report, &mut self.stale);
        let (mut over, mut hidden) = (Vec::new(), Vec::new());
        let complete = self.maps.read(most, &mut |element| {
            let Element { key, address, is_hidden, reading } = element;
            if *is_hidden {
                hidden.push((*key, *address));
                return;
            }
            if self.passes.is_first && !table.knows(key) {
                let found = Stale { address: *address, counted: reading.counters, last: None };
                stale.insert(*key, found);
                return;
            }
            if let Some(growth) = table.read(key, *reading, now) {
                over.extend(cause(growth.stage).map(|cause| (growth.id, cause)));
                report.grown.push(growth);
            }
            report.extensions.extend(table.extension(key, now, &self.timeouts));
        })?;
        for (key, address) in hidden {
            self.remove_hidden(&key, address, now);
        }
        for (id, cause) in over {
            self.leave(id, cause, now);
        }
        self.passes.is_first &= !complete;
        Ok(complete)
    }

    /// Reports whether both entries are forwarding, so that the programs have seen no genuine FIN
    /// or RST.
    pub fn is_open(&mut self, id: u64) -> bool {
        let open = |read| matches!(read, Ok(Some(EntryReading { stage: Stage::Forwarding, .. })));
        let Some(keys) = self.table.keys(id) else { return false };
        keys.iter().all(|key| open(self.maps.get(key)))
    }

    pub fn exits(&mut self) -> Result<PortExits, MapError> {
        self.maps.exits()
    }
}

/// Returns the removal cause for an entry in this stage; `None` if the entry stays.
fn cause(stage: Stage) -> Option<RemovalCause> {
    match stage {
        Stage::Waiting | Stage::Forwarding => None,
        Stage::Closing => Some(RemovalCause::Closing),
        Stage::Restarted => Some(RemovalCause::Restarted),
    }
}

#[cfg(test)]
mod tests;
