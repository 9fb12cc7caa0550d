// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the maps as the [`Table`] wants them.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use ctnetlink::Counters;

use crate::connection::{Connection, Extension, Growth, Reading, Taken, Timeouts};
use crate::entry::{Entry, Key, Refusal};
use crate::ground::{Change, Place};
use crate::layout::Exits;
use crate::table::{Slot, Table};

/// Programs go on by themselves for so long after a beat. Beats come every second, and a busy
/// router may miss some.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Entries that are read in a second at the most: a tenth of a second's work of a small CPU.
const READ_A_SECOND: usize = 20_000;

/// What the engine needs of the kernel.
pub trait Maps: std::fmt::Debug {
    /// Writes an entry, which has counted this much already. One under the same key is replaced.
    ///
    /// # Errors
    /// [`MapError::Full`], or the kernel refuses.
    fn put(&mut self, key: &Key, entry: &Entry, counted: Counters) -> Result<(), MapError>;

    /// Takes an entry out; none if there was none.
    ///
    /// # Errors
    /// The kernel refuses.
    fn remove(&mut self, key: &Key) -> Result<Option<Reading>, MapError>;

    /// Tells every entry once, if none comes or goes meanwhile.
    ///
    /// # Errors
    /// The kernel refuses. Some entries may have been told.
    fn read(&mut self, each: &mut dyn FnMut(&Key, Reading)) -> Result<(), MapError>;

    /// Lets the programs go on for this long.
    ///
    /// # Errors
    /// The kernel refuses.
    fn beat(&mut self, patience: Duration) -> Result<(), MapError>;

    /// How packets left the programs, all CPUs together.
    ///
    /// # Errors
    /// The kernel refuses.
    fn exits(&mut self) -> Result<Exits, MapError>;
}

/// Why the kernel's maps could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The map is full.
    #[error("the flow map is full")]
    Full,
    /// An entry could not be written.
    #[error("cannot write an entry to a flow map")]
    Put(#[source] io::Error),
    /// An entry could not be taken out.
    #[error("cannot remove an entry from a flow map")]
    Remove(#[source] io::Error),
    /// Entries could not be read.
    #[error("cannot read a flow map")]
    Read(#[source] io::Error),
    /// The programs could not be told that the daemon is there.
    #[error("cannot write the heartbeat of the daemon")]
    Beat(#[source] io::Error),
    /// The counters of exits could not be read.
    #[error("cannot read the programs' verdict counters")]
    Exits(#[source] io::Error),
}

/// Why a connection was not taken up.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It cannot be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The kernel did not let it.
    #[error(transparent)]
    Kernel(#[from] MapError),
}

/// Why a connection is not carried any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Somebody asked for it.
    Asked,
    /// A program saw a FIN or RST.
    Closing,
    /// The way to one of its ends is another one.
    Moved,
    /// Another connection needed the room.
    Evicted,
    /// The time of a drop is over.
    Expired,
}

/// What has happened to connections since it was asked for last.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was counted.
    pub grown: Vec<Growth>,
    /// Who is not carried any more. What it had counted last is among the above.
    pub left: Vec<(u64, Cause)>,
    /// What conntrack is to be told.
    pub extensions: Vec<Extension>,
}

/// Connections carried by programs in the kernel.
#[derive(Debug)]
pub struct Engine {
    maps: Box<dyn Maps>,
    table: Table,
    timeouts: Timeouts,
    /// Entries of a daemon before, with what they had counted.
    strangers: HashMap<Key, Slot>,
    report: Report,
    /// When the counters are read next.
    read_at: Duration,
}

impl Engine {
    /// Adopts what is in the maps; `capacity`: entries that each of the two can have.
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

    /// Tells first what an engine with other maps has not told yet.
    #[must_use]
    pub fn after(mut self, report: Report) -> Self {
        self.report = report;
        self
    }

    /// What is known of the connections.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What has happened since this was asked for last.
    pub fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// How long conntrack keeps connections.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// Takes a connection up; nothing is done if it is up already.
    ///
    /// # Errors
    /// It cannot be carried.
    pub fn take(
        &mut self,
        connection: Connection,
        places: [Place; 2],
        now: Duration,
    ) -> Result<(), TakeError> {
        if self.table.has(connection.id) {
            return Ok(());
        }
        let taken = self.table.take(connection, places, now)?;
        self.write(connection.id, &taken, now)
    }

    /// Has a connection's packets dropped for `rule` until then; it is carried no more.
    ///
    /// # Errors
    /// It cannot be.
    pub fn reject(
        &mut self,
        connection: Connection,
        places: [Place; 2],
        rule: u32,
        until: Duration,
        now: Duration,
    ) -> Result<(), TakeError> {
        self.leave(connection.id, Cause::Asked, now);
        let taken = self.table.reject(connection, places, rule, until, now)?;
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

    /// Writes an entry. What that of a daemon before had counted when it was found, and what it has
    /// now: the programs have gone on with it.
    fn place(&mut self, key: &Key, entry: &Entry) -> Result<(Counters, Counters), MapError> {
        let (mut found, mut counted) = (Counters::default(), Counters::default());
        if let Some(slot) = self.strangers.remove(key) {
            found = slot.counted;
            // Taken out, so that nothing is counted between the reading and the writing.
            counted = self.maps.remove(key)?.map_or(found, |reading| reading.counters);
        }
        self.maps.put(key, entry, counted)?;
        Ok((found, counted))
    }

    /// Takes back what was written of a connection.
    fn withdraw(&mut self, id: u64) {
        for key in self.table.leave(id).iter().flat_map(|left| &left.keys) {
            // The kernel has just refused something: that is told.
            let _ = self.maps.remove(key);
        }
    }

    /// Lets a connection go, if it is here.
    pub fn release(&mut self, id: u64, now: Duration) {
        self.leave(id, Cause::Asked, now);
    }

    /// Lets all connections go, as if the way of each were another one.
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
                // That it is closing is no news any more.
                let last = Reading { closing: false, ..last };
                self.report.grown.extend(self.table.read(key, last, now));
            }
        }
        self.report.extensions.extend(self.table.last_extension(id, now, &self.timeouts));
        self.table.leave(id);
        self.report.left.push((id, cause));
    }

    /// Lets those connections go whose way is another one after `changes`. `place` tells where an
    /// address is now.
    pub fn changed(
        &mut self,
        changes: &[Change],
        place: impl Fn(IpAddr) -> Option<Place>,
        now: Duration,
    ) {
        for address in self.table.touched(changes) {
            for id in self.table.moved(address, place(address)) {
                self.leave(id, Cause::Moved, now);
            }
        }
    }

    /// Once a second: tells the programs that somebody is there, reads the counters (of very many
    /// connections less often), and lets go who is closing or has been dropped for long enough.
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

    /// All connections have been offered: what nobody wanted of the daemon before goes. How many
    /// entries these were.
    pub fn sweep(&mut self) -> usize {
        let strangers = std::mem::take(&mut self.strangers);
        let gone = strangers.keys().filter(|key| matches!(self.maps.remove(key), Ok(Some(_))));
        gone.count()
    }

    /// How packets left the programs, all CPUs together.
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
