// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses the EVE stream within rate limits and counts skipped lines. Alerts have separate limits
//! for passed packets, dropped packets and dropped packets of proven sources; `stats` and the other
//! types have their own.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use super::alert::Alert;
use super::budget::{AlertRates, Budget};
use super::event::{Event, EventKind, EventLine, read_event};
use super::lines::Lines;
use super::rate::{Bucket, Rate};
use super::wanted::WantedKinds;

/// Rate limits of lines. Attackers can generate alerts about passed packets and, with forged
/// sources, about dropped packets. Each class has its own limit, so that they cannot suppress the
/// alerts that cause blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub alerts: AlertRates,
    /// Alerts about dropped packets whose source may be forged.
    pub blocked: AlertRates,
    pub proven: AlertRates,
    /// Ended connections, handshakes, drops and other types.
    pub others: Rate,
    /// Secret that hides which sources and rules share a bucket.
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

/// Numbers of lines since the start, for the reply of `ips`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub lines: u64,
    /// Alerts including skipped ones, for the reply of `alerts`.
    #[serde(skip)]
    pub alerts: u64,
    /// Lines of any type skipped by the rate limits.
    pub not_read: u64,
    pub not_read_alerts: u64,
    pub not_read_blocked: u64,
    pub unparsable: u64,
    pub oversized: u64,
    pub strangers: u64,
}

/// Events of one read.
#[derive(Debug, Default)]
pub struct Batch {
    pub events: Vec<Event>,
    /// Unchanged lines of events that collectors want.
    pub lines: Vec<EventLine>,
    pub counts: Counts,
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
            // Suricata reports counters every 8 s; other events must not displace them.
            stats: Bucket::new(Rate { per_second: 2, burst: 4 }),
            counts: Counts::default(),
            wanted: WantedKinds::default(),
        }
    }

    pub fn keep(&mut self, wanted: WantedKinds) {
        self.wanted = wanted;
    }

    pub fn read(&mut self, now: Duration, bytes: &[u8], batch: &mut Batch) {
        let Self { lines, alerts, blocked, proven, others, stats, counts, wanted } = self;
        lines.push(bytes, |line| {
            counts.lines += 1;
            let kind = kind_of(line);
            let allowed = match kind {
                Some(b"alert") => {
                    counts.alerts += 1;
                    let (budget, skipped) = match drop_of(line) {
                        None => (&mut *alerts, &mut counts.not_read_alerts),
                        Some(false) => (&mut *blocked, &mut counts.not_read_blocked),
                        Some(true) => (&mut *proven, &mut counts.not_read_blocked),
                    };
                    let allowed = budget.take(now, source_of(line), rule_of(line));
                    *skipped += u64::from(!allowed);
                    allowed
                }
                Some(b"stats") => stats.take(now),
                _ => others.take(now),
            };
            if !allowed {
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

    pub fn restart(&mut self) {
        self.lines.restart();
    }

    pub(super) fn note_stranger(&mut self) {
        self.counts.strangers += 1;
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Returns the line if collectors want its type. Invalid UTF-8 is replaced, because JSON is UTF-8.
fn kept(kind: Option<&[u8]>, line: &[u8], wanted: &WantedKinds) -> Option<EventLine> {
    let kind = EventKind::from_name(std::str::from_utf8(kind?).ok()?)?;
    wanted
        .has(kind)
        .then(|| EventLine { kind, text: String::from_utf8_lossy(line).as_bytes().into() })
}

/// Returns the type without parsing the line. Suricata writes time, flow and device before it.
fn kind_of(line: &[u8]) -> Option<&[u8]> {
    text(&line[..line.len().min(256)], b"\"event_type\":\"")
}

/// Returns `None` for a passed packet, otherwise whether the source is proven. Texts from the
/// network cannot imitate these keys, because their quotation marks are escaped.
fn drop_of(alert: &[u8]) -> Option<bool> {
    let dropped = after_key(alert, b"\"alert\":{\"action\":\"blocked\"").is_some()
        || after_key(alert, b"\"verdict\":{\"action\":\"drop\"").is_some();
    dropped.then(|| after_key(alert, b"\"fastpath.handshake\"").is_some())
}

fn source_of(alert: &[u8]) -> Option<IpAddr> {
    let text = text(&alert[..alert.len().min(512)], b"\"src_ip\":\"")?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn rule_of(alert: &[u8]) -> u64 {
    let digits = after_key(alert, b"\"signature_id\":").unwrap_or_default();
    let digits = digits.iter().take(10).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

fn text<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let value = after_key(line, key)?;
    let end = value.iter().position(|byte| *byte == b'"')?;
    Some(&value[..end])
}

fn after_key<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let begin = line.windows(key.len()).position(|window| window == key)?;
    Some(&line[begin + key.len()..])
}

#[cfg(test)]
mod tests;
