// SPDX-License-Identifier: GPL-2.0-or-later
//! [`Maps`] of the kernel, opened from their pins.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use aya::Pod;
use ctnetlink::Counters;

use crate::connection::{EntryReading, Position, Stage};
use crate::elements;
use crate::engine::{Element, MapError, Maps, TIMEOUT};
use crate::entry::{Entry, Key};
use crate::exits::PortExits;
use crate::folder::Folder;
use crate::layout::{
    self, Control, ENDED_CLOSING, EXIT_PORTS, Entry4, Entry6, Exits, Key4, Key6, LAYOUT,
};
use crate::programs::{BeatError, Dsa, ProgramRole, heartbeat, jiffies_a_second, start};
use crate::sys;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("opening {0}")]
    Open(PathBuf, #[source] io::Error),
    #[error("{0} is of another version than the daemon")]
    Layout(PathBuf),
    #[error("reading {CPUS}")]
    Cpus(#[source] io::Error),
}

const CPUS: &str = "/sys/devices/system/cpu/possible";

#[derive(Debug)]
pub struct Pinned {
    flows4: OwnedFd,
    flows6: OwnedFd,
    exits: OwnedFd,
    beat: OwnedFd,
    capacity: usize,
    id: u32,
    cpus: usize,
    jiffies_a_second: u32,
    /// Map and bucket at which the next reading begins.
    read_from: (usize, Option<u32>),
    /// Secret of the entries that the programs find; 0 until it is read.
    secret: u64,
}

impl Pinned {
    /// Opens the maps and the heartbeat program for this switch.
    ///
    /// # Errors
    /// Fails if a map or the heartbeat program is missing or has another layout.
    pub fn open(folder: &Folder, dsa: Dsa) -> Result<Self, OpenError> {
        let (flows4, of4) = open(folder, "flows4", [size_of::<u64>(), size_of::<Entry4>()])?;
        let (flows6, _) = open(folder, "flows6", [size_of::<u64>(), size_of::<Entry6>()])?;
        let (exits, _) = open(folder, "exits", [size_of::<u32>(), size_of::<Exits>()])?;
        let (control, _) = open(folder, "control", [size_of::<u32>(), size_of::<Control>()])?;
        let program = folder.program(dsa, ProgramRole::Beat);
        let beat = match folder.open(dsa, ProgramRole::Beat) {
            Ok(beat) => beat,
            Err(error) => return Err(OpenError::Open(program, error)),
        };
        let capacity = usize::try_from(of4.max_entries).unwrap_or(usize::MAX);
        let cpus = std::fs::read_to_string(CPUS).map_err(OpenError::Cpus)?;
        let cpus = possible(&cpus);
        let jiffies_a_second = jiffies_a_second();
        let mut opened = Self {
            flows4,
            flows6,
            exits,
            beat,
            capacity,
            id: of4.id,
            cpus,
            jiffies_a_second,
            read_from: (0, None),
            secret: 0,
        };
        // Programs of another package version may have maps of the same sizes.
        match opened.beat_for(TIMEOUT) {
            Ok(LAYOUT) => {}
            Ok(_) => return Err(OpenError::Layout(program)),
            Err(BeatError(error)) => return Err(OpenError::Open(program, error)),
        }
        let found = elements::get::<_, Control>(control.as_fd(), &0_u32);
        let found = found.map_err(|error| OpenError::Open(folder.map("control"), error))?;
        opened.secret = found.unwrap_or_default().secret;
        Ok(opened)
    }

    fn beat_for(&self, timeout: Duration) -> Result<u64, BeatError> {
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        let jiffies = self.jiffies_a_second.saturating_mul(seconds);
        heartbeat(self.beat.as_fd(), jiffies, self.secret)
    }

    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }
}

