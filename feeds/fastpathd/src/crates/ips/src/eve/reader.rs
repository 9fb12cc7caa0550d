// SPDX-License-Identifier: GPL-2.0-or-later
//! From bytes of the EVE stream to events, with rate limits: for alerts about packets that passed,
//! about dropped ones, and about dropped ones of proven sources each, of them for each source and
//! rule; for `stats`, and for all others. Counts the lines that were not read.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use super::alert::Alert;
use super::budget::{AlertRates, Budget};
use super::event::{Event, EventKind, EventLine, read_event};
use super::lines::Lines;
use super::rate::{Bucket, Rate};
use super::wanted::WantedKinds;

/// How many lines are read. Anybody can cause alerts about packets that pass, and with forged
/// sources those about dropped ones; neither may hide the alert for which a source is blocked, nor
/// may connections that end by the thousand hide alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Alerts about packets that passed.
    pub alerts: AlertRates,
    /// Alerts about dropped packets whose source may be forged.
    pub blocked: AlertRates,
    /// Alerts about dropped packets of proven sources.
    pub proven: AlertRates,
    /// Ended connections, handshakes, drops and the rest.
    pub others: Rate,
    /// A secret by which sources and rules share buckets.
    pub seed: u64,
}

impl Default for Rates {
    fn default() -> Self {
        let rate = |per_second, burst| Rate { per_second, burst };
        let rates = |all, source, rule| AlertRates { all, source, rule };
        Self {
            alerts: rates(rate(500, 2000), rate(50, 200), rate(100, 400)),
            blocked: rates(rate(100, 500), rate(20, 50), rate(25, 100)),
            proven: rates(rate(100, 500), rate(20, 50), rate(50, 200)),
            others: rate(500, 2000),
            seed: 0,
        }
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
    /// Not read because there were too many: of all kinds.
    pub not_read: u64,
    /// Of them, alerts about packets that passed.
    pub not_read_alerts: u64,
    /// Of them, alerts about dropped packets.
    pub not_read_blocked: u64,
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
    /// Those of them that collectors want, as Suricata has written them.
    pub lines: Vec<EventLine>,
    /// Of all time.
    pub counts: Counts,
    /// Whether Suricata is connected.
    pub connected: bool,
}

impl Batch {
    /// The alerts among them.
    pub fn alerts(&mut self) -> impl Iterator<Item = &mut Alert> {
        self.events.iter_mut().filter_map(|event| match event {
            Event::Alert(alert) => Some(&mut **alert),
            Event::Drop
            | Event::Flow(_)
            | Event::Handshake { .. }
            | Event::Stats(_)
            | Event::Other => None,
        })
    }
}

/// Splits, limits and reads.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    alerts: Budget,
    blocked: Budget,
    proven: Budget,
    others: Bucket,
    stats: Bucket,
    counts: Counts,
    wanted: WantedKinds,
}

impl Reader {
    /// Nothing read yet.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self {
            lines: Lines::default(),
            alerts: Budget::new(rates.alerts, rates.seed),
            blocked: Budget::new(rates.blocked, rates.seed),
            proven: Budget::new(rates.proven, rates.seed),
            others: Bucket::new(rates.others),
            // They come every 8 s, and nothing should crowd them out.
            stats: Bucket::new(Rate { per_second: 2, burst: 4 }),
            counts: Counts::default(),
            wanted: WantedKinds::default(),
        }
    }

    /// Lines of these types are kept.
    pub fn keep(&mut self, wanted: WantedKinds) {
        self.wanted = wanted;
    }

    /// Takes the bytes that came at `now`; adds their events and lines to `batch`.
    pub fn read(&mut self, now: Duration, bytes: &[u8], batch: &mut Batch) {
        let Self { lines, alerts, blocked, proven, others, stats, counts, wanted } = self;
        lines.push(bytes, |line| {
            counts.lines += 1;
            let kind = kind_of(line);
            let taken = match kind {
                Some(b"alert") => {
                    counts.alerts += 1;
                    let (budget, lost) = match drop_of(line) {
                        None => (&mut *alerts, &mut counts.not_read_alerts),
                        Some(false) => (&mut *blocked, &mut counts.not_read_blocked),
                        Some(true) => (&mut *proven, &mut counts.not_read_blocked),
                    };
                    let taken = budget.take(now, source_of(line), rule_of(line));
                    *lost += u64::from(!taken);
                    taken
                }
                Some(b"stats") => stats.take(now),
                _ => others.take(now),
            };
            if !taken {
                counts.not_read += 1;
                return;
            }
            match read_event(line) {
                Some(Event::Other) => {}
                Some(event) => {
                    batch.events.push(event);
                    batch.lines.extend(kept(kind, line, wanted));
                }
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

/// The line for collectors. Suricata writes bytes of the network unchanged, and JSON is UTF-8.
fn kept(kind: Option<&[u8]>, line: &[u8], wanted: &WantedKinds) -> Option<EventLine> {
    let kind = EventKind::from_name(std::str::from_utf8(kind?).ok()?)?;
    wanted
        .has(kind)
        .then(|| EventLine { kind, text: String::from_utf8_lossy(line).as_bytes().into() })
}

/// The type, which Suricata writes behind the time, the flow and the device, without reading
/// the line.
fn kind_of(line: &[u8]) -> Option<&[u8]> {
    text(&line[..line.len().min(256)], b"\"event_type\":\"")
}

/// Whether an alert is about a dropped packet, and of a proven source then. A quotation mark in a
/// text from the network is escaped, so none looks like these.
fn drop_of(alert: &[u8]) -> Option<bool> {
    let dropped = behind(alert, b"\"alert\":{\"action\":\"blocked\"").is_some()
        || behind(alert, b"\"verdict\":{\"action\":\"drop\"").is_some();
    dropped.then(|| behind(alert, b"\"fastpath.handshake\"").is_some())
}

fn source_of(alert: &[u8]) -> Option<IpAddr> {
    let text = text(&alert[..alert.len().min(512)], b"\"src_ip\":\"")?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn rule_of(alert: &[u8]) -> u64 {
    let digits = behind(alert, b"\"signature_id\":").unwrap_or_default();
    let digits = digits.iter().take(10).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// The text up to the next quotation mark.
fn text<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let value = behind(line, key)?;
    let end = value.iter().position(|byte| *byte == b'"')?;
    Some(&value[..end])
}

fn behind<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let begin = line.windows(key.len()).position(|window| window == key)?;
    Some(&line[begin + key.len()..])
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
