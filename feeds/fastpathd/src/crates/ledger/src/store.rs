// SPDX-License-Identifier: GPL-2.0-or-later
//! Pages: one per day, written in turn. A write appends a frame to one page or replaces one page,
//! so a power cut loses at most what it would have added.

use std::collections::BTreeSet;
use std::io;

use crate::book::{Book, DayOf, Entry, Key, Kind, Span, Stamp, Sums};
use crate::frame::{self, Header};

/// Number of pages: today, 30 days, and one for a wrong clock.
pub const PAGES: usize = 32;
/// Maximum bytes of all pages.
pub const MAX_SIZE: u64 = 4_000_000;
/// Size above which the quarter hours of a page become days.
const SHRINK_SIZE: u64 = MAX_SIZE - 100_000;
/// Minimum bytes that are free or in pages; with less, nothing is written.
pub const MIN_ROOM: u64 = 2 * MAX_SIZE;
/// Maximum MACs that count as known.
const MAX_KNOWN: usize = 4096;
/// Quarter hours of [`Recent::devices`], for a local day of 25 hours.
const RECENT_QUARTERS: u32 = 100;
const MAX_RECENT_EVENTS: usize = 512;

/// Files of the pages.
pub trait Files {
    /// Returns the bytes of a page; empty if there is no file.
    fn read(&self, page: usize) -> io::Result<Vec<u8>>;

    /// Truncates a page to `at` bytes, appends, and flushes.
    fn append(&mut self, page: usize, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Replaces a page atomically, and flushes.
    fn replace(&mut self, page: usize, bytes: &[u8]) -> io::Result<()>;

    /// Returns the free bytes.
    fn room(&self) -> io::Result<u64>;
}

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the disk has {free} bytes left, and the history needs {MIN_ROOM}")]
    Room { free: u64 },
    #[error("writing the history")]
    Write(#[source] io::Error),
}

/// The end of the record, from which a new process continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// Largest id of an event.
    pub last_id: u64,
    /// Bytes of devices in the last recorded quarter hours.
    pub devices: Vec<(u32, [u8; 6], u64)>,
    /// Starts of the daemon and exceeded quotas.
    pub events: Vec<Entry>,
}

#[derive(Debug, Clone, Default)]
struct Page {
    /// 0 if the page is unused.
    serial: u64,
    day: u32,
    /// Valid bytes.
    len: u64,
    /// Number of frames that are not loose.
    frames: usize,
    /// Periods and events of these frames.
    span: Span,
}

#[derive(Debug)]
pub struct Ledger<F> {
    files: F,
    pages: [Page; PAGES],
    /// Serial number of the last write.
    write: u64,
    /// Number of successful writes.
    writes: u64,
    /// Contents of the last loose frame.
    carry: Book,
    known: BTreeSet<[u8; 6]>,
    recent: Recent,
}

impl<F: Files> Ledger<F> {
    /// Reads all pages. Logs and ignores invalid bytes at the end of a page, which a power cut may
    /// leave; the next append overwrites them.
    pub fn open(files: F) -> Self {
        let mut ledger = Self {
            files,
            pages: std::array::from_fn(|_| Page::default()),
            write: 0,
            writes: 0,
            carry: Book::default(),
            known: BTreeSet::new(),
            recent: Recent::default(),
        };
        let mut loose = (0, Book::default());
        for number in 0..PAGES {
            let bytes = ledger.files.read(number).unwrap_or_else(|error| {
                log::warn!("history: reading page {number}: {error}");
                Vec::new()
            });
            let (frames, valid) = frame::decode(&bytes);
            if valid < bytes.len() {
                let invalid = bytes.len() - valid;
                log::warn!("history: page {number}: {invalid} invalid bytes at the end dropped");
            }
            let page = &mut ledger.pages[number];
            page.len = valid as u64;
            for (header, book) in frames {
                ledger.write = ledger.write.max(header.write);
                (page.serial, page.day) = (header.serial, header.day);
                let devices = book.cells.keys().filter_map(|(_, key)| match key {
                    Key::Device(mac) => Some(*mac),
                    Key::Recorded
                    | Key::Others
                    | Key::Path(_)
                    | Key::Wan(_)
                    | Key::Alerts
                    | Key::Probes(_)
                    | Key::Extremes(_) => None,
                });
                ledger.known.extend(devices.take(MAX_KNOWN.saturating_sub(ledger.known.len())));
                // A loose frame counts only if it is the last one.
                if !header.loose {
                    ledger.recent.add(&book);
                }
                if header.loose {
                    if header.write >= loose.0 {
                        loose = (header.write, book);
                    }
                } else {
                    page.frames += 1;
                    page.span.merge(&book.span());
                }
            }
        }
        if loose.0 == ledger.write {
            ledger.carry = loose.1;
            ledger.recent.add(&ledger.carry);
        }
        ledger
    }

