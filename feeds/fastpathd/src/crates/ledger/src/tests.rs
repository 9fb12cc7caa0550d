// SPDX-License-Identifier: GPL-2.0-or-later
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

mod days;

const DAY: u32 = 20_500;

/// A disk in memory. A cut keeps some bytes of the next append; a replacement is all or nothing.
#[derive(Debug, Default)]
struct Disk {
    pages: BTreeMap<usize, Vec<u8>>,
    room: u64,
    cut: Option<usize>,
    reads: usize,
    writes: usize,
    written: u64,
    peak: u64,
}

#[derive(Debug, Clone, Default)]
struct Memory(Rc<RefCell<Disk>>);

impl Memory {
    fn new() -> Self {
        Self(Rc::new(RefCell::new(Disk { room: 100_000_000, ..Disk::default() })))
    }

    fn copy(&self) -> Self {
        let disk = self.0.borrow();
        let copy = Disk { pages: disk.pages.clone(), room: disk.room, ..Disk::default() };
        Self(Rc::new(RefCell::new(copy)))
    }

    fn size(&self) -> u64 {
        self.0.borrow().pages.values().map(|page| page.len() as u64).sum()
    }
}

impl Files for Memory {
    fn read(&self, page: usize) -> io::Result<Vec<u8>> {
        let mut disk = self.0.borrow_mut();
        disk.reads += 1;
        Ok(disk.pages.get(&page).cloned().unwrap_or_default())
    }

    fn append(&mut self, page: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        let cut = disk.cut.take();
        let file = disk.pages.entry(page).or_default();
        let at = usize::try_from(at).unwrap();
        assert!(at <= file.len(), "a hole");
        file.truncate(at);
        file.extend(&bytes[..cut.unwrap_or(bytes.len()).min(bytes.len())]);
        if cut.is_some() {
            return Err(io::Error::other("the power was cut"));
        }
        disk.writes += 1;
        disk.written += bytes.len() as u64;
        drop(disk);
        let size = self.size();
        let mut disk = self.0.borrow_mut();
        disk.peak = disk.peak.max(size);
        Ok(())
    }

    fn replace(&mut self, page: usize, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        if disk.cut.take().is_some() {
            return Err(io::Error::other("the power was cut"));
        }
        disk.pages.insert(page, bytes.to_vec());
        disk.writes += 1;
        disk.written += bytes.len() as u64;
        drop(disk);
        let size = self.size();
        let mut disk = self.0.borrow_mut();
        disk.peak = disk.peak.max(size);
        Ok(())
    }

    fn room(&self) -> io::Result<u64> {
        Ok(self.0.borrow().room)
    }
}

fn utc(quarter: u32) -> u32 {
    quarter / 96 * 96
}

fn write_on(ledger: &mut Ledger<Memory>, book: &Book, day: u32) -> Result<(), Failure> {
    ledger.write(book, day * 96, &utc)
}

fn device(number: u32) -> Key {
    let [a, b, c, d] = number.to_be_bytes();
    Key::Device([2, 0, a, b, c, d])
}

fn book(quarter: u32, cells: &[(Key, Sums)]) -> Book {
    let mut book = Book::default();
    for (key, sums) in cells {
        book.add(Stamp::Quarter(quarter), *key, *sums);
    }
    book
}

/// Sums by day and key, which all rewriting keeps.
fn by_day(book: &Book) -> BTreeMap<(u32, Key), Sums> {
    let days = by_local_day(book, &utc);
    days.into_iter().map(|((start, key), sums)| ((start / 96, key), sums)).collect()
}

fn by_local_day(book: &Book, day_of: DayOf<'_>) -> BTreeMap<(u32, Key), Sums> {
    let mut days = BTreeMap::new();
    for ((stamp, key), sums) in &book.cells {
        let (Stamp::Day(start) | Stamp::Quarter(start)) = stamp.day(day_of);
        key.add(days.entry((start, *key)).or_default(), *sums);
    }
    days
}

fn all<F: Files>(ledger: &Ledger<F>) -> Book {
    let mut book = Book::default();
    book.events = ledger.read(&Span::ALL, |stamp, key, sums| book.add(stamp, key, sums)).unwrap();
    book.events.sort();
    book
}

fn event(unix_ms: u64, about: &str) -> Entry {
    Entry { unix_ms, id: unix_ms + 1, kind: Kind::WanDown, about: about.to_owned() }
}

