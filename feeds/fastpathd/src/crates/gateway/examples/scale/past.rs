// SPDX-License-Identifier: GPL-2.0-or-later
//! A history on disk of 400 days, in which most devices were seen once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ledger::{Book, Entry, Files, Key, Kind, Ledger, MAX_ABOUT, Name, Stamp};

use crate::Failure;
use crate::crowd::{ACTIVE, ONCE, active, once};
use crate::router::START_MS;

const DAYS: u32 = 400;
/// Quarter hours of a write.
const WRITE: u32 = 8;

/// Pages in a folder. Nothing is flushed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, page: usize) -> io::Result<Vec<u8>> {
        match fs::read(self.0.join(page.to_string())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    fn append(&mut self, page: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut all = self.read(page)?;
        all.truncate(usize::try_from(at).unwrap_or_default());
        all.extend(bytes);
        self.replace(page, &all)
    }

    fn replace(&mut self, page: usize, bytes: &[u8]) -> io::Result<()> {
        fs::write(self.0.join(page.to_string()), bytes)
    }

    fn room(&self) -> io::Result<u64> {
        Ok(100_000_000)
    }
}

pub(crate) fn open(folder: &Path) -> Ledger<Folder> {
    Ledger::open(Folder(folder.to_owned()))
}

/// Records the days before the benchmark's clock: the active devices in each quarter hour, the
/// others as new devices every day.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut ledger = open(folder);
    let mut random = 1_u64;
    let mut bytes = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 40) >> (random >> 60)
    };
    let wan = Name::new("wan");
    let (Stamp::Quarter(end) | Stamp::Day(end)) = Stamp::quarter_of(START_MS);
    let first = end - DAYS * 96;
    let (mut seen, mut id) = (0, 0);
    for write in (first..end).step_by(WRITE as usize) {
        let mut book = Book::default();
        for quarter in write..write + WRITE {
            let stamp = Stamp::Quarter(quarter);
            book.add(stamp, Key::Recorded, [900, 0, 0]);
            for number in 0..ACTIVE {
                let [up, down] = [bytes(), bytes()];
                book.add(stamp, Key::Device(active(number).0), [up, down, up + down / 2]);
            }
            for path in 0..5 {
                book.add(stamp, Key::Path(path), [bytes(), 0, 0]);
            }
            book.add(stamp, Key::Wan(wan), [bytes(), bytes(), 0]);
            book.add(stamp, Key::Probes(wan), [90, bytes(), 1]);
            book.add(stamp, Key::Extremes(wan), [bytes(), bytes(), 0]);
        }
        for _ in 0..ONCE * WRITE / 96 {
            let mac = once(seen);
            seen += 1;
            book.add(Stamp::Quarter(write), Key::Device(mac.0), [700, 900, 0]);
            let unix_ms = Stamp::Quarter(write).start_ms() + u64::from(seen % 900);
            id += 1;
            let mut about = format!("2013028 {mac} 1 ET POLICY curl User-Agent Outbound");
            about.truncate(MAX_ABOUT);
            book.events.push(Entry { unix_ms, id, kind: Kind::Alert, about });
        }
        ledger.write(&book, write + WRITE - 1, &|quarter| quarter / 96 * 96)?;
    }
    Ok(())
}
