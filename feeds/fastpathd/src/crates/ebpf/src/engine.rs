// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the kernel's maps in line with the [`ConnectionTable`]: renews the heartbeat, reads
//! counters, removes connections that ended, and adopts entries of a previous daemon. `table.rs`
//! decides which connection is evicted.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use ctnetlink::Counters;
use model::Connection;

use crate::connection::{
    EntryGrowth, EntryReading, Extension, Installation, Position, Stage, Timeouts,
};
use crate::dependency::{DependencyChange, Destination, Endpoint};
use crate::entry::{Entry, InstallRefusal, Key, TCP};
use crate::exits::PortExits;
use crate::table::{ConnectionTable, Slot};

/// Time for which programs run after a heartbeat. Heartbeats are sent every second, and a busy
/// router may miss some.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// Limit of entries read per second, which take 0.1 s of CPU time on a small router.
const READ_A_SECOND: usize = 20_000;

/// Limit of TCP positions kept for removed connections, in case they are offloaded again. All are
/// dropped when it is reached; the next packet of a direction sets its position again.
const POSITIONS: usize = 4096;

/// The kernel's maps, as the engine uses them.
pub trait Maps: std::fmt::Debug {
    /// Writes a waiting entry that resumes at `from`, and replaces any entry of the same key.
    ///
    /// # Errors
    /// Returns [`MapError::Full`] if the map is full, otherwise the kernel's error.
    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError>;

    /// Lets the programs forward packets of two waiting entries. Returns false if one is missing or
    /// has ended.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError>;

    /// Returns the fields of an entry that the programs write, or `None` if there is no entry.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError>;

    /// Removes an entry and returns its last reading, or `None` if there was no entry.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    fn remove(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError>;

    /// Passes every entry to `each`, once if none is added or removed meanwhile.
    ///
    /// # Errors
    /// Fails if the kernel refuses; some entries may have been passed already.
    fn read(&mut self, each: &mut dyn FnMut(&Key, EntryReading)) -> Result<(), MapError>;

    /// Lets the programs run for `patience` from now on.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    fn heartbeat(&mut self, patience: Duration) -> Result<(), MapError>;

    /// Returns the programs' exit counters by port.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    fn exits(&mut self) -> Result<PortExits, MapError>;
}

/// Errors of the kernel's maps.
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

/// Reasons why a connection was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The connection cannot be offloaded.
    #[error(transparent)]
    Refused(#[from] InstallRefusal),
    /// The kernel refused an entry.
    #[error(transparent)]
    Kernel(#[from] MapError),
}

/// Reasons why a connection is no longer offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemovalCause {
    /// The caller requested the removal.
    Requested,
    /// A program saw a FIN or RST of either end.
    Closing,
    /// A program saw a SYN, or a FIN or RST before the start: the tuple may have been reused.
    Restarted,
    /// The path to either end has changed.
    Moved,
    /// Evicted for another connection, because the table was full.
    Evicted,
    /// The drop has reached its time limit.
    Expired,
}

/// Changes of connections since the last report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub grown: Vec<EntryGrowth>,
    /// Connections that are no longer offloaded. Their last counters are in `grown`.
    pub removed: Vec<(u64, RemovalCause)>,
    /// Timeouts to set in conntrack.
    pub extensions: Vec<Extension>,
}

/// Offloads connections to programs in the kernel.
#[derive(Debug)]
pub struct OffloadEngine {
    maps: Box<dyn Maps>,
    table: ConnectionTable,
    timeouts: Timeouts,
    /// Entries of a previous daemon, with their counters.
    stale: HashMap<Key, Slot>,
    /// TCP positions of removed connections, in the order of [`Installation::entries`].
    positions: HashMap<u64, [Position; 2]>,
    report: Report,
    /// Time of the next reading of the counters.
    read_at: Duration,
}

impl OffloadEngine {
    /// Adopts the entries in the maps. `capacity` is the size of each of the two maps.
    ///
    /// # Errors
    /// Fails if the maps cannot be read.
    pub fn new(
        mut maps: Box<dyn Maps>,
        capacity: usize,
        timeouts: Timeouts,
    ) -> Result<Self, MapError> {
        let mut stale = HashMap::new();
        maps.read(&mut |key, reading| {
            stale.insert(*key, Slot::found(reading.counters));
        })?;
        let table = ConnectionTable::new(capacity);
        Ok(Self {
            maps,
            table,
            timeouts,
            stale,
            positions: HashMap::new(),
            report: Report::default(),
            read_at: Duration::ZERO,
        })
    }