/// xorshift: the same values in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Bytes of a quarter hour, up to 100 MB, mostly less.
    fn bytes(&mut self) -> u64 {
        let limit = 1 << (10 + self.below(17));
        self.below(limit)
    }

    fn sums(&mut self) -> Sums {
        let [sent, received] = [self.bytes() / 8, self.bytes()];
        [
            sent,
            received,
            (sent + received) * 19 / 20 - self.below(20_000).min((sent + received) / 3),
        ]
    }
}

#[test]
fn a_book_survives_a_restart() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let mut written = book(
        DAY * 96 + 7,
        &[
            (Key::Recorded, [600, 0, 0]),
            (device(1), [1, u64::MAX, 5]),
            (Key::Others, [3, 4, 0]),
            (Key::Path(4), [77, 0, 0]),
            (Key::Wan(Name::new("wan")), [1, 2, 0]),
            (Key::Alerts, [1, 1, 0]),
            (Key::Probes(Name::new("wan")), [60, 1_200_000, 2]),
            (Key::Extremes(Name::new("wan")), [9_000, 700_000, 0]),
        ],
    );
    written.events.push(event(1_771_200_000_123, "wän"));
    write_on(&mut ledger, &written, DAY).unwrap();
    assert_eq!(all(&ledger), written);
    let ledger = Ledger::open(files.copy());
    assert_eq!(all(&ledger), written);
    assert_eq!(ledger.known(), &BTreeSet::from([[2, 0, 0, 0, 0, 1]]));
    assert_eq!(ledger.size(), files.size());
}

#[test]
fn a_long_text_is_truncated_at_a_character() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let mut written = Book::default();
    written.events.push(event(1, &"ü".repeat(MAX_ABOUT)));
    written.events.push(event(2, &format!("x{}", "ü".repeat(MAX_ABOUT))));
    write_on(&mut ledger, &written, DAY).unwrap();
    let found = all(&ledger);
    assert_eq!(found.events[0].about, "ü".repeat(MAX_ABOUT / 2));
    assert_eq!(found.events[1].about.len(), MAX_ABOUT - 1);
}

#[test]
fn a_power_cut_at_any_byte_loses_one_write() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let one = book(DAY * 96, &[(device(1), [10, 200, 7]), (Key::Recorded, [600, 0, 0])]);
    write_on(&mut ledger, &one, DAY).unwrap();
    let before = by_day(&all(&ledger));
    let len = usize::try_from(ledger.size()).unwrap();
    for cut in 0..=len {
        let files = files.copy();
        let mut ledger = Ledger::open(files.clone());
        files.0.borrow_mut().cut = Some(cut);
        assert!(write_on(&mut ledger, &one, DAY).is_err());
        assert_eq!(by_day(&all(&ledger)), before, "in memory, cut at {cut}");
        let recovered = files.copy();
        let mut ledger = Ledger::open(recovered.clone());
        let found = all(&ledger);
        if files.size() == 2 * len as u64 {
            assert_eq!(found.cells[&(Stamp::Quarter(DAY * 96), device(1))], [20, 400, 14]);
        } else {
            assert_eq!(by_day(&found), before, "cut at {cut}");
        }
        write_on(&mut ledger, &one, DAY).unwrap();
        assert_eq!(all(&Ledger::open(recovered)), all(&ledger), "cut at {cut}");
    }
}

#[test]
fn any_damaged_byte_is_noticed() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let [one, other] = [1, 2].map(|number| book(DAY * 96, &[(device(number), [10, 200, 7])]));
    write_on(&mut ledger, &one, DAY).unwrap();
    let len = usize::try_from(ledger.size()).unwrap();
    write_on(&mut ledger, &other, DAY).unwrap();
    for at in 0..2 * len {
        let files = files.copy();
        files.0.borrow_mut().pages.get_mut(&0).unwrap()[at] ^= 1 << (at % 8);
        let found = all(&Ledger::open(files));
        let expected = if at < len { Book::default() } else { one.clone() };
        assert_eq!(found, expected, "byte {at}");
    }
}

#[test]
fn without_room_nothing_is_written_until_there_is_some() {
    let files = Memory::new();
    files.0.borrow_mut().room = MIN_ROOM - 1;
    let mut ledger = Ledger::open(files.clone());
    let one = book(DAY * 96, &[(device(1), [10, 200, 7])]);
    assert!(matches!(write_on(&mut ledger, &one, DAY), Err(Failure::Room { .. })));
    assert_eq!(files.size(), 0);
    files.0.borrow_mut().room = MIN_ROOM;
    write_on(&mut ledger, &one, DAY).unwrap();
    // The pages themselves count as room.
    files.0.borrow_mut().room = MIN_ROOM - ledger.size();
    write_on(&mut ledger, &one, DAY).unwrap();
}

