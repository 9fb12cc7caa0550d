// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures the CPU time of `usage`: 400 days, 100 devices with traffic in every quarter hour. Run
//! with `--release`.

use std::cell::RefCell;
use std::error::Error;
use std::io;
use std::time::Duration;

use flows::Now;
use gateway::core::Core;
use gateway::core::calls::{Outcome, call};
use gateway::sys::kernel::Machine;
use ledger::{Book, Failure, Files, Key, Ledger, Name, PAGES, Stamp};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// 2026-02-17.
const START: u32 = 20_501 * 96;
const DAYS: u32 = 400;
const RUNS: u32 = 5;

struct Memory(RefCell<Vec<Vec<u8>>>);

impl Files for Memory {
    fn read(&self, page: usize) -> io::Result<Vec<u8>> {
        Ok(self.0.borrow()[page].clone())
    }

    fn append(&mut self, page: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let page = &mut self.0.borrow_mut()[page];
        page.truncate(usize::try_from(at).unwrap_or_default());
        page.extend(bytes);
        Ok(())
    }

    fn replace(&mut self, page: usize, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut()[page] = bytes.to_vec();
        Ok(())
    }

    fn room(&self) -> io::Result<u64> {
        Ok(100_000_000)
    }
}

fn history() -> Result<Ledger<Memory>, Failure> {
    let mut ledger = Ledger::open(Memory(RefCell::new(vec![Vec::new(); PAGES])));
    let mut random = 1_u64;
    let mut bytes = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 40) >> (random >> 60)
    };
    let wan = Name::new("wan");
    // Two hours for each write.
    for first in (START..START + DAYS * 96).step_by(8) {
        let mut book = Book::default();
        for quarter in first..first + 8 {
            let stamp = Stamp::Quarter(quarter);
            book.add(stamp, Key::Recorded, [900, 0, 0]);
            for device in 0..100 {
                let [up, down] = [bytes(), bytes()];
                book.add(stamp, Key::Device([2, 0, 0, 0, 0, device]), [up, down, up + down / 2]);
            }
            for path in 0..5 {
                book.add(stamp, Key::Path(path), [bytes(), 0, 0]);
            }
            book.add(stamp, Key::Wan(wan), [bytes(), bytes(), 0]);
            book.add(stamp, Key::Probes(wan), [90, bytes(), 1]);
            book.add(stamp, Key::Extremes(wan), [bytes(), bytes(), 0]);
        }
        ledger.write(&book, first + 7, &|quarter| quarter / 96 * 96)?;
    }
    Ok(ledger)
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let ledger = history()?;
    println!("{} bytes", ledger.size());
    let machine = Machine::default();
    let now = Now { mono: Duration::ZERO, unix_ms: u64::from(START + DAYS * 96) * 900_000 };
    let mut core = Core::new(machine, now);
    for (name, request) in [
        ("days", json!({"step": "day"})),
        ("days of a device", json!({"step": "day", "mac": "02:00:00:00:00:01"})),
        ("quarter hours", json!({"step": "quarter"})),
        ("quarter hours of a day", json!({"step": "quarter", "from_ms": now.unix_ms - 86_400_000})),
        (
            "today of a device",
            json!({"step": "day", "from_ms": now.unix_ms - 86_400_000,
            "mac": "02:00:00:00:00:01"}),
        ),
    ] {
        let mut least = Duration::MAX;
        for _ in 0..RUNS {
            let args = request.as_object().cloned().unwrap_or_default();
            let Outcome::History(mut query) = call(&mut core, "usage", args) else { continue };
            let began = cpu_time();
            let events =
                ledger.read(&query.span(), |stamp, key, sums| query.add(stamp, key, sums))?;
            query.answer(events, 0)?;
            least = least.min(cpu_time().saturating_sub(began));
        }
        println!("{name}: {least:?}");
    }
    Ok(())
}
