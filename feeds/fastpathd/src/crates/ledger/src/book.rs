// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums by time and key, and events. Books are additive: merging two of them loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::code::{Reader, number};

pub const QUARTER_S: u32 = 900;
/// Maximum devices of a day without quarter hours; the sums of further ones are `Others`.
const MAX_DAY_DEVICES: usize = 128;
/// Maximum days without quarter hours in a book.
const MAX_DAYS: usize = 13;
/// Maximum events in a book; the oldest are dropped.
const MAX_EVENTS: usize = 256;
/// Maximum bytes of [`Entry::about`].
pub const MAX_ABOUT: usize = 64;

/// Flag of an event's kind: an id follows.
const HAS_ID: u8 = 0x80;

/// Returns the first quarter hour of the local day of a quarter hour.
pub type DayOf<'a> = &'a dyn Fn(u32) -> u32;

/// Period by its first quarter hour of UTC, counted from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stamp {
    /// Local day by the time zone when its quarter hours were summed.
    Day(u32),
    Quarter(u32),
}

impl Stamp {
    #[must_use]
    pub fn day(self, day_of: DayOf<'_>) -> Self {
        match self {
            Self::Day(_) => self,
            Self::Quarter(quarter) => Self::Day(day_of(quarter)),
        }
    }

    #[must_use]
    pub fn start_ms(self) -> u64 {
        let (Self::Day(quarter) | Self::Quarter(quarter)) = self;
        u64::from(quarter) * u64::from(QUARTER_S) * 1000
    }

    /// Returns the quarter hour of a Unix time in milliseconds.
    #[must_use]
    pub fn quarter_of(unix_ms: u64) -> Self {
        let quarter = unix_ms / 1000 / u64::from(QUARTER_S);
        Self::Quarter(u32::try_from(quarter).unwrap_or(u32::MAX))
    }
}

/// Name of an interface, truncated to 15 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name([u8; 15]);

impl Name {
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut name = [0; 15];
        for (to, from) in name.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        Self(name)
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).trim_end_matches('\0').to_owned()
    }
}

/// Subject of [`Sums`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Seconds during which the daemon recorded.
    Recorded,
    /// Bytes sent, received, and the offloaded part of both.
    Device([u8; 6]),
    /// The same for hosts without a MAC and for devices above a limit.
    Others,
    /// Bytes of both directions by path.
    Path(u8),
    /// Bytes sent and received by a WAN interface.
    Wan(Name),
    /// Alerts about packets that passed, and about dropped packets.
    Alerts,
    /// Probes of a WAN: sent ones, microseconds of all round trips, lost ones.
    Probes(Name),
    /// Shortest and longest round trip of a WAN in microseconds; 0 without any.
    Extremes(Name),
}

impl Key {
    /// Adds sums of this key.
    pub fn add(self, to: &mut Sums, more: Sums) {
        if let Self::Extremes(_) = self {
            if to[0] == 0 || (more[0] > 0 && more[0] < to[0]) {
                to[0] = more[0];
            }
            to[1] = to[1].max(more[1]);
            return;
        }
        for (sum, more) in to.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }
}

pub type Sums = [u64; 3];

/// Kinds of events. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    Start = 1,
    Stop = 2,
    WanUp = 3,
    WanDown = 4,
    Engine = 5,
    Inspection = 6,
    Configuration = 7,
    NewDevice = 8,
    Quota = 9,
    Rules = 10,
    Update = 11,
    Alert = 12,
    Wifi = 13,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Start,
        Self::Stop,
        Self::WanUp,
        Self::WanDown,
        Self::Engine,
        Self::Inspection,
        Self::Configuration,
        Self::NewDevice,
        Self::Quota,
        Self::Rules,
        Self::Update,
        Self::Alert,
        Self::Wifi,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::WanUp => "wan-up",
            Self::WanDown => "wan-down",
            Self::Engine => "engine",
            Self::Inspection => "inspection",
            Self::Configuration => "configuration",
            Self::NewDevice => "new-device",
            Self::Quota => "quota",
            Self::Rules => "rules",
            Self::Update => "update",
            Self::Alert => "alert",
            Self::Wifi => "wifi",
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub unix_ms: u64,
    /// Increases with each event, also if the clock is set back. 0 for events of versions without
    /// ids.
    pub id: u64,
    pub kind: Kind,
    /// Its object, such as the name of the WAN; at most [`MAX_ABOUT`] bytes are stored.
    pub about: String,
}

/// Quarter hours, beginnings of days, and events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    pub quarters: Range<u32>,
    pub days: Range<u32>,
    /// Smallest time and id of events that are wanted, or the largest ones that a page has. `None`
    /// without events.
    pub events: Option<[u64; 2]>,
}

impl Span {
    pub const ALL: Self = Self { quarters: 0..u32::MAX, days: 0..u32::MAX, events: Some([0, 0]) };

