// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the maps as the [`Table`] wants them.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use ctnetlink::Counters;

use crate::connection::{Connection, Extension, Growth, Reading, Taken, Timeouts};
use crate::endpoint::{Change, Endpoint};
use crate::entry::{Entry, Key, Refusal};
use crate::layout::Exits;
use crate::table::{Slot, Table};

/// How long programs use entries after a heartbeat. Heartbeats come every second, and a busy
/// router may miss some.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Entries read per second at most: a tenth of a second of CPU time on a small router.
const READ_A_SECOND: usize = 20_000;

/// What the engine needs of the kernel.
pub trait Maps: std::fmt::Debug {
    /// Writes an entry with initial counters, or replaces the one of the same key.
    ///
    /// # Errors
    /// [`MapError::Full`], or the kernel refuses.
    fn put(&mut self, key: &Key, entry: &Entry, counted: Counters) -> Result<(), MapError>;

    /// Removes an entry and returns its counters, if it exists.
    ///
    /// # Errors
    /// The kernel refuses.
    fn remove(&mut self, key: &Key) -> Result<Option<Reading>, MapError>;

    /// Passes every entry to `each`, once if none is added or removed meanwhile.
    ///
    /// # Errors
    /// The kernel refuses. Some entries may have been passed.
    fn read(&mut self, each: &mut dyn FnMut(&Key, Reading)) -> Result<(), MapError>;

    /// Heartbeat: lets the programs use entries for this long.
    ///
    /// # Errors
    /// The kernel refuses.
    fn beat(&mut self, patience: Duration) -> Result<(), MapError>;

    /// Exit counters of the programs, summed over all CPUs.
    ///
    /// # Errors
    /// The kernel refuses.
    fn exits(&mut self) -> Result<Exits, MapError>;
}

