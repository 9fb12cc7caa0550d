// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses `usage` and `journal`, and builds their answers from what was recorded.

use std::collections::BTreeMap;

use config::zone::Zone;
use flows::{Now, QueryError, Request};
use ledger::{Book, Entry, Key, Name, Span, Stamp, Sums};
use serde::Serialize;
use serde_json::Value;
use topology::Mac;
use ubus::{Blobmsg, EncodeError};

use super::{CLOCK_SET_MS, State, book, day_of};

/// Maximum rows of a series, so that an answer of all fits into a message of ubus.
pub(super) const MAX_ROWS: usize = 1000;
const MAX_DEVICES: usize = 512;
const MAX_WANS: usize = 4;
const MAX_EVENTS: usize = 500;
/// Quarter hours of a local day of 25 hours.
const MAX_DAY: u32 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Usage { mac: Option<Mac>, days: bool, from_ms: u64, to_ms: u64 },
    Journal { since: u64, after: Option<u64>, limit: usize },
}

/// A request that needs the files, with what is not yet in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    wanted: Wanted,
    /// Number of finished writes, and the book of the running one. Files with more writes have it.
    writing: (u64, Book),
    /// The answer needs no files.
    in_memory: bool,
    /// Id of the last event; 0 before the files were read.
    last_id: u64,
    /// Names of devices by MAC, for events.
    names: BTreeMap<String, String>,
    unsaved: Book,
    zone: Zone,
    /// The last period with its beginning, because cells are sorted by periods.
    last: (Stamp, u64),
    tally: Tally,
    storage: Storage,
}

/// State of the files.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Storage {
    /// `on`, `off`, `clock`, `room` or `failed`.
    state: &'static str,
    why: String,
    saved_ms: u64,
    size: u64,
}

#[derive(Debug, Serialize)]
struct Usage {
    step: &'static str,
    cols: &'static [&'static str],
    rows: Vec<Vec<u64>>,
    more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<DeviceSums>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wans: Option<Vec<WanSeries>>,
    storage: Storage,
}

#[derive(Debug, Serialize)]
struct DeviceSums {
    /// Empty: others.
    mac: String,
    up_bytes: u64,
    down_bytes: u64,
    offloaded_bytes: u64,
}

#[derive(Debug, Serialize)]
struct WanSeries {
    name: String,
    cols: [&'static str; WAN_COLS],
    rows: Vec<[u64; WAN_COLS]>,
}

#[derive(Debug, Serialize)]
struct Journal {
    events: Vec<EventView>,
    last_id: u64,
    storage: Storage,
}

#[derive(Debug, Serialize)]
struct EventView {
    id: u64,
    at_ms: u64,
    kind: &'static str,
    about: String,
    /// Name of the device that the event is about; empty if there is none.
    name: String,
}

/// Columns of a device's rows are the first five.
const COLS: [&str; 12] = [
    "at_ms",
    "recorded_s",
    "up_bytes",
    "down_bytes",
    "offloaded_bytes",
    "slow_bytes",
    "inspect_bytes",
    "flowtable_bytes",
    "hardware_bytes",
    "ebpf_bytes",
    "alerts_allowed",
    "alerts_blocked",
];
const DEVICE_COLS: usize = 5;
const WAN_COLS: usize = 8;

impl State {
    pub(crate) fn usage(&self, request: &Value, now: Now) -> Result<Query, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["mac", "step", "from_ms", "to_ms"])?;
        let mac = object.word("mac", |word| word.parse().ok(), "a MAC address")?;
        let days = |word: &str| ["quarter", "day"].iter().position(|step| *step == word);
        let days = object.word("step", days, "quarter or day")?.unwrap_or(0) == 1;
        let from_ms = object.integer("from_ms", 0, u64::MAX)?.unwrap_or(0);
        let to_ms = object.integer("to_ms", 0, u64::MAX)?.unwrap_or(u64::MAX);
        Ok(self.query(Wanted::Usage { mac, days, from_ms, to_ms }, now))
    }

    pub(crate) fn journal(
        &self,
        request: &Value,
        names: BTreeMap<String, String>,
        now: Now,
    ) -> Result<Query, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["since", "after", "limit"])?;
        let since = object.integer("since", 0, u64::MAX)?.unwrap_or(0);
        let after = object.integer("after", 0, u64::MAX)?;
        let limit = object.integer("limit", 1, MAX_EVENTS)?.unwrap_or(100);
        Ok(Query { names, ..self.query(Wanted::Journal { since, after, limit }, now) })
    }

    fn query(&self, wanted: Wanted, now: Now) -> Query {
        let failure = self.failure.as_ref();
        let state = match failure {
            _ if self.interval.is_none() => "off",
            _ if now.unix_ms < CLOCK_SET_MS => "clock",
            Some(failure) if failure.is_full => "room",
            Some(_) => "failed",
            None => "on",
        };
        let storage = Storage {
            state,
            why: failure.map(|failure| failure.text.clone()).unwrap_or_default(),
            saved_ms: self.saved.map_or(0, |saved| now.unix_ms_at(saved)),
            size: self.size,
        };
        let (writing, unsaved) = self.buckets.split_at(self.writing);
        let writing = (self.writes, book(writing, self.first_id, now));
        let (mut unsaved, tally) = (book(unsaved, self.first_id, now), Tally::default());
        // Their ids are not known yet.
        let after = match wanted {
            Wanted::Journal { after, .. } => after,
            Wanted::Usage { .. } => None,
        };
        if !self.open && after.is_some() {
            unsaved.events.clear();
        }
        let mut numbers = self.buckets.iter().flat_map(|bucket| &bucket.events);
        let first = numbers.next().map_or(self.events + 1, |(_, number, ..)| *number);
        let in_memory = after.is_some_and(|after| after + 1 >= self.first_id + first);
        Query {
            wanted,
            writing,
            in_memory: self.open && in_memory,
            last_id: if self.open { self.first_id + self.events } else { 0 },
            names: BTreeMap::new(),
            unsaved,
            zone: self.zone,
            last: (Stamp::Day(u32::MAX), 0),
            tally,
            storage,
        }
    }
}

