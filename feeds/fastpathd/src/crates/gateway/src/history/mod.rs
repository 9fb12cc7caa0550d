// SPDX-License-Identifier: GPL-2.0-or-later
//! Records traffic and events, and has them written to flash at intervals (crate `ledger`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use config::zone::Zone;
use flows::{HostBytes, Now};
use ledger::{Book, Entry, Key, Kind, Name, QUARTER_S, Recent, Stamp, Sums};
use topology::Mac;

pub(crate) mod answer;
mod line;
mod roaming;
mod watch;
pub use answer::Query;
pub use line::Probe;
use roaming::Roaming;
pub use roaming::{Point, Station};
pub(crate) use watch::Hit;
use watch::{Alerts, Quotas};

/// An earlier clock is not set: routers without a battery start in the past. 2026-01-01.
const CLOCK_SET_MS: u64 = 1_767_225_600_000;
/// Maximum devices in a bucket; further ones are `Others`.
const MAX_DEVICES: usize = 512;
/// Maximum cells in memory, about 2 MB. Only failed writes accumulate that many.
const MAX_CELLS: usize = 32_768;
/// Maximum events in a bucket, and of those about new devices, about alerts and about Wi-Fi.
const MAX_EVENTS: usize = 64;
const MAX_SIMILAR: usize = 16;
/// Ids of events in one run of the daemon; the next run begins at a multiple.
const RUN: u64 = 1 << 24;
/// Maximum MACs that count as known.
const MAX_KNOWN: usize = 8192;
/// Engine and inspection are `off` until the daemon has found or started them. Their first other
/// state is no event.
const SETTLE_TIME: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub enum Event {
    /// The files were read: MACs of all devices, the size in bytes, and their end.
    Opened(BTreeSet<[u8; 6]>, u64, Recent),
    /// The outcome of a write: the size of the files in bytes.
    Written(Result<u64, Failure>),
    /// Stations of all access points, first.
    Stations(Vec<Station>),
    Station(Station),
    /// A probe was sent; its round trip, or `None` without an answer in time.
    Probed(Probe, Option<Duration>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The disk has too little free space.
    pub is_full: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Write(Box<Write>),
    /// Send a probe for each, and report [`Event::Probed`] unless sending fails.
    Probe(Vec<Probe>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub book: Book,
    /// Current quarter hour, from the epoch.
    pub quarter: u32,
    zone: Zone,
}

impl Write {
    /// Returns the first quarter hour of the local day.
    #[must_use]
    pub fn day_of(&self, quarter: u32) -> u32 {
        day_of(&self.zone, quarter)
    }
}

fn day_of(zone: &Zone, quarter: u32) -> u32 {
    let quarter_s = i64::from(QUARTER_S);
    let start = zone.day_start(i64::from(quarter) * quarter_s);
    u32::try_from(start.div_euclid(quarter_s)).unwrap_or(quarter)
}

/// A WAN with the bytes that its port has sent and received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WanSample {
    pub(crate) name: String,
    pub(crate) up: bool,
    pub(crate) bytes: Option<[u64; 2]>,
    /// `None` if the line is down, dials on demand, or has no known server.
    pub(crate) probe: Option<Probe>,
}

/// Counters and states of the current second. Counters never decrease while the daemon runs.
pub(crate) struct Sample<'a> {
    /// Bytes of the last second.
    pub(crate) devices: &'a [(Option<Mac>, HostBytes)],
    pub(crate) paths: [u64; 5],
    pub(crate) alerts: [u64; 2],
    pub(crate) wans: Vec<WanSample>,
    pub(crate) engine: &'static str,
    /// Empty while inspection starts.
    pub(crate) inspection: &'static str,
    /// Digest of the configuration in use.
    pub(crate) digest: &'a str,
    /// Alerts of the last second.
    pub(crate) hits: &'a [Hit],
    /// Quotas per local day in MB.
    pub(crate) quotas: Vec<(Mac, u32)>,
    /// Returns the local day of a Unix time in ms; `None` until the clock is set.
    pub(crate) day_of: &'a dyn Fn(u64) -> Option<i64>,
    pub(crate) zone: Zone,
}

