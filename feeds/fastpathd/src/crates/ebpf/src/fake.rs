// SPDX-License-Identifier: GPL-2.0-or-later
//! In-memory maps for tests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crate::connection::{EntryReading, Stage};
use crate::engine::{MapError, Maps};
use crate::entry::{Entry, Key};
use crate::exits::PortExits;

#[derive(Debug, Default)]
pub struct Contents {
    pub flows: HashMap<Key, (Entry, EntryReading)>,
    pub beats: usize,
    /// Destination port for which `put` fails.
    pub refused: Option<u16>,
    pub exits: PortExits,
    /// Capacity in entries; 0 for no limit.
    pub room: usize,
    /// Keys that the current pass of `read` has yet to read.
    unread: Option<Vec<Key>>,
}

/// In-memory maps. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct Fake(Rc<RefCell<Contents>>);

impl Fake {
    pub fn with<T>(&self, access: impl FnOnce(&mut Contents) -> T) -> T {
        access(&mut self.0.borrow_mut())
    }

    /// Counts packets of 100 bytes in matching entries, and returns the number of these entries.
    pub fn pass(&self, packets: u64, which: impl Fn(&Key) -> bool) -> usize {
        self.with(|inside| {
            let found = inside.flows.iter_mut().filter(|(key, _)| which(key));
            found
                .map(|(_, (_, reading))| {
                    reading.counters.packets += packets;
                    reading.counters.bytes += packets * 100;
                })
                .count()
        })
    }
}

impl Maps for Fake {
    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError> {
        self.with(|inside| {
            if inside.refused == Some(key.dport) {
                return Err(MapError::Put(io::ErrorKind::PermissionDenied.into()));
            }
            let full = inside.room != 0 && inside.flows.len() >= inside.room;
            if full && !inside.flows.contains_key(key) {
                return Err(MapError::Full);
            }
            let reading = EntryReading { stage: Stage::Waiting, ..from };
            inside.flows.insert(*key, (entry.clone(), reading));
            Ok(())
        })
    }

    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError> {
        Ok(self.with(|inside| {
            let ready = |key| inside.flows.get(key).is_some_and(|(_, r)| !r.stage.is_over());
            let starts = keys.iter().all(ready);
            for key in keys.iter().filter(|_| starts) {
                if let Some((_, reading)) = inside.flows.get_mut(key) {
                    reading.stage = Stage::Forwarding;
                }
            }
            starts
        }))
    }

    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError> {
        Ok(self.with(|inside| inside.flows.get(key).map(|(_, reading)| *reading)))
    }

    fn remove(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError> {
        Ok(self.with(|inside| inside.flows.remove(key).map(|(_, reading)| reading)))
    }

    fn read(
        &mut self,
        most: usize,
        each: &mut dyn FnMut(&Key, EntryReading),
    ) -> Result<bool, MapError> {
        self.with(|inside| {
            let all = || inside.flows.keys().copied().collect();
            let mut unread: Vec<Key> = inside.unread.take().unwrap_or_else(all);
            for key in unread.split_off(unread.len().saturating_sub(most)) {
                if let Some((_, reading)) = inside.flows.get(&key) {
                    each(&key, *reading);
                }
            }
            let complete = unread.is_empty();
            inside.unread = (!complete).then_some(unread);
            Ok(complete)
        })
    }

    fn heartbeat(&mut self, _: Duration) -> Result<(), MapError> {
        self.with(|inside| inside.beats += 1);
        Ok(())
    }

    fn exits(&mut self) -> Result<PortExits, MapError> {
        Ok(self.with(|inside| inside.exits.clone()))
    }
}
