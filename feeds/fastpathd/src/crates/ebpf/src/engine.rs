// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the maps as the [`ConnectionTable`] wants them: how long programs run after a heartbeat,
//! how often the counters of many entries are read, why a connection leaves, and entries that a
//! previous daemon left. Which connection is evicted is decided in `table.rs`.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use ctnetlink::Counters;
use model::Connection;

use crate::connection::{
    EntryGrowth, EntryReading, Extension, Installation, Position, Stage, Timeouts,
};
use crate::dependency::{DependencyChange, Endpoint, Place};
use crate::entry::{Entry, InstallRefusal, Key, TCP};
use crate::exits::PortExits;
use crate::table::{ConnectionTable, Slot};

/// Programs run for so long after a heartbeat. Heartbeats come every second, and a busy router may
/// miss some.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Entries read per second at most: a tenth of a second of CPU time on a small router.
const READ_A_SECOND: usize = 20_000;

/// Connections that left the maps and may come back, of which it is kept how far they were; of
/// more, only the last ones. The next packet of a direction replaces it.
const POSITIONS: usize = 4096;

/// The kernel's maps, as the engine uses them.
pub trait Maps: std::fmt::Debug {
    /// Writes an entry that counts on from there, or replaces the one of the same key. It waits.
    ///
    /// # Errors
    /// [`MapError::Full`], or the kernel refuses.
    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError>;

    /// Lets waiting entries carry packets. False if one is missing or over.
    ///
    /// # Errors
    /// The kernel refuses.
    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError>;

    /// The values of an entry that the programs write; none if there is none.
    ///
    /// # Errors
    /// The kernel refuses.
    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError>;