    fn add(&mut self, stamp: Stamp) {
        let (range, at) = match stamp {
            Stamp::Day(at) => (&mut self.days, at),
            Stamp::Quarter(at) => (&mut self.quarters, at),
        };
        let start = if range.start == range.end { at } else { range.start.min(at) };
        *range = start..range.end.max(at.saturating_add(1));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (range, stamp) in
            [(&other.days, Stamp::Day as fn(u32) -> Stamp), (&other.quarters, Stamp::Quarter)]
        {
            if range.start < range.end {
                self.add(stamp(range.start));
                self.add(stamp(range.end - 1));
            }
        }
        if let Some(newest) = other.events {
            self.add_event(newest);
        }
    }

    fn add_event(&mut self, [unix_ms, id]: [u64; 2]) {
        let [last_ms, last_id] = self.events.unwrap_or_default();
        self.events = Some([last_ms.max(unix_ms), last_id.max(id)]);
    }

    pub(crate) fn has_quarters(&self) -> bool {
        self.quarters.start < self.quarters.end
    }

    /// Returns whether a page with these periods and events has some that are wanted.
    pub(crate) fn has(&self, wanted: &Self) -> bool {
        let overlap = |one: &Range<u32>, other: &Range<u32>| {
            one.start.max(other.start) < one.end.min(other.end)
        };
        let is_newer = |[newest, wanted]: [[u64; 2]; 2]| (0..2).all(|at| newest[at] >= wanted[at]);
        overlap(&self.quarters, &wanted.quarters)
            || overlap(&self.days, &wanted.days)
            || self.events.zip(wanted.events).is_some_and(|both| is_newer(both.into()))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Book {
    pub cells: BTreeMap<(Stamp, Key), Sums>,
    /// In any order.
    pub events: Vec<Entry>,
}

impl Book {
    pub fn add(&mut self, stamp: Stamp, key: Key, sums: Sums) {
        key.add(self.cells.entry((stamp, key)).or_default(), sums);
    }

    pub fn merge(&mut self, other: Self) {
        for ((stamp, key), sums) in other.cells {
            self.add(stamp, key, sums);
        }
        self.events.extend(other.events);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.events.is_empty()
    }

    pub(crate) fn span(&self) -> Span {
        let mut span = Span::default();
        for (stamp, _) in self.cells.keys() {
            span.add(*stamp);
        }
        for event in &self.events {
            span.add_event([event.unix_ms, event.id]);
        }
        span
    }

    /// Moves what belongs to `day` into a book of its own.
    pub(crate) fn take_day(&mut self, day: u32, day_of: DayOf<'_>) -> Self {
        let is_taken = |stamp: Stamp| stamp.day(day_of) == Stamp::Day(day);
        let cells = std::mem::take(&mut self.cells);
        let (taken, left) = cells.into_iter().partition(|((stamp, _), _)| is_taken(*stamp));
        self.cells = left;
        let (events, left) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|event| is_taken(Stamp::quarter_of(event.unix_ms)));
        self.events = left;
        Self { cells: taken, events }
    }

    /// Sums quarter hours to days, and applies the limits of days.
    pub(crate) fn reduce(&mut self, day_of: DayOf<'_>) {
        for ((stamp, key), sums) in std::mem::take(&mut self.cells) {
            self.add(stamp.day(day_of), key, sums);
        }
        let mut days: BTreeMap<Stamp, Vec<(u64, Key)>> = BTreeMap::new();
        for ((stamp, key), [sent, received, _]) in &self.cells {
            let devices = days.entry(*stamp).or_default();
            if matches!(key, Key::Device(_)) {
                devices.push((sent.saturating_add(*received), *key));
            }
        }
        for (day, mut devices) in days {
            config::sort::by(&mut devices, |one, other| other.cmp(one));
            for (_, key) in devices.into_iter().skip(MAX_DAY_DEVICES) {
                let sums = self.cells.remove(&(day, key)).unwrap_or_default();
                self.add(day, Key::Others, sums);
            }
        }
    }

    /// Drops the oldest days and events above the limits. The limits are numbers and not times, so
    /// that a wrong clock drops no more than a correct one.
    pub(crate) fn limit(&mut self) {
        let is_day = |stamp: &Stamp| matches!(stamp, Stamp::Day(_));
        let mut days = BTreeSet::new();
        // `collect` would sort first, which is 4 kB of program.
        days.extend(self.cells.keys().map(|(stamp, _)| *stamp).filter(is_day));
        if let Some(first) = days.iter().nth_back(MAX_DAYS) {
            let first = *first;
            self.cells.retain(|(stamp, _), _| *stamp > first);
        }
        config::sort::values(&mut self.events);
        let surplus = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..surplus);
    }