    /// Returns the MACs of all devices, at most 4096.
    pub fn known(&self) -> &BTreeSet<[u8; 6]> {
        &self.known
    }

    /// Returns what was recorded last when the files were opened.
    pub fn take_recent(&mut self) -> Recent {
        std::mem::take(&mut self.recent)
    }

    /// Returns the number of successful writes since the files were opened.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    pub fn size(&self) -> u64 {
        self.pages.iter().map(|page| page.len).sum()
    }

    /// Adds a book with one write. `now` is the current quarter hour. After a failure, nothing is
    /// added.
    pub fn write(&mut self, book: &Book, now: u32, day_of: DayOf<'_>) -> Result<(), Failure> {
        let today = day_of(now);
        let free = self.files.room().map_err(Failure::Write)?;
        if free.saturating_add(self.size()) < MIN_ROOM {
            return Err(Failure::Room { free });
        }
        let mut all = self.carry.clone();
        all.merge(book.clone());
        let written = if let Some(at) = self.latest(|page| page.day == today) {
            self.write_today(at, all, day_of)
        } else {
            match self.latest(|_| true).filter(|last| self.pages[*last].frames > 1) {
                // Merge a day when it has ended, and begin the next page with the next write.
                Some(last) => self.rewrite(last, false, all, day_of),
                None => self.begin(all, today, day_of),
            }
        };
        self.carry = written.map_err(Failure::Write)?;
        self.writes += 1;
        Ok(())
    }

    fn latest(&self, is_one: impl Fn(&Page) -> bool) -> Option<usize> {
        let used = (0..PAGES).filter(|at| self.pages[*at].serial > 0 && is_one(&self.pages[*at]));
        used.max_by_key(|at| self.pages[*at].serial)
    }

    /// Returns the rest that the next write has to contain, too.
    fn write_today(&mut self, at: usize, book: Book, day_of: DayOf<'_>) -> io::Result<Book> {
        let page = &self.pages[at];
        let header =
            Header { serial: page.serial, day: page.day, write: self.write + 1, loose: false };
        let mut bytes = Vec::new();
        frame::encode(header, &book, &mut bytes);
        if self.size() + bytes.len() as u64 > SHRINK_SIZE {
            if let Some(other) = self.to_reduce(at) {
                return self.rewrite(other, true, book, day_of);
            }
            if page.frames > 1 {
                return self.rewrite(at, false, book, day_of);
            }
        }
        self.files.append(at, self.pages[at].len, &bytes)?;
        self.write += 1;
        let page = &mut self.pages[at];
        page.len += bytes.len() as u64;
        page.frames += 1;
        page.span.merge(&book.span());
        Ok(Book::default())
    }

    /// Returns the oldest other page with quarter hours, except for small ones: only a flood of
    /// devices makes pages differ much, and earlier days should not pay for it.
    fn to_reduce(&self, at: usize) -> Option<usize> {
        let others =
            || (0..PAGES).filter(|other| *other != at && self.pages[*other].span.has_quarters());
        let largest = others().map(|other| self.pages[other].len).max()?;
        let large = others().filter(|other| self.pages[*other].len >= largest / 2);
        large.min_by_key(|other| self.pages[*other].serial)
    }

    /// Begins the page of a day. It replaces the oldest page, and keeps the days of that one.
    fn begin(&mut self, book: Book, today: u32, day_of: DayOf<'_>) -> io::Result<Book> {
        let (oldest, _) = (0..PAGES)
            .map(|at| (at, self.pages[at].serial))
            .min_by_key(|(_, serial)| *serial)
            .unwrap_or_default();
        let mut all = self.book_of(oldest)?;
        all.reduce(day_of);
        all.merge(book);
        let serial = self.pages.iter().map(|page| page.serial).max().unwrap_or(0) + 1;
        self.replace(oldest, (serial, today), all, &Book::default())?;
        Ok(Book::default())
    }

    /// Merges the frames of a page with what `book` has of its day, or reduces them to days. The
    /// rest of `book` becomes a loose frame and is returned.
    fn rewrite(
        &mut self,
        at: usize,
        reduce: bool,
        mut book: Book,
        day_of: DayOf<'_>,
    ) -> io::Result<Book> {
        let Page { serial, day, .. } = self.pages[at];
        let mut all = self.book_of(at)?;
        if reduce {
            all.reduce(day_of);
        } else {
            all.merge(book.take_day(day, day_of));
        }
        self.replace(at, (serial, day), all, &book)?;
        Ok(book)
    }

    fn replace(
        &mut self,
        at: usize,
        (serial, day): (u64, u32),
        mut all: Book,
        rest: &Book,
    ) -> io::Result<()> {
        all.limit();
        let header = Header { serial, day, write: self.write + 1, loose: false };
        let mut bytes = Vec::new();
        frame::encode(header, &all, &mut bytes);
        if !rest.is_empty() {
            frame::encode(Header { loose: true, ..header }, rest, &mut bytes);
        }
        self.files.replace(at, &bytes)?;
        self.write += 1;
        let (len, span) = (bytes.len() as u64, all.span());
        self.pages[at] = Page { serial, day, len, frames: 1, span };
        Ok(())
    }

    fn book_of(&self, at: usize) -> io::Result<Book> {
        let mut all = Book::default();
        all.events = self.visit(at, &mut |stamp, key, sums| all.add(stamp, key, sums))?;
        Ok(all)
    }

    fn visit(&self, at: usize, visit: &mut dyn FnMut(Stamp, Key, Sums)) -> io::Result<Vec<Entry>> {
        let mut bytes = self.files.read(at)?;
        // A failed append may have left bytes.
        bytes.truncate(usize::try_from(self.pages[at].len).unwrap_or(usize::MAX));
        Ok(frame::visit(&bytes, visit))
    }

    /// Visits the cells of all pages that have periods or events of `span`, and returns their
    /// events. Periods and keys may occur repeatedly.
    pub fn read(
        &self,
        span: &Span,
        mut visit: impl FnMut(Stamp, Key, Sums),
    ) -> io::Result<Vec<Entry>> {
        let mut events = self.carry.events.clone();
        for ((stamp, key), sums) in &self.carry.cells {
            visit(*stamp, *key, *sums);
        }
        for (at, page) in self.pages.iter().enumerate() {
            if page.serial > 0 && page.span.has(span) {
                events.extend(self.visit(at, &mut visit)?);
            }
        }
        Ok(events)
    }
}

impl Recent {
    fn add(&mut self, book: &Book) {
        for ((stamp, key), [sent, received, _]) in &book.cells {
            if let (Stamp::Quarter(quarter), Key::Device(mac)) = (stamp, key) {
                self.devices.push((*quarter, *mac, sent.saturating_add(*received)));
            }
        }
        let last = self.devices.iter().map(|(quarter, ..)| *quarter).max().unwrap_or(0);
        self.devices.retain(|(quarter, ..)| quarter + RECENT_QUARTERS > last);
        for event in &book.events {
            self.last_id = self.last_id.max(event.id);
            if matches!(event.kind, Kind::Start | Kind::Quota) {
                self.events.push(event.clone());
            }
        }
        config::sort::values(&mut self.events);
        let surplus = self.events.len().saturating_sub(MAX_RECENT_EVENTS);
        self.events.drain(..surplus);
    }
}