    /// Removes an entry; none if there was none.
    ///
    /// # Errors
    /// The kernel refuses.
    fn remove(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError>;

    /// Passes every entry once, if none is added or removed meanwhile.
    ///
    /// # Errors
    /// The kernel refuses. Some entries may have been passed.
    fn read(&mut self, each: &mut dyn FnMut(&Key, EntryReading)) -> Result<(), MapError>;

    /// Lets the programs run for this long.
    ///
    /// # Errors
    /// The kernel refuses.
    fn heartbeat(&mut self, patience: Duration) -> Result<(), MapError>;

    /// Exit counters of the programs by port.
    ///
    /// # Errors
    /// The kernel refuses.
    fn exits(&mut self) -> Result<PortExits, MapError>;
}

/// Why a map of the kernel could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The map is full.
    #[error("the flow map is full")]
    Full,
    /// An entry could not be written.
    #[error("cannot write an entry to a flow map")]
    Put(#[source] io::Error),
    /// An entry could not be removed.
    #[error("cannot remove an entry from a flow map")]
    Remove(#[source] io::Error),
    /// Entries could not be read.
    #[error("cannot read a flow map")]
    Read(#[source] io::Error),
    /// The heartbeat of the programs could not be renewed.
    #[error("cannot write the heartbeat of the daemon")]
    Heartbeat(#[source] io::Error),
    /// The counters of exits could not be read.
    #[error("cannot read the programs' verdict counters")]
    Exits(#[source] io::Error),
}

/// Why a connection was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// It cannot be.
    #[error(transparent)]
    Refused(#[from] InstallRefusal),
    /// The kernel refused.
    #[error(transparent)]
    Kernel(#[from] MapError),
}

/// Why a connection is no longer carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemovalCause {
    /// Its removal was requested.
    Requested,
    /// A program saw a FIN or RST of one of its ends.
    Closing,
    /// A program saw a SYN, or an end before the start: the tuple may belong to another connection.
    Restarted,
    /// The path to one of its ends has changed.
    Moved,
    /// Another connection took its place in the full table.
    Evicted,
    /// The time of a drop has expired.
    Expired,
}

/// Changes of connections since the last report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Growth of counters.
    pub grown: Vec<EntryGrowth>,
    /// Connections that are no longer carried. Their last counters are in `grown`.
    pub removed: Vec<(u64, RemovalCause)>,
    /// Timeouts that conntrack has to be updated with.
    pub extensions: Vec<Extension>,
}

/// Connections offloaded to programs in the kernel.
#[derive(Debug)]
pub struct OffloadEngine {
    maps: Box<dyn Maps>,
    table: ConnectionTable,
    timeouts: Timeouts,
    /// Entries of a previous daemon, with their counters.
    stale: HashMap<Key, Slot>,
    /// How far connections were when they left, in the order of [`Installation::entries`].
    positions: HashMap<u64, [Position; 2]>,
    report: Report,
    /// When the counters are read next.
    read_at: Duration,
}

impl OffloadEngine {
    /// Adopts the entries in the maps; `capacity`: of each of the two maps.
    ///
    /// # Errors
    /// They cannot be read.
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

    /// Starts with the report that an engine with other maps has not given yet.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = report;
        self
    }

    /// The table of connections.
    #[must_use]
    pub fn table(&self) -> &ConnectionTable {
        &self.table
    }

    /// Changes since the last report.
    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Growth of counters since the last report, which will have the rest of the changes.
    pub fn growth(&mut self) -> Vec<EntryGrowth> {
        std::mem::take(&mut self.report.grown)
    }

    /// Sets the idle timeouts of conntrack.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// Installs a connection, whose entries wait to be started; nothing is done if it is installed
    /// already.
    ///
    /// # Errors
    /// It cannot be carried.
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

    /// Lets the programs carry a connection that was installed. Conntrack has to have shown it as
    /// established since then: an end that it does not know yet has met the entries. Otherwise the
    /// connection leaves, and false is returned.
    ///
    /// # Errors
    /// The kernel refuses.
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

    /// Has a connection's packets dropped for `rule` until then, instead of carried.
    ///
    /// # Errors
    /// It cannot be.
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

    /// Writes an entry of a direction that was at `position`. Answers the counters of a previous
    /// daemon's entry when it was found, and what the programs have written since.
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
            // Installation out, so that nothing is counted between the reading and the writing.
            from = self.maps.remove(key)?.unwrap_or(known);
            if from.stage.is_over() {
                from.position = position;
            }
            from.stage = Stage::Waiting;
        }
        self.maps.put(key, entry, from)?;
        Ok((found, from))
    }

    /// Removes the entries of a connection.
    fn withdraw(&mut self, id: u64) {
        for key in self.table.leave(id).iter().flat_map(|left| &left.keys) {
            // The kernel has just refused something, which is reported.
            let _ = self.maps.remove(key);
        }
    }

    /// Removes a connection, if it is here.
    pub fn remove(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
    }

    /// Removes a connection that has ended: the next one with its number has other positions.
    pub fn forget(&mut self, id: u64, now: Duration) {
        self.leave(id, RemovalCause::Requested, now);
        self.positions.remove(&id);
    }

    /// Removes all connections, as if the paths of all had changed.
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
                // That it is over is known already.
                let last = EntryReading { stage: Stage::default(), ..last };
                self.report.grown.extend(self.table.read(key, last, now));
            }
        }
        if over {
            // Timeout and numbers of the next connection are its own.
            self.positions.remove(&id);
        } else {
            self.report.extensions.extend(self.table.last_extension(id, now, &self.timeouts));
        }
        self.table.leave(id);
        // Some packets later it is still near enough, while nobody else knows any number.
        if keys[0].proto == TCP && !over {
            if self.positions.len() == POSITIONS {
                self.positions.clear();
            }
            self.positions.insert(id, positions);
        }
        self.report.removed.push((id, cause));
    }

    /// Removes connections whose endpoints differ after `changes`. `endpoint` looks an end up
    /// in the network as it is now.
    pub fn changed(
        &mut self,
        changes: &[DependencyChange],
        endpoint: impl Fn(Place) -> Option<Endpoint>,
        now: Duration,
    ) {
        for place in self.table.touched(changes) {
            for id in self.table.moved(place, endpoint(place)) {
                self.leave(id, RemovalCause::Moved, now);
            }
        }
    }

    /// Once a second: renews the heartbeat, reads the counters (of very many connections less
    /// often), and removes connections that are over or whose block has expired.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn second(&mut self, now: Duration) -> Result<(), MapError> {
        self.maps.heartbeat(PATIENCE)?;
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

    /// Whether a FIN or RST of this connection can only be forged: the programs carry it, and found
    /// none of one of its ends.
    pub fn is_open(&mut self, id: u64) -> bool {
        let open = |read| matches!(read, Ok(Some(EntryReading { stage: Stage::Carrying, .. })));
        let Some(keys) = self.table.keys(id) else { return false };
        keys.iter().all(|key| open(self.maps.get(key)))
    }

    /// Removes entries of a previous daemon that nothing has requested. Returns how many.
    pub fn remove_stale(&mut self) -> usize {
        let stale = std::mem::take(&mut self.stale);
        let gone = stale.keys().filter(|key| matches!(self.maps.remove(key), Ok(Some(_))));
        gone.count()
    }

    /// Exit counters of the programs by port.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn exits(&mut self) -> Result<PortExits, MapError> {
        self.maps.exits()
    }
}

/// Why a connection leaves whose entry is in this stage.
fn cause(stage: Stage) -> Option<RemovalCause> {
    match stage {
        Stage::Waiting | Stage::Carrying => None,
        Stage::Closing => Some(RemovalCause::Closing),
        Stage::Restarted => Some(RemovalCause::Restarted),
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