/// States and counters of the last second.
#[derive(Debug, Default)]
struct Last {
    paths: [u64; 5],
    alerts: [u64; 2],
    wans: BTreeMap<String, WanSample>,
    /// Id of the last alert; `None` before the first second.
    alert: Option<u64>,
    /// Empty until known.
    engine: &'static str,
    inspection: &'static str,
    digest: String,
}

/// Growth of counters since the last second, and changes of states.
#[derive(Debug)]
struct Changes {
    grown: Vec<(Key, Sums)>,
    events: Vec<(Kind, String)>,
}

/// Growth of one quarter hour. The clock may be set later, so its time is monotonic.
#[derive(Debug)]
struct Bucket {
    began: Now,
    /// Quarter hour by the clock at `began`.
    quarter: Stamp,
    cells: BTreeMap<Key, Sums>,
    devices: usize,
    /// With their numbers in this run.
    events: Vec<(Now, u64, Kind, String)>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// `None` if no history is written.
    interval: Option<Duration>,
    /// The files have been read.
    open: bool,
    known: BTreeSet<[u8; 6]>,
    buckets: Vec<Bucket>,
    /// Number of the first buckets that are being written.
    writing: usize,
    /// Number of successful writes.
    writes: u64,
    /// Number of events in this run, and the id before the first of them.
    events: u64,
    first_id: u64,
    quotas: Quotas,
    alerts: Alerts,
    roaming: Roaming,
    last: Last,
    second_at: Now,
    written_at: Duration,
    saved: Option<Now>,
    size: u64,
    failure: Option<Failure>,
    zone: Zone,
    line: line::State,
}

impl State {
    pub(crate) fn new(now: Now) -> Self {
        let mut state = Self {
            interval: ruleset::Settings::default().history,
            open: false,
            known: BTreeSet::new(),
            buckets: Vec::new(),
            writing: 0,
            writes: 0,
            events: 0,
            first_id: 0,
            quotas: Quotas::default(),
            alerts: Alerts::default(),
            roaming: Roaming::default(),
            last: Last::default(),
            second_at: now,
            written_at: now.mono,
            saved: None,
            size: 0,
            failure: None,
            zone: Zone::fixed(0),
            line: line::State::default(),
        };
        state.record(Kind::Start, env!("CARGO_PKG_VERSION"), now);
        state
    }

    pub(crate) fn configure(&mut self, interval: Option<Duration>, probes: bool) {
        self.interval = interval;
        self.line.configure(probes && interval.is_some());
        if interval.is_none() {
            self.buckets.truncate(self.writing);
        }
    }

    pub(crate) fn event(&mut self, event: Event, now: Now) {
        match event {
            Event::Opened(known, size, recent) => {
                (self.open, self.size) = (true, size);
                self.known.extend(known);
                self.opened(recent, now);
            }
            Event::Written(Ok(size)) => {
                self.buckets.drain(..self.writing);
                (self.writing, self.size, self.saved) = (0, size, Some(now));
                self.writes += 1;
                if self.failure.take().is_some() {
                    log::info!("history: written again");
                }
            }
            Event::Written(Err(failure)) => {
                self.writing = 0;
                // The text of a full disk has its free space, which varies.
                let is_same = |last: &Failure| *last == failure || last.is_full && failure.is_full;
                if !self.failure.as_ref().is_some_and(is_same) {
                    log::warn!("history: {}; retrying", failure.text);
                }
                self.failure = Some(failure);
            }
            Event::Stations(all) => self.roaming.read(all, now.mono),
            Event::Station(station) => self.roaming.change(station, now.mono),
            Event::Probed(probe, round_trip) => {
                for (key, sums) in self.line.probed(probe, round_trip) {
                    self.add(key, sums, now);
                }
            }
        }
    }