/// A hundred devices with traffic in every quarter hour of 400 days. Every 40th day has 144 writes;
/// the others have fewer, which are larger.
#[test]
fn a_hundred_busy_devices_fit_for_400_days() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let mut random = Random(1);
    let (mut days, mut quarters) = (BTreeMap::new(), BTreeMap::new());
    for day in DAY..DAY + 400 {
        let writes = if (day - DAY) % 40 == 39 { 144 } else { 12 };
        let (before, bytes_before) = (files.0.borrow().writes, files.0.borrow().written);
        for write in 0..writes {
            let mut batch = Book::default();
            // Two batches of ten minutes touch each quarter hour.
            for quarter in write * 96 / writes..=(write * 96 + 95) / writes {
                let stamp = Stamp::Quarter(day * 96 + quarter);
                batch.add(stamp, Key::Recorded, [300, 0, 0]);
                batch.add(stamp, Key::Wan(Name::new("wan")), random.sums());
                for number in 0..100 {
                    batch.add(stamp, device(number), random.sums().map(|sum| sum / 2));
                }
                for path in 0..5 {
                    batch.add(stamp, Key::Path(path), random.sums());
                }
            }
            write_on(&mut ledger, &batch, day).unwrap();
            for ((stamp, key), sums) in batch.cells {
                let one: &mut Sums = days.entry((day, key)).or_default();
                let other: &mut Sums = quarters.entry((stamp, key)).or_default();
                for sum in [one, other] {
                    (0..3).for_each(|at| sum[at] += sums[at]);
                }
            }
        }
        quarters.retain(|(stamp, _), _| stamp.start_ms() >= u64::from(day - 30) * 86_400_000);
        let disk = files.0.borrow();
        assert_eq!(disk.writes - before, writes as usize);
        if day == DAY + 399 {
            println!("at most {} bytes, {} written a day", disk.peak, disk.written - bytes_before);
        }
    }
    assert!(files.0.borrow().peak <= MAX_SIZE);
    let found = all(&ledger);
    assert_eq!(by_day(&found), days);
    for (cell, sums) in &quarters {
        assert_eq!(found.cells.get(cell), Some(sums), "{cell:?}");
    }
}

/// 450 of 500 devices are seen once, every day anew.
#[test]
fn devices_that_are_seen_once_do_not_displace_the_past() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let mut random = Random(2);
    for day in 0..450 {
        for hour in 0..24 {
            let quarter = Stamp::Quarter((DAY + day) * 96 + hour * 4);
            let mut batch = Book::default();
            for number in 0..50 {
                batch.add(quarter, device(number), random.sums());
            }
            for number in 0..450 / 24 {
                batch.add(quarter, device(1000 + (day * 24 + hour) * 20 + number), [700, 900, 0]);
            }
            write_on(&mut ledger, &batch, DAY + day).unwrap();
        }
    }
    println!("at most {} bytes", files.0.borrow().peak);
    assert!(files.0.borrow().peak <= MAX_SIZE);
    assert!(ledger.known().len() <= 4096);
    let found = by_day(&all(&ledger));
    for day in 50..450 {
        assert!(found.contains_key(&(DAY + day, device(49))), "day {day}");
    }
}

/// 512 new MACs in each quarter hour, as an attacker in the LAN can have.
#[test]
fn a_flood_of_devices_keeps_the_days() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let mut random = Random(3);
    for day in 0..30 {
        for ten in 0..144 {
            let mut batch = Book::default();
            for number in 0..512 {
                let number = if day < 20 { number % 9 } else { day * 100_000 + ten * 512 + number };
                let quarter = Stamp::Quarter((DAY + day) * 96 + ten * 2 / 3);
                batch.add(quarter, device(number), random.sums());
            }
            write_on(&mut ledger, &batch, DAY + day).unwrap();
        }
    }
    println!("at most {} bytes", files.0.borrow().peak);
    assert!(files.0.borrow().peak <= MAX_SIZE);
    let found = by_day(&all(&ledger));
    assert!((0..20).all(|day| found.contains_key(&(DAY + day, device(8)))));
}

