// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds devices that exceed their quota, and rate-limits events about alerts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ledger::{Kind, QUARTER_S, Recent};
use topology::Mac;

use super::Sample;

/// Maximum devices whose bytes of the day are counted.
const MAX_DEVICES: usize = 1024;
const BYTES_PER_MB: u64 = 1_000_000;
/// Minimum time between two events about the same rule and device.
const ALERT_INTERVAL: Duration = Duration::from_secs(3600);
/// Maximum pairs of a rule and a device; alerts of further pairs are counted together.
const MAX_PAIRS: usize = 128;

/// Bytes of each device in its local day.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    /// Days since the epoch in local time; `None` until the clock is set.
    day: Option<i64>,
    bytes: BTreeMap<Mac, u64>,
    exceeded: BTreeSet<Mac>,
    /// End of the record of the previous process, until the clock is set.
    recent: Option<Recent>,
}

impl Quotas {
    pub(super) fn opened(&mut self, recent: Recent) {
        self.recent = Some(recent);
    }

    pub(super) fn second(&mut self, sample: &Sample<'_>, unix_ms: u64) -> Vec<(Kind, String)> {
        let day = (sample.day_of)(unix_ms);
        if day.is_some() && day != self.day {
            // Bytes before the clock was set are of the current day.
            if self.day.is_some() {
                self.bytes.clear();
                self.exceeded.clear();
            }
            self.day = day;
        }
        if let Some(recent) = self.recent.take_if(|_| day.is_some()) {
            self.adopt(recent, sample);
        }
        for (mac, bytes) in sample.devices {
            if let Some(mac) = mac {
                self.add(*mac, bytes.sent.saturating_add(bytes.received));
            }
        }
        let mut events = Vec::new();
        for (mac, quota_mb) in sample.quotas.iter().filter(|_| day.is_some()) {
            let bytes = self.bytes.get(mac).copied().unwrap_or(0);
            if bytes > u64::from(*quota_mb) * BYTES_PER_MB && self.exceeded.insert(*mac) {
                events.push((Kind::Quota, format!("{mac} {quota_mb}")));
            }
        }
        events
    }

    fn adopt(&mut self, recent: Recent, sample: &Sample<'_>) {
        let day = self.day;
        let is_today = |unix_ms: u64| (sample.day_of)(unix_ms) == day;
        for event in recent.events.iter().filter(|event| is_today(event.unix_ms)) {
            let mac = event.about.split(' ').next().and_then(|mac| mac.parse::<Mac>().ok());
            self.exceeded.extend(mac.filter(|_| event.kind == Kind::Quota));
        }
        for (quarter, mac, bytes) in recent.devices {
            if is_today(u64::from(quarter) * u64::from(QUARTER_S) * 1000) {
                self.add(Mac(mac), bytes);
            }
        }
    }

    fn add(&mut self, mac: Mac, bytes: u64) {
        if self.bytes.len() < MAX_DEVICES || self.bytes.contains_key(&mac) {
            let sum = self.bytes.entry(mac).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// An alert, and the device behind the router that it concerns.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) sid: u32,
    pub(crate) mac: Option<Mac>,
    pub(crate) signature: String,
}

/// The last event about a rule and a device.
#[derive(Debug)]
struct Told {
    at: Duration,
    /// Alerts since then.
    more: u64,
    signature: String,
}

#[derive(Debug, Default)]
pub(super) struct Alerts(BTreeMap<(u32, Option<Mac>), Told>);

impl Alerts {
    pub(super) fn second(&mut self, hits: &[Hit], now: Duration) -> Vec<(Kind, String)> {
        let mut events = Vec::new();
        let mut tell = |(sid, mac): &(u32, Option<Mac>), number: u64, signature: &str| {
            let mac = mac.map_or_else(|| "-".to_owned(), |mac| mac.to_string());
            events.push((Kind::Alert, format!("{sid} {mac} {number} {signature}")));
        };
        for hit in hits {
            let mut key = (hit.sid, hit.mac);
            let mut signature = hit.signature.as_str();
            if self.0.len() >= MAX_PAIRS && !self.0.contains_key(&key) {
                (key, signature) = ((0, None), "further rules and devices");
            }
            if let Some(told) = self.0.get_mut(&key) {
                told.more += 1;
            } else {
                tell(&key, 1, signature);
                self.0.insert(key, Told { at: now, more: 0, signature: signature.to_owned() });
            }
        }
        self.0.retain(|key, told| {
            if now.saturating_sub(told.at) < ALERT_INTERVAL {
                return true;
            }
            let is_active = told.more > 0;
            if is_active {
                tell(key, told.more, &told.signature);
                (told.at, told.more) = (now, 0);
            }
            is_active
        });
        events
    }
}

#[cfg(test)]
mod tests;