    /// Continues after the previous run. Ids of its unsaved events are not used again.
    fn opened(&mut self, recent: Recent, now: Now) {
        self.first_id = (recent.last_id / RUN + 1) * RUN;
        let version = env!("CARGO_PKG_VERSION");
        let mut starts = recent.events.iter().filter(|event| event.kind == Kind::Start);
        if starts.next_back().is_some_and(|last| last.about != version) {
            self.note(Kind::Update, version, now);
        }
        self.quotas.opened(recent);
    }

    /// Records an event unless recording is off.
    pub(crate) fn note(&mut self, kind: Kind, about: &str, now: Now) {
        if self.interval.is_some() {
            self.record(kind, about, now);
        }
    }

    /// Takes the id of the last alert. Returns the previous one if there are new alerts.
    pub(crate) fn new_alerts(&mut self, last: u64) -> Option<u64> {
        self.last.alert.replace(last).filter(|before| *before < last)
    }

    /// Adds the growth and changes of a second. Returns a write if one is due.
    pub(crate) fn second(&mut self, sample: &Sample<'_>, now: Now) -> Option<Write> {
        let passed = now.mono.as_secs().saturating_sub(self.second_at.mono.as_secs());
        (self.second_at, self.zone) = (now, sample.zone);
        let Changes { grown, mut events } = self.changes(sample, now);
        events.extend(self.alerts.second(sample.hits, now.mono));
        events.extend(self.roaming.second(now.mono));
        if self.open {
            events.extend(self.quotas.second(sample, now.unix_ms));
        }
        let interval = self.interval?;
        self.add(Key::Recorded, [passed, 0, 0], now);
        for (mac, bytes) in sample.devices {
            let key = mac.map_or(Key::Others, |mac| Key::Device(mac.0));
            self.add(key, [bytes.sent, bytes.received, bytes.offloaded], now);
            if let Some(mac) = mac.filter(|mac| self.is_new(*mac)) {
                self.record(Kind::NewDevice, &mac.to_string(), now);
            }
        }
        for (key, sums) in grown {
            self.add(key, sums, now);
        }
        for (kind, about) in events {
            self.record(kind, &about, now);
        }
        self.drop_surplus();
        let due = now.mono.saturating_sub(self.written_at) >= interval;
        if !due || !self.open || self.writing > 0 || now.unix_ms < CLOCK_SET_MS {
            return None;
        }
        Some(self.write(now))
    }

    /// Returns the rest to write when the daemon ends.
    pub(crate) fn finish(&mut self, now: Now) -> Option<Write> {
        self.interval?;
        self.record(Kind::Stop, "", now);
        let can = self.open && self.writing == 0 && now.unix_ms >= CLOCK_SET_MS;
        can.then(|| self.write(now))
    }

    fn write(&mut self, now: Now) -> Write {
        self.written_at = now.mono;
        self.writing = self.buckets.len();
        let (Stamp::Quarter(quarter) | Stamp::Day(quarter)) = Stamp::quarter_of(now.unix_ms);
        Write { book: book(&self.buckets, self.first_id, now), quarter, zone: self.zone }
    }

    /// Returns the probes that are due.
    pub(crate) fn probes(&mut self, sample: &Sample<'_>, now: Now) -> Option<Effect> {
        self.line.second(&sample.wans, now.mono).map(Effect::Probe)
    }

