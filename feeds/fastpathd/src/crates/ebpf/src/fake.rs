// SPDX-License-Identifier: GPL-2.0-or-later
//! In-memory maps for tests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crate::connection::{EntryReading, Stage};
use crate::engine::{Element, MapError, Maps};
use crate::entry::{Entry, Key};
use crate::exits::PortExits;

#[derive(Debug, Default)]
pub struct Contents {
    /// Entries that the programs find.
    pub flows: HashMap<Key, (Entry, EntryReading)>,
    /// Hidden entries by key and address.
    pub hidden: HashMap<(Key, u64), EntryReading>,
    /// Number of calls of `hide`, and address of the entries in `flows`.
    pub epoch: u64,
    /// Number of elements that were read, written or removed.
    pub operations: usize,
    /// `hide` fails.
    pub keeps: bool,
    pub beats: usize,
    /// Destination port for which `put` fails.
    pub refused: Option<u16>,
    pub exits: PortExits,
    /// Capacity in entries; 0 for no limit.
    pub room: usize,
    /// Keys that the current pass of `read` has yet to read.
    pub(crate) unread: Option<Vec<(Key, u64)>>,
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
    fn address(&self, _: &Key) -> u64 {
        self.0.borrow().epoch
    }

    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError> {
        self.with(|inside| {
            inside.operations += 1;
            if inside.refused == Some(key.dport) {
                return Err(MapError::Put(io::ErrorKind::PermissionDenied.into()));
            }
            let full = inside.room != 0 && inside.flows.len() + inside.hidden.len() >= inside.room;
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

    fn remove(&mut self, key: &Key, address: u64) -> Result<Option<EntryReading>, MapError> {
        Ok(self.with(|inside| {
            inside.operations += 1;
            if address == inside.epoch {
                inside.flows.remove(key).map(|(_, reading)| reading)
            } else {
                inside.hidden.remove(&(*key, address))
            }
        }))
    }

    fn read(&mut self, most: usize, each: &mut dyn FnMut(&Element)) -> Result<bool, MapError> {
        let read = self.with(|inside| {
            let mut unread = inside.unread.take().unwrap_or_else(|| {
                let current = inside.flows.keys().map(|key| (*key, inside.epoch));
                current.chain(inside.hidden.keys().copied()).collect()
            });
            let read = unread.split_off(unread.len().saturating_sub(most));
            inside.operations += read.len();
            inside.unread = (!unread.is_empty()).then_some(unread);
            read
        });
        for (key, written) in read {
            let found = self.with(|inside| {
                let hidden = inside.hidden.get(&(key, written)).copied();
                let address = if hidden.is_some() { written } else { inside.epoch };
                let current = || inside.flows.get(&key).map(|(_, reading)| *reading);
                let is_hidden = hidden.is_some();
                let reading = hidden.or_else(current)?;
                Some(Element { key, address, is_hidden, reading })
            });
            if let Some(element) = found {
                each(&element);
            }
        }
        Ok(self.with(|inside| inside.unread.is_none()))
    }

    fn hide(&mut self) -> Result<(), MapError> {
        self.with(|inside| {
            if inside.keeps {
                return Err(MapError::Heartbeat(io::ErrorKind::PermissionDenied.into()));
            }
            for (key, (_, reading)) in inside.flows.drain() {
                inside.hidden.insert((key, inside.epoch), reading);
            }
            inside.epoch += 1;
            Ok(())
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