/// Opens a map and checks the sizes of its keys and values.
#[inline(never)]
fn open(
    folder: &Folder,
    name: &str,
    sizes: [usize; 2],
) -> Result<(OwnedFd, elements::Info), OpenError> {
    let path = folder.map(name);
    let found = sys::open(&path).and_then(|map| Ok((elements::info(map.as_fd())?, map)));
    match found {
        Err(error) => Err(OpenError::Open(path, error)),
        Ok((info, _)) if [info.key_size, info.value_size].map(|size| size as usize) != sizes => {
            Err(OpenError::Layout(path))
        }
        Ok((info, map)) => Ok((map, info)),
    }
}

/// Returns the number of possible CPUs from a list such as `0-3`: the last number plus one.
fn possible(text: &str) -> usize {
    let last = text.trim().rsplit([',', '-']).next();
    last.and_then(|last| last.parse::<usize>().ok()).map_or(1, |last| last + 1)
}

fn written(error: io::Error) -> MapError {
    match error.raw_os_error() {
        Some(libc::E2BIG) => MapError::Full,
        _ => MapError::Put(error),
    }
}

fn reading(entry: &layout::Entry) -> EntryReading {
    EntryReading {
        counters: Counters { packets: entry.packets, bytes: entry.bytes },
        stage: match (entry.waiting, entry.ended) {
            (_, ended) if ended & ENDED_CLOSING != 0 => Stage::Closing,
            (0, 0) => Stage::Forwarding,
            (_, 0) => Stage::Waiting,
            _ => Stage::Restarted,
        },
        position: Position { used: entry.used, seq_high: entry.seq_high, ack: entry.ack },
    }
}

fn resume(entry: &mut layout::Entry, from: EntryReading) {
    let EntryReading { counters, stage: _, position } = from;
    (entry.packets, entry.bytes) = (counters.packets, counters.bytes);
    entry.used = position.used;
    (entry.seq_high, entry.ack) = (position.seq_high, position.ack);
}

/// Removes a flow's element. Keeps that of another flow with the same hash.
fn remove<V: Pod + Default>(
    map: BorrowedFd<'_>,
    hash: u64,
    is_same: impl Fn(&V) -> bool,
) -> io::Result<Option<V>> {
    match elements::remove::<_, V>(map, &hash)? {
        Some(other) if !is_same(&other) => elements::put(map, &hash, &other).map(|()| None),
        found => Ok(found),
    }
}

impl Maps for Pinned {
    fn address(&self, key: &Key) -> u64 {
        let hash4 = Key4::of(key).map(|key| key.hash(self.secret));
        hash4.or_else(|| Some(Key6::of(key)?.hash(self.secret))).unwrap_or_default()
    }

    fn put(&mut self, key: &Key, entry: &Entry, from: EntryReading) -> Result<(), MapError> {
        let address = self.address(key);
        if let Some(key) = Key4::of(key)
            && let Some(mut value) = Entry4::of(key, entry)
        {
            resume(&mut value.e, from);
            return elements::put(self.flows4.as_fd(), &address, &value).map_err(written);
        }
        if let Some(key) = Key6::of(key)
            && let Some(mut value) = Entry6::of(key, entry)
        {
            resume(&mut value.e, from);
            return elements::put(self.flows6.as_fd(), &address, &value).map_err(written);
        }
        Err(MapError::Put(io::ErrorKind::InvalidInput.into()))
    }

    fn start(&mut self, keys: &[Key; 2]) -> Result<bool, MapError> {
        let run = |keys: &[u8]| start(self.beat.as_fd(), keys);
        let started = match (keys.each_ref().map(Key4::of), keys.each_ref().map(Key6::of)) {
            ([Some(one), Some(other)], _) => run(elements::bytes(&[one, other])),
            (_, [Some(one), Some(other)]) => run(elements::bytes(&[one, other])),
            _ => Ok(false),
        };
        started.map_err(|BeatError(error)| MapError::Put(error))
    }