#[derive(Debug, Clone)]
enum Step {
    Write {
        quarter: u32,
        key: u32,
        sums: Sums,
    },
    Event(u64),
    /// The clock advances or jumps by quarter hours.
    Clock(i32),
    /// The next write is cut after this many bytes.
    Cut(usize),
    Restart,
    Room(bool),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u32, 0..4_u32, [0..1000_u64, 0..100_000, 0..1000])
            .prop_map(|(quarter, key, sums)| Step::Write { quarter, key, sums }),
        1 => (0..100_u64).prop_map(Step::Event),
        3 => (1..60_i32).prop_map(Step::Clock),
        1 => prop::sample::select(vec![-365 * 96, 365 * 96, -96, 96]).prop_map(Step::Clock),
        2 => (0..200_usize).prop_map(Step::Cut),
        2 => Just(Step::Restart),
        1 => any::<bool>().prop_map(Step::Room),
    ]
}

proptest! {
    #[test]
    fn no_written_byte_is_lost_or_counted_twice(
        steps in prop::collection::vec(any_step(), 1..150),
        zone in 0..96_u32,
    ) {
        let local = |quarter: u32| (quarter + zone) / 96 * 96 - zone;
        let mut files = Memory::new();
        let mut ledger = Ledger::open(files.clone());
        let mut clock = DAY * 96;
        let mut written = Book::default();
        for step in steps {
            let mut batch = Book::default();
            match step {
                Step::Write { quarter, key, sums } => {
                    batch.add(Stamp::Quarter(clock - quarter), device(key), sums);
                }
                Step::Event(number) => {
                    batch.events.push(event(Stamp::Quarter(clock).start_ms() + number, "wan"));
                }
                Step::Clock(by) => clock = clock.saturating_add_signed(by),
                Step::Cut(at) => files.0.borrow_mut().cut = Some(at),
                Step::Restart => {
                    files = files.copy();
                    ledger = Ledger::open(files.clone());
                }
                Step::Room(has) => files.0.borrow_mut().room = if has { MIN_ROOM } else { 0 },
            }
            if !batch.is_empty() {
                let before = files.0.borrow().pages.clone();
                if ledger.write(&batch, clock, &local).is_ok() {
                    written.merge(batch);
                } else {
                    // A cut behind the last byte leaves a complete frame; undo it.
                    let found = all(&Ledger::open(files.copy()));
                    let days = [&found, &written].map(|book| by_local_day(book, &local));
                    if days[0] != days[1] || found.events != written.events {
                        let mut with = written.clone();
                        with.merge(batch);
                        prop_assert_eq!(by_local_day(&found, &local), by_local_day(&with, &local));
                        files.0.borrow_mut().pages = before;
                    }
                }
            }
            written.events.sort();
            let found = all(&ledger);
            prop_assert_eq!(by_local_day(&found, &local), by_local_day(&written, &local));
            prop_assert_eq!(&found.events, &written.events);
            let again = all(&Ledger::open(files.copy()));
            prop_assert_eq!(by_local_day(&again, &local), by_local_day(&written, &local));
            prop_assert_eq!(&again.events, &written.events);
        }
    }
}

#[test]
fn the_last_day_events_and_id_are_found_again() {
    let memory = Memory::new();
    let mut ledger = Ledger::open(memory.clone());
    let device = [2, 0, 0, 0, 0, 1];
    for quarter in [10, 50, 115] {
        let mut book = Book::default();
        book.add(Stamp::Quarter(quarter), Key::Device(device), [1, 2, 0]);
        let start = Entry { kind: Kind::Start, ..event(1, "0.1.0") };
        book.events = vec![event(u64::from(quarter), "wan"), start];
        ledger.write(&book, 0, &|_| 0).unwrap();
    }
    let recent = Ledger::open(memory).take_recent();
    assert_eq!(recent.devices, [(50, device, 3), (115, device, 3)]);
    assert_eq!((recent.last_id, recent.events.len()), (116, 3));
    assert!(recent.events.iter().all(|event| event.kind == Kind::Start));
}

#[test]
fn events_of_a_version_without_ids_are_read() {
    let mut bytes = vec![0, 0, 1, 9, Kind::WanUp as u8, 3];
    bytes.extend(b"wan");
    let book = Book::decode(&mut crate::code::Reader(&bytes), 1).unwrap();
    let (unix_ms, about) = (9, "wan".to_owned());
    assert_eq!(book.events, [Entry { unix_ms, id: 0, kind: Kind::WanUp, about }]);
}
