// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses the EVE stream within rate limits, and counts the lines left unread. Alerts about packets
//! that passed, about dropped ones, and about dropped ones of proven sources have separate limits,
//! each of them also by source and rule; so have `stats` and the other types.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use super::alert::Alert;
use super::budget::{AlertRates, Budget};
use super::event::{Event, EventKind, EventLine, read_event};
use super::lines::Lines;
use super::rate::{Bucket, Rate};
use super::wanted::WantedKinds;

/// Rate limits of lines. Attackers can cause alerts about packets that pass and, with forged
/// sources, about dropped ones. Neither these nor thousands of ended connections may hide an alert
/// for which a source is blocked, so each class has its own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Alerts about packets that passed.
    pub alerts: AlertRates,
    /// Alerts about dropped packets with a source that may be forged.
    pub blocked: AlertRates,
    /// Alerts about dropped packets of proven sources.
    pub proven: AlertRates,
    /// Ended connections, handshakes, drops and other types.
    pub others: Rate,
    /// Secret, so that an attacker cannot predict which sources and rules share a bucket.
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

/// Numbers of lines since the start, for the answer of `ips`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub lines: u64,
    /// Alerts, read or not. The answer of `alerts` has them.
    #[serde(skip)]
    pub alerts: u64,
    /// Lines of any type that the rate limits left unread.
    pub not_read: u64,
    /// Unread alerts about packets that passed.
    pub not_read_alerts: u64,
    /// Unread alerts about dropped packets.
    pub not_read_blocked: u64,
    /// Lines that are not events.
    pub unparsable: u64,
    /// Lines longer than 64 KiB.
    pub oversized: u64,
    /// Connections of other users than Suricata's.
    pub strangers: u64,
}

/// Events of one read.
#[derive(Debug, Default)]
pub struct Batch {
    pub events: Vec<Event>,
    /// Lines of the events that collectors want, as Suricata has written them.
    pub lines: Vec<EventLine>,
    /// Totals since the start.
    pub counts: Counts,
    /// Suricata is connected.
    pub connected: bool,
}

impl Batch {
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

/// Splits, rate-limits and parses the stream.
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
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self {
            lines: Lines::default(),
            alerts: Budget::new(rates.alerts, rates.seed),
            blocked: Budget::new(rates.blocked, rates.seed),
            proven: Budget::new(rates.proven, rates.seed),
            others: Bucket::new(rates.others),
            // Suricata reports its counters every 8 s; other events must not crowd them out.
            stats: Bucket::new(Rate { per_second: 2, burst: 4 }),
            counts: Counts::default(),
            wanted: WantedKinds::default(),
        }
    }

    /// Keeps the lines of these types for collectors.
    pub fn keep(&mut self, wanted: WantedKinds) {
        self.wanted = wanted;
    }

    /// Parses the bytes received at `now`, and adds their events and lines to `batch`.
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

    /// Discards the incomplete line of a previous connection.
    pub fn restart(&mut self) {
        self.lines.restart();
    }

    /// Counts a refused connection.
    pub(super) fn note_stranger(&mut self) {
        self.counts.strangers += 1;
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Returns the line if collectors want its type. Suricata writes bytes of the network unchanged,
/// but JSON is UTF-8.
fn kept(kind: Option<&[u8]>, line: &[u8], wanted: &WantedKinds) -> Option<EventLine> {
    let kind = EventKind::from_name(std::str::from_utf8(kind?).ok()?)?;
    wanted
        .has(kind)
        .then(|| EventLine { kind, text: String::from_utf8_lossy(line).as_bytes().into() })
}

/// Returns the type without parsing the line: Suricata writes it behind time, flow and device.
fn kind_of(line: &[u8]) -> Option<&[u8]> {
    text(&line[..line.len().min(256)], b"\"event_type\":\"")
}

/// Returns `None` for an alert about a packet that passed, otherwise whether its source is proven.
/// Texts from the network cannot imitate these keys because their quotation marks are escaped.
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

/// Returns the text between `key` and the next quotation mark.
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
mod tests;