    fn get(&mut self, key: &Key) -> Result<Option<EntryReading>, MapError> {
        let found = if let Some(key) = Key4::of(key) {
            let found = elements::get::<_, Entry4>(self.flows4.as_fd(), &key.hash(self.secret));
            found.map(|found| found.filter(|value| value.key == key).map(|value| reading(&value.e)))
        } else if let Some(key) = Key6::of(key) {
            let found = elements::get::<_, Entry6>(self.flows6.as_fd(), &key.hash(self.secret));
            found.map(|found| found.filter(|value| value.key == key).map(|value| reading(&value.e)))
        } else {
            Ok(None)
        };
        found.map_err(MapError::Read)
    }

    fn remove(&mut self, key: &Key, address: u64) -> Result<Option<EntryReading>, MapError> {
        let found = if let Some(key) = Key4::of(key) {
            let is_same = |value: &Entry4| value.key == key;
            let found = remove(self.flows4.as_fd(), address, is_same);
            found.map(|found| found.map(|value| reading(&value.e)))
        } else if let Some(key) = Key6::of(key) {
            let is_same = |value: &Entry6| value.key == key;
            let found = remove(self.flows6.as_fd(), address, is_same);
            found.map(|found| found.map(|value| reading(&value.e)))
        } else {
            Ok(None)
        };
        found.map_err(MapError::Remove)
    }

    fn read(&mut self, mut most: usize, each: &mut dyn FnMut(&Element)) -> Result<bool, MapError> {
        let secret = self.secret;
        let mut entry = |address: &[u8], value: &[u8]| {
            let Some(address) = elements::value::<u64>(address) else { return };
            let found = if value.len() == size_of::<Entry4>() {
                let value = elements::value::<Entry4>(value);
                value.map(|value| (value.key.key(), value.e, value.key.hash(secret)))
            } else {
                let value = elements::value::<Entry6>(value);
                value.map(|value| (value.key.key(), value.e, value.key.hash(secret)))
            };
            if let Some((key, entry, current)) = found {
                let is_hidden = address != current;
                each(&Element { key, address, is_hidden, reading: reading(&entry) });
            }
        };
        let maps = [
            (self.flows4.as_fd(), [size_of::<u64>(), size_of::<Entry4>()]),
            (self.flows6.as_fd(), [size_of::<u64>(), size_of::<Entry6>()]),
        ];
        let (first, mut bucket) = std::mem::take(&mut self.read_from);
        for (number, (map, sizes)) in maps.into_iter().enumerate().skip(first) {
            let next = elements::read_some(map, sizes, bucket.take(), &mut most, &mut entry);
            if let Some(next) = next.map_err(MapError::Read)? {
                self.read_from = (number, Some(next));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn hide(&mut self) -> Result<(), MapError> {
        // A hash of nothing by the kernel's random numbers; flow_hash() needs an odd number.
        let secret = RandomState::new().build_hasher().finish() | 1;
        let before = std::mem::replace(&mut self.secret, secret);
        let hidden = self.beat_for(TIMEOUT);
        if hidden.is_err() {
            self.secret = before;
        }
        hidden.map(drop).map_err(|BeatError(error)| MapError::Heartbeat(error))
    }

    fn heartbeat(&mut self, timeout: Duration) -> Result<(), MapError> {
        self.beat_for(timeout).map(drop).map_err(|BeatError(error)| MapError::Heartbeat(error))
    }

    fn exits(&mut self) -> Result<PortExits, MapError> {
        let mut exits = PortExits::default();
        for port in 0..EXIT_PORTS {
            let each = elements::each_cpu::<Exits>(self.exits.as_fd(), port, self.cpus);
            each.map_err(MapError::Exits)?.iter().for_each(|one| exits.add(port, one));
        }
        Ok(exits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_number_of_possible_cpus() {
        for (list, count) in [("0\n", 1), ("0-3\n", 4), ("0,2-7\n", 8), ("0-1,5\n", 6), ("", 1)] {
            assert_eq!(possible(list), count, "{list}");
        }
    }
}