impl Query {
    /// Adds a cell to the answer if the request selects it.
    pub fn add(&mut self, stamp: Stamp, key: Key, sums: Sums) {
        let Wanted::Usage { mac, days, from_ms, to_ms } = self.wanted else { return };
        if self.last.0 != stamp {
            let day_of = |quarter| day_of(&self.zone, quarter);
            let period = if days { stamp.day(&day_of) } else { stamp };
            self.last = (stamp, period.start_ms());
        }
        let start = self.last.1;
        let is_step = days || matches!(stamp, Stamp::Quarter(_));
        let is_key =
            mac.is_none_or(|mac| matches!(key, Key::Recorded) || key == Key::Device(mac.0));
        if is_step && is_key && (from_ms..to_ms).contains(&start) {
            self.tally.add(start, key, &sums);
        }
    }

    /// Returns the periods and events for which the answer needs the files.
    #[must_use]
    pub fn span(&self) -> Span {
        let (days, from_ms, to_ms) = match self.wanted {
            Wanted::Usage { days, from_ms, to_ms, .. } => (days, from_ms, to_ms),
            Wanted::Journal { since, after, .. } => {
                let after = after.map_or(0, |after| after.saturating_add(1));
                let events = Some([since.saturating_add(1), after]);
                return Span { events, ..Span::default() };
            }
        };
        let quarter = |ms| match Stamp::quarter_of(ms) {
            Stamp::Quarter(quarter) | Stamp::Day(quarter) => quarter,
        };
        let (from, to) = (quarter(from_ms), quarter(to_ms).saturating_add(1));
        // A day counts by its beginning.
        let (days, day) = if days { (from..to, MAX_DAY) } else { (0..0, 0) };
        Span { quarters: from..to.saturating_add(day), days, events: None }
    }

    /// Returns the number of writes without which the answer has all events, if it needs no files.
    #[must_use]
    pub fn without_files(&self) -> Option<u64> {
        self.in_memory.then_some(self.writing.0)
    }