    /// Format: keys; cells by stamp, in runs of successive keys; events.
    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let mut keys = BTreeSet::new();
        keys.extend(self.cells.keys().map(|(_, key)| *key));
        let keys: Vec<Key> = keys.into_iter().collect();
        count(to, keys.len());
        for key in &keys {
            key.encode(to);
        }
        let mut stamps: Vec<(Stamp, Vec<(usize, &Sums)>)> = Vec::new();
        for ((stamp, key), sums) in &self.cells {
            let Ok(index) = keys.binary_search(key) else { continue };
            match stamps.last_mut() {
                Some((last, cells)) if last == stamp => cells.push((index, sums)),
                _ => stamps.push((*stamp, vec![(index, sums)])),
            }
        }
        count(to, stamps.len());
        for (stamp, cells) in stamps {
            let (Stamp::Day(number_of) | Stamp::Quarter(number_of)) = stamp;
            number(to, u64::from(number_of) << 1 | u64::from(matches!(stamp, Stamp::Day(_))));
            // Runs of successive keys: the number of keys between them, and their length.
            let runs: Vec<&[(usize, &Sums)]> =
                cells.chunk_by(|one, other| one.0 + 1 == other.0).collect();
            count(to, runs.len());
            let mut next = 0;
            for run in runs {
                count(to, run[0].0 - next);
                count(to, run.len());
                next = run[0].0 + run.len();
                for (_, [sent, received, offloaded]) in run {
                    number(to, *sent);
                    number(to, *received);
                    // Usually smaller than the offloaded part.
                    number(to, sent.wrapping_add(*received).wrapping_sub(*offloaded));
                }
            }
        }
        count(to, self.events.len());
        for Entry { unix_ms, id, kind, about } in &self.events {
            number(to, *unix_ms);
            to.push(*kind as u8 | HAS_ID);
            number(to, *id);
            let mut end = about.len().min(MAX_ABOUT);
            while !about.is_char_boundary(end) {
                end -= 1;
            }
            text(to, &about.as_bytes()[..end]);
        }
    }

    /// Returns `None` if the bytes are not an encoded book. `day_len` is the number of quarter
    /// hours in the unit of days.
    pub(crate) fn decode(from: &mut Reader<'_>, day_len: u32) -> Option<Self> {
        let mut book = Self::default();
        book.events = Self::visit(from, day_len, &mut |stamp, key, sums| {
            book.add(stamp, key, sums);
        })?;
        Some(book)
    }

    /// Visits the cells of an encoded book, and returns its events.
    pub(crate) fn visit(
        from: &mut Reader<'_>,
        day_len: u32,
        visit: &mut dyn FnMut(Stamp, Key, Sums),
    ) -> Option<Vec<Entry>> {
        let mut events = Vec::new();
        let mut keys = Vec::new();
        for _ in 0..from.number()? {
            keys.push(Key::decode(from)?);
        }
        for _ in 0..from.number()? {
            let stamp = from.number()?;
            let number_of = u32::try_from(stamp >> 1).ok()?;
            let stamp = if stamp & 1 == 1 {
                Stamp::Day(number_of.checked_mul(day_len)?)
            } else {
                Stamp::Quarter(number_of)
            };
            let mut next = 0_usize;
            for _ in 0..from.number()? {
                next = next.checked_add(usize::try_from(from.number()?).ok()?)?;
                for _ in 0..from.number()? {
                    let [sent, received, rest] = [from.number()?, from.number()?, from.number()?];
                    let offloaded = sent.wrapping_add(received).wrapping_sub(rest);
                    visit(stamp, *keys.get(next)?, [sent, received, offloaded]);
                    next += 1;
                }
            }
        }
        for _ in 0..from.number()? {
            let unix_ms = from.number()?;
            let kind = from.byte()?;
            let id = if kind & HAS_ID == 0 { 0 } else { from.number()? };
            let about = String::from_utf8_lossy(from.text()?).into_owned();
            // A later version may have further kinds.
            if let Some(kind) = Kind::ALL.into_iter().find(|known| *known as u8 == kind & !HAS_ID) {
                events.push(Entry { unix_ms, id, kind, about });
            }
        }
        Some(events)
    }
}

impl Key {
    fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Recorded => to.push(0),
            Self::Others => to.push(1),
            Self::Alerts => to.push(2),
            Self::Device(mac) => {
                to.push(3);
                to.extend(mac);
            }
            Self::Path(path) => to.extend([4, *path]),
            Self::Wan(name) => named(to, 5, name),
            Self::Probes(name) => named(to, 6, name),
            Self::Extremes(name) => named(to, 7, name),
        }
    }

    fn decode(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Recorded,
            1 => Self::Others,
            2 => Self::Alerts,
            3 => Self::Device(from.take(6)?.try_into().ok()?),
            4 => Self::Path(from.byte()?),
            kind @ 5..=7 => {
                let name = Name::new(str::from_utf8(from.text()?).ok()?);
                [Self::Wan, Self::Probes, Self::Extremes][usize::from(kind - 5)](name)
            }
            _ => return None,
        })
    }
}

fn count(to: &mut Vec<u8>, count: usize) {
    number(to, count as u64);
}

fn named(to: &mut Vec<u8>, kind: u8, name: &Name) {
    to.push(kind);
    text(to, name.text().as_bytes());
}

fn text(to: &mut Vec<u8>, bytes: &[u8]) {
    count(to, bytes.len());
    to.extend(bytes);
}