    /// Starts with the pending report of an engine that had other maps.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = report;
        self
    }

    #[must_use]
    pub fn table(&self) -> &ConnectionTable {
        &self.table
    }

    /// Returns and clears the changes since the last report.
    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Returns and clears the growth of counters; other changes stay for the next report.
    pub fn growth(&mut self) -> Vec<EntryGrowth> {
        std::mem::take(&mut self.report.grown)
    }

    /// Applies changed idle timeouts of conntrack.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// Installs a connection with waiting entries, unless it is installed already.
    ///
    /// # Errors
    /// Fails if the connection cannot be offloaded or the kernel refuses.
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

    /// Lets the programs forward an installed connection. Conntrack must have shown it as
    /// established since the installation, so that the entries have seen every FIN or RST unknown
    /// to conntrack. Returns false, and removes the connection, if an entry has ended or is
    /// missing.
    ///
    /// # Errors
    /// Fails if the kernel refuses; the connection is removed then, too.
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

    /// Drops a connection's packets for `rule` until `until`, instead of forwarding them.
    ///
    /// # Errors
    /// Fails if the connection cannot have entries or the kernel refuses.
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

    /// Writes an entry for a direction that was at `position`. Returns the counters with which a
    /// previous daemon's entry was found, and its reading when it was replaced.
    fn put(
        &mut self,
        key: &Key,
        entry: &Entry,
        position: Position,
    ) -> Result<(Counters, EntryReading), MapError> {
        let mut found = Counters::default();
        let mut from = EntryReading { position, ..EntryReading::default() };
        if let Some(slot) = self.stale.remove(key) {
            found = slot.counted;
            let known = EntryReading { counters: found, ..from };
            // Remove the entry first, so that no packet is counted between reading and writing.
            from = self.maps.remove(key)?.unwrap_or(known);
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
            // Ignore errors: the caller reports that the kernel refused a write.
            let _ = self.maps.remove(key);
        }
    }

    /// Removes a connection, if it is installed.
    pub fn remove(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
    }

    /// Removes an ended connection with its TCP positions, because its ID may be reused.
    pub fn forget(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
        self.positions.remove(&id);
    }

    /// Removes all connections with [`RemovalCause::Moved`], and the stale entries.
    pub fn remove_all(&mut self, now: Duration) {
        for id in self.table.all() {
            self.leave(id, RemovalCause::Moved, now);
        }
        self.remove_stale();
    }

    fn leave(&mut self, id: u64, cause: RemovalCause, now: Duration) {
        let Some(keys) = self.table.keys(id) else { return };
        let mut positions = [Position::default(); 2];
        let mut over = false;
        for (key, position) in keys.iter().zip(&mut positions) {
            if let Ok(Some(last)) = self.maps.remove(key) {
                *position = last.position;
                over |= last.stage.is_over();
                // The end is known already, so do not report it again.
                let last = EntryReading { stage: Stage::default(), ..last };
                self.report.grown.extend(self.table.read(key, last, now));
            }
        }
        if over {
            // The next connection with this tuple has its own timeout and sequence numbers.
            self.positions.remove(&id);
        } else {
            self.report.extensions.extend(self.table.last_extension(id, now, &self.timeouts));
        }
        self.table.leave(id);
        // The position stays close enough after a few packets, and forgers do not know it.
        if keys[0].proto == TCP && !over {
            if self.positions.len() == POSITIONS {
                self.positions.clear();
            }
            self.positions.insert(id, positions);
        }
        self.report.removed.push((id, cause));
    }

    /// Removes connections with endpoints that differ after `changes`. `endpoint` returns the
    /// current endpoint of a destination.
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

    /// Renews the heartbeat, reads the counters (less often with very many connections), and
    /// removes ended connections and expired drops. Called once a second.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn second(&mut self, now: Duration) -> Result<(), MapError> {
        self.maps.heartbeat(TIMEOUT)?;
        if now < self.read_at {
            return Ok(());
        }
        let seconds = 2 * self.table.len() / READ_A_SECOND;
        self.read_at = now + Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        let (table, report) = (&mut self.table, &mut self.report);
        let mut over = Vec::new();
        self.maps.read(&mut |key, reading| {
            if let Some(growth) = table.read(key, reading, now) {
                over.extend(cause(growth.stage).map(|cause| (growth.id, cause)));
                report.grown.push(growth);
            }
        })?;
        for (id, cause) in over {
            self.leave(id, cause, now);
        }
        for id in self.table.expired(now) {
            self.leave(id, RemovalCause::Expired, now);
        }
        self.table.rank(now);
        self.report.extensions.extend(self.table.extensions(now, &self.timeouts));
        Ok(())
    }

    /// Reports whether a FIN or RST of this connection can only be forged: both entries are
    /// forwarding, so the programs have not seen a genuine one.
    pub fn is_open(&mut self, id: u64) -> bool {
        let open = |read| matches!(read, Ok(Some(EntryReading { stage: Stage::Forwarding, .. })));
        let Some(keys) = self.table.keys(id) else { return false };
        keys.iter().all(|key| open(self.maps.get(key)))
    }

    /// Removes entries of a previous daemon that nothing has installed again. Returns their number.
    pub fn remove_stale(&mut self) -> usize {
        let stale = std::mem::take(&mut self.stale);
        let gone = stale.keys().filter(|key| matches!(self.maps.remove(key), Ok(Some(_))));
        gone.count()
    }

    /// Returns the programs' exit counters by port.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn exits(&mut self) -> Result<PortExits, MapError> {
        self.maps.exits()
    }
}

/// Returns the removal cause for an entry in this stage; `None` if it stays.
fn cause(stage: Stage) -> Option<RemovalCause> {
    match stage {
        Stage::Waiting | Stage::Forwarding => None,
        Stage::Closing => Some(RemovalCause::Closing),
        Stage::Restarted => Some(RemovalCause::Restarted),
    }
}

#[cfg(test)]
mod tests;