    /// Encodes the answer. The files have these events after this number of writes.
    pub fn answer(mut self, mut events: Vec<Entry>, writes: u64) -> Result<Blobmsg, EncodeError> {
        let (written, writing) = std::mem::take(&mut self.writing);
        let unsaved = std::mem::take(&mut self.unsaved);
        for book in [unsaved].into_iter().chain((written == writes).then_some(writing)) {
            for ((stamp, key), sums) in book.cells {
                self.add(stamp, key, sums);
            }
            events.extend(book.events);
        }
        match self.wanted {
            Wanted::Usage { mac, days, .. } => {
                Blobmsg::encode(&self.tally.usage(mac.is_none(), days, self.storage))
            }
            Wanted::Journal { since, after, limit } => {
                let last_id = events.iter().map(|event| event.id).fold(self.last_id, u64::max);
                events.retain(|event| {
                    event.unix_ms > since && after.is_none_or(|after| event.id > after)
                });
                let order = |one: &Entry, other: &Entry| match after {
                    Some(_) => one.id.cmp(&other.id),
                    None => other.cmp(one),
                };
                config::sort::by(&mut events, order);
                events.truncate(limit);
                let name = |about: &str| {
                    let named = about.split(' ').find_map(|word| self.names.get(word));
                    named.cloned().unwrap_or_default()
                };
                let view = |event: Entry| EventView {
                    id: event.id,
                    name: name(&event.about),
                    at_ms: event.unix_ms,
                    kind: event.kind.name(),
                    about: event.about,
                };
                let events = events.into_iter().map(view).collect();
                Blobmsg::encode(&Journal { events, last_id, storage: self.storage })
            }
        }
    }
}

/// Sums of the selected cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tally {
    rows: BTreeMap<u64, [u64; COLS.len()]>,
    devices: BTreeMap<Key, Sums>,
    /// Bytes, probes and extremes.
    wans: BTreeMap<Name, BTreeMap<u64, [Sums; 3]>>,
}

impl Tally {
    fn add(&mut self, start: u64, key: Key, sums: &Sums) {
        let row = self.rows.entry(start).or_default();
        row[0] = start;
        match key {
            Key::Recorded => row[1] += sums[0],
            Key::Device(_) | Key::Others => {
                add(&mut row[2..5], sums);
                add(self.devices.entry(key).or_default(), sums);
            }
            Key::Path(path) => {
                if let Some(cell) = row[5..10].get_mut(usize::from(path)) {
                    *cell += sums[0];
                }
            }
            Key::Alerts => add(&mut row[10..12], sums),
            Key::Wan(name) => key.add(&mut self.wan(name, start)[0], *sums),
            Key::Probes(name) => key.add(&mut self.wan(name, start)[1], *sums),
            Key::Extremes(name) => key.add(&mut self.wan(name, start)[2], *sums),
        }
    }

    fn wan(&mut self, name: Name, start: u64) -> &mut [Sums; 3] {
        self.wans.entry(name).or_default().entry(start).or_default()
    }

    fn usage(self, is_all: bool, days: bool, storage: Storage) -> Usage {
        let count = if is_all { COLS.len() } else { DEVICE_COLS };
        let surplus = self.rows.len().saturating_sub(MAX_ROWS);
        let first_ms = self.rows.keys().nth(surplus).copied().unwrap_or(0);
        let mut devices: Vec<(Key, Sums)> = self.devices.into_iter().collect();
        config::sort::by_key(&mut devices, |(_, [up, down, _])| {
            std::cmp::Reverse(up.saturating_add(*down))
        });
        let device = |(key, [up_bytes, down_bytes, offloaded_bytes]): (Key, Sums)| DeviceSums {
            mac: if let Key::Device(mac) = key { Mac(mac).to_string() } else { String::new() },
            up_bytes,
            down_bytes,
            offloaded_bytes,
        };
        let row = |(at, [bytes, [sent, sum, lost], extremes]): (&u64, &[Sums; 3])| {
            let mean = sum.checked_div(sent.saturating_sub(*lost)).unwrap_or(0);
            [*at, bytes[0], bytes[1], *sent, *lost, extremes[0], mean, extremes[1]]
        };
        let wan = |(name, series): (Name, BTreeMap<u64, [Sums; 3]>)| WanSeries {
            name: name.text(),
            cols: [
                "at_ms",
                "up_bytes",
                "down_bytes",
                "probes",
                "lost",
                "min_us",
                "mean_us",
                "max_us",
            ],
            rows: series.range(first_ms..).map(row).collect(),
        };
        Usage {
            step: if days { "day" } else { "quarter" },
            cols: &COLS[..count],
            rows: self.rows.into_values().skip(surplus).map(|row| row[..count].into()).collect(),
            more: surplus > 0,
            devices: is_all.then(|| devices.into_iter().take(MAX_DEVICES).map(device).collect()),
            wans: is_all.then(|| self.wans.into_iter().take(MAX_WANS).map(wan).collect()),
            storage,
        }
    }
}

fn add(to: &mut [u64], sums: &Sums) {
    for (sum, more) in to.iter_mut().zip(sums) {
        *sum = sum.saturating_add(*more);
    }
}