/// Why a map of the kernel could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The map is full.
    #[error("the map of flows is full")]
    Full,
    /// An entry could not be written.
    #[error("cannot write an entry into a map of flows")]
    Put(#[source] io::Error),
    /// An entry could not be removed.
    #[error("cannot take an entry out of a map of flows")]
    Remove(#[source] io::Error),
    /// Entries could not be read.
    #[error("cannot read a map of flows")]
    Read(#[source] io::Error),
    /// The heartbeat failed.
    #[error("cannot tell the programs that the daemon is there")]
    Beat(#[source] io::Error),
    /// The counters of exits could not be read.
    #[error("cannot read the counters of the programs' exits")]
    Exits(#[source] io::Error),
}

/// Why a connection was not offloaded.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It cannot be offloaded.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The kernel refused.
    #[error(transparent)]
    Kernel(#[from] MapError),
}

/// Why a connection is not offloaded any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// On request.
    Asked,
    /// A program saw a FIN or RST.
    Closing,
    /// The path to one of its endpoints changed.
    Moved,
    /// Evicted for another connection.
    Evicted,
    /// The time of a drop has expired.
    Expired,
}

/// Events of connections since the previous report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Growth of counters.
    pub grown: Vec<Growth>,
    /// Connections that are not offloaded any more. Their last counters are among the above.
    pub left: Vec<(u64, Cause)>,
    /// Timeouts to set in conntrack.
    pub extensions: Vec<Extension>,
}

/// Connections offloaded to programs in the kernel.
#[derive(Debug)]
pub struct Engine {
    maps: Box<dyn Maps>,
    table: Table,
    timeouts: Timeouts,
    /// Entries of a previous daemon, with their counters.
    strangers: HashMap<Key, Slot>,
    report: Report,
    /// When the counters are read next.
    read_at: Duration,
}

impl Engine {
    /// Adopts the entries in the maps; `capacity`: of each of the two maps.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn new(
        mut maps: Box<dyn Maps>,
        capacity: usize,
        timeouts: Timeouts,
    ) -> Result<Self, MapError> {
        let mut strangers = HashMap::new();
        maps.read(&mut |key, reading| {
            strangers.insert(*key, Slot::found(reading.counters));
        })?;
        let table = Table::new(capacity);
        let (report, read_at) = (Report::default(), Duration::ZERO);
        Ok(Self { maps, table, timeouts, strangers, report, read_at })
    }

    /// Starts with the report of an engine with other maps.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = report;
        self
    }

    /// The table of connections.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Takes the report of events since the previous call.
    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Sets the idle timeouts of conntrack.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// Offloads a connection, unless it is offloaded already.
    ///
    /// # Errors
    /// It cannot be carried.
    pub fn take(
        &mut self,
        connection: Connection,
        endpoints: [Endpoint; 2],
        now: Duration,
    ) -> Result<(), TakeError> {
        if self.table.has(connection.id) {
            return Ok(());
        }
        let taken = self.table.take(connection, endpoints, now)?;
        self.write(connection.id, &taken, now)
    }

    /// Drops a connection's packets for `rule` until then; it is not offloaded any more.
    ///
    /// # Errors
    /// It cannot be.
    pub fn reject(
        &mut self,
        connection: Connection,
        endpoints: [Endpoint; 2],
        rule: u32,
        until: Duration,
        now: Duration,
    ) -> Result<(), TakeError> {
        self.leave(connection.id, Cause::Asked, now);
        let taken = self.table.reject(connection, endpoints, rule, until, now)?;
        self.write(connection.id, &taken, now)
    }

    fn write(&mut self, id: u64, taken: &Taken, now: Duration) -> Result<(), TakeError> {
        if let Some(evicted) = taken.evicted {
            self.leave(evicted, Cause::Evicted, now);
        }
        for (key, entry) in &taken.entries {
            match self.place(key, entry) {
                Ok((found, counted)) => {
                    let reading = Reading { counters: counted, closing: false };
                    self.report.grown.extend(self.table.inherit(key, found, now));
                    self.report.grown.extend(self.table.read(key, reading, now));
                }
                Err(error) => {
                    self.withdraw(id);
                    let full = matches!(error, MapError::Full);
                    return Err(if full { Refusal::Full.into() } else { error.into() });
                }
            }
        }
        Ok(())
    }

    /// Writes an entry. Returns what that of a previous daemon had counted when it was found, and
    /// what it has counted now, since the programs kept using it.
    fn place(&mut self, key: &Key, entry: &Entry) -> Result<(Counters, Counters), MapError> {
        let (mut found, mut counted) = (Counters::default(), Counters::default());
        if let Some(slot) = self.strangers.remove(key) {
            found = slot.counted;
            // Removed, so that nothing is counted between reading and writing.
            counted = self.maps.remove(key)?.map_or(found, |reading| reading.counters);
        }
        self.maps.put(key, entry, counted)?;
        Ok((found, counted))
    }

    /// Removes the entries that were written of a connection.
    fn withdraw(&mut self, id: u64) {
        for key in self.table.leave(id).iter().flat_map(|left| &left.keys) {
            // The previous refusal is reported instead.
            let _ = self.maps.remove(key);
        }
    }

    /// Stops offloading a connection, if it is offloaded.
    pub fn release(&mut self, id: u64, now: Duration) {
        self.leave(id, Cause::Asked, now);
    }

    /// Stops offloading all connections, as if the path of each had changed.
    pub fn release_all(&mut self, now: Duration) {
        for id in self.table.all() {
            self.leave(id, Cause::Moved, now);
        }
        self.sweep();
    }

    fn leave(&mut self, id: u64, cause: Cause, now: Duration) {
        let Some(keys) = self.table.keys(id) else { return };
        for key in &keys {
            if let Ok(Some(last)) = self.maps.remove(key) {
                // Closing has been reported already.
                let last = Reading { closing: false, ..last };
                self.report.grown.extend(self.table.read(key, last, now));
            }
        }
        self.report.extensions.extend(self.table.last_extension(id, now, &self.timeouts));
        self.table.leave(id);
        self.report.left.push((id, cause));
    }

    /// Stops offloading connections whose path differs after `changes`. `locate` finds the endpoint
    /// of an address.
    pub fn changed(
        &mut self,
        changes: &[Change],
        locate: impl Fn(IpAddr) -> Option<Endpoint>,
        now: Duration,
    ) {
        for address in self.table.touched(changes) {
            for id in self.table.moved(address, locate(address)) {
                self.leave(id, Cause::Moved, now);
            }
        }
    }

    /// Once a second: sends the heartbeat, reads the counters (less often with very many
    /// connections), and removes connections that are closing or whose drop has expired.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn tick(&mut self, now: Duration) -> Result<(), MapError> {
        self.maps.beat(PATIENCE)?;
        if now < self.read_at {
            return Ok(());
        }
        let seconds = 2 * self.table.len() / READ_A_SECOND;
        self.read_at = now + Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
        let (table, report) = (&mut self.table, &mut self.report);
        let mut closing = Vec::new();
        self.maps.read(&mut |key, reading| {
            if let Some(growth) = table.read(key, reading, now) {
                if growth.closing {
                    closing.push(growth.id);
                }
                report.grown.push(growth);
            }
        })?;
        for id in closing {
            self.leave(id, Cause::Closing, now);
        }
        for id in self.table.expired(now) {
            self.leave(id, Cause::Expired, now);
        }
        self.table.rank(now);
        self.report.extensions.extend(self.table.extensions(now, &self.timeouts));
        Ok(())
    }

    /// After all connections have been offered: removes the remaining entries of the previous
    /// daemon. Returns their number.
    pub fn sweep(&mut self) -> usize {
        let strangers = std::mem::take(&mut self.strangers);
        let gone = strangers.keys().filter(|key| matches!(self.maps.remove(key), Ok(Some(_))));
        gone.count()
    }

    /// Exit counters of the programs, summed over all CPUs.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn exits(&mut self) -> Result<Exits, MapError> {
        self.maps.exits()
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