    /// Returns the growth of counters, and the events of changed states.
    fn changes(&mut self, sample: &Sample<'_>, now: Now) -> Changes {
        let (mut grown, mut events) = (Vec::new(), Vec::new());
        let last = &mut self.last;
        for (path, (now, before)) in (0_u8..).zip(sample.paths.iter().zip(last.paths)) {
            grown.push((Key::Path(path), [now.saturating_sub(before), 0, 0]));
        }
        let [allowed, blocked] = [0, 1].map(|at| sample.alerts[at].saturating_sub(last.alerts[at]));
        grown.push((Key::Alerts, [allowed, blocked, 0]));
        for wan in &sample.wans {
            let before = last.wans.insert(wan.name.clone(), wan.clone());
            let Some(before) = before else { continue };
            if let (Some(now), Some(before)) = (wan.bytes, before.bytes) {
                // A recreated device starts from 0.
                let [sent, received] = [0, 1].map(|at| now[at].saturating_sub(before[at]));
                grown.push((Key::Wan(Name::new(&wan.name)), [sent, received, 0]));
            }
            if wan.up != before.up {
                let kind = if wan.up { Kind::WanUp } else { Kind::WanDown };
                events.push((kind, wan.name.clone()));
            }
        }
        last.wans.retain(|name, _| sample.wans.iter().any(|wan| wan.name == *name));
        (last.paths, last.alerts) = (sample.paths, sample.alerts);
        let has_settled = now.mono >= SETTLE_TIME;
        for (kind, before, state) in [
            (Kind::Engine, &mut last.engine, sample.engine),
            (Kind::Inspection, &mut last.inspection, sample.inspection),
        ] {
            let was_known = !before.is_empty();
            let is_known = was_known || state != "off" || has_settled;
            if !state.is_empty() && *before != state && is_known {
                *before = state;
                if was_known {
                    events.push((kind, state.to_owned()));
                }
            }
        }
        if last.digest != sample.digest {
            let is_first = last.digest.is_empty();
            sample.digest.clone_into(&mut last.digest);
            if !is_first {
                events.push((Kind::Configuration, last.digest.clone()));
            }
        }
        grown.retain(|(_, sums)| *sums != [0; 3]);
        Changes { grown, events }
    }

    fn is_new(&mut self, mac: Mac) -> bool {
        self.open && self.known.len() < MAX_KNOWN && self.known.insert(mac.0)
    }

    fn record(&mut self, kind: Kind, about: &str, now: Now) {
        let number = self.events + 1;
        let events = &mut self.bucket(now).events;
        let similar = events.iter().filter(|(_, _, other, _)| *other == kind).count();
        let is_limited = matches!(kind, Kind::NewDevice | Kind::Alert | Kind::Wifi);
        if events.len() < MAX_EVENTS && (!is_limited || similar < MAX_SIMILAR) {
            events.push((now, number, kind, about.to_owned()));
            self.events = number;
        }
    }

    fn add(&mut self, key: Key, sums: Sums, now: Now) {
        if sums == [0; 3] {
            return;
        }
        let bucket = self.bucket(now);
        let mut key = key;
        if matches!(key, Key::Device(_)) && !bucket.cells.contains_key(&key) {
            if bucket.devices < MAX_DEVICES {
                bucket.devices += 1;
            } else {
                key = Key::Others;
            }
        }
        key.add(bucket.cells.entry(key).or_default(), sums);
    }

    /// Returns the bucket of the current quarter hour.
    fn bucket(&mut self, now: Now) -> &mut Bucket {
        let quarter = Stamp::quarter_of(now.unix_ms);
        let is_open = self.buckets.len() > self.writing
            && self.buckets.last().is_some_and(|last| last.quarter == quarter);
        if !is_open {
            let (cells, events) = (BTreeMap::new(), Vec::new());
            self.buckets.push(Bucket { began: now, quarter, cells, devices: 0, events });
        }
        let last = self.buckets.len() - 1;
        &mut self.buckets[last]
    }

    /// Drops the oldest buckets above the limit. They become a gap.
    fn drop_surplus(&mut self) {
        let mut cells: usize = self.buckets.iter().map(|bucket| bucket.cells.len()).sum();
        while cells > MAX_CELLS && self.writing == 0 && self.buckets.len() > 1 {
            cells -= self.buckets.remove(0).cells.len();
        }
    }
}

/// Returns the contents of buckets, with times by the current clock.
fn book(buckets: &[Bucket], first_id: u64, now: Now) -> Book {
    let mut book = Book::default();
    for bucket in buckets {
        let stamp = Stamp::quarter_of(now.unix_ms_at(bucket.began));
        for (key, sums) in &bucket.cells {
            book.add(stamp, *key, *sums);
        }
        for (at, number, kind, about) in &bucket.events {
            let (unix_ms, id) = (now.unix_ms_at(*at), first_id + number);
            book.events.push(Entry { unix_ms, id, kind: *kind, about: about.clone() });
        }
    }
    book
}

#[cfg(test)]
mod tests;
