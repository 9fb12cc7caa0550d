// SPDX-License-Identifier: GPL-2.0-or-later
//! From bytes of the EVE stream to events, with rate limits: 500 a second (2000 at once) for alerts
//! and for all others each, 2 a second for `stats`. Counts the lines that were not read.

use std::time::Duration;

use serde::Serialize;

use super::event::{Event, read_event};
use super::lines::Lines;
use super::rate::{Bucket, Rate};

/// How many lines are read. Alerts have a share of their own, or connections that end by the
/// thousand would hide them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Alerts.
    pub alerts: Rate,
    /// Ended connections, handshakes, drops and the rest.
    pub others: Rate,
}

impl Default for Rates {
    fn default() -> Self {
        let rate = Rate { per_second: 500, burst: 2000 };
        Self { alerts: rate, others: rate }
    }
}

/// Lines since the start, as the answer of `ips` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// All of them.
    pub lines: u64,
    /// Of them, alerts; read or not. The answer of `alerts` has them.
    #[serde(skip)]
    pub alerts: u64,
    /// Not read because there were too many.
    pub not_read: u64,
    /// No events.
    pub unparsable: u64,
    /// Too long.
    pub oversized: u64,
    /// Connections of somebody else than Suricata.
    pub strangers: u64,
}

/// The events of one reading.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events that could be read.
    pub events: Vec<Event>,
    /// Of all time.
    pub counts: Counts,
    /// Whether Suricata is connected.
    pub connected: bool,
}

/// Splits, limits and reads.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    alerts: Bucket,
    others: Bucket,
    stats: Bucket,
    counts: Counts,
}

impl Reader {
    /// Nothing read yet.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self {
            lines: Lines::default(),
            alerts: Bucket::new(rates.alerts),
            others: Bucket::new(rates.others),
            // They come every 8 s, and nothing should crowd them out.
            stats: Bucket::new(Rate { per_second: 2, burst: 4 }),
            counts: Counts::default(),
        }
    }

    /// Takes the bytes that came at `now`; adds their events to `events`.
    pub fn read(&mut self, now: Duration, bytes: &[u8], events: &mut Vec<Event>) {
        let Self { lines, alerts, others, stats, counts } = self;
        lines.push(bytes, |line| {
            counts.lines += 1;
            let kind = kind_of(line);
            counts.alerts += u64::from(kind == Some(b"alert"));
            let bucket = match kind {
                Some(b"alert") => &mut *alerts,
                Some(b"stats") => &mut *stats,
                _ => &mut *others,
            };
            if !bucket.take(now) {
                counts.not_read += 1;
                return;
            }
            match read_event(line) {
                Some(Event::Other) => {}
                Some(event) => events.push(event),
                None => counts.unparsable += 1,
            }
        });
        self.counts.oversized = self.lines.oversized();
    }

    /// Another connection.
    pub fn restart(&mut self) {
        self.lines.restart();
    }

    /// A connection was refused.
    pub(super) fn note_stranger(&mut self) {
        self.counts.strangers += 1;
    }

    /// Lines so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// The type, which Suricata writes behind the time, the flow and the device, without reading
/// the line.
fn kind_of(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"event_type\":\"";
    let head = &line[..line.len().min(256)];
    let begin = head.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let value = &head[begin..];
    let end = value.iter().position(|byte| *byte == b'"')?;
    Some(&value[..end])
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
