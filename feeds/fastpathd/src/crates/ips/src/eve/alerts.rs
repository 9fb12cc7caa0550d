// SPDX-License-Identifier: GPL-2.0-or-later
//! The last 1000 alerts, with the filter of the method `alerts`.

use std::cmp::Reverse;
use std::net::IpAddr;

use serde::Serialize;

use super::alert::Alert;
use super::ring::Ring;
use super::saved;

/// Maximum numbers of alerts about passed and dropped packets. An alert takes less than 2 KiB.
const MAX_ALERTS: [usize; 2] = [600, 400];

pub trait AlertContext {
    fn name(&self, address: IpAddr) -> Option<&str>;
    /// Returns the id of the alert's flow, if the flow table still has it.
    fn flow(&self, alert: &Alert) -> Option<u64>;
}

impl AlertContext for () {
    fn name(&self, _: IpAddr) -> Option<&str> {
        None
    }
    fn flow(&self, _: &Alert) -> Option<u64> {
        None
    }
}

/// Filter of the method `alerts`. An alert must meet all conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertFilter {
    /// Part of a text, an address or a host name, case-insensitive.
    pub text: Option<String>,
    /// True for dropped packets, false for passed packets.
    pub blocked: Option<bool>,
    /// Maximum severity number; smaller numbers are more severe.
    pub severity: Option<u32>,
    /// Either end is one of them; empty: any.
    pub addresses: Vec<IpAddr>,
    pub sid: Option<u32>,
    pub flow: Option<u64>,
    pub from_ms: i64,
    /// Alerts before this time; `None` without a limit.
    pub to_ms: Option<i64>,
    pub since: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<'a> {
    /// Number of stored alerts that match.
    pub total: usize,
    /// Alerts since the start, including those that the rate limits skipped.
    pub seen: u64,
    /// Id of the newest alert. 0 without alerts.
    pub last: u64,
    /// Newest first.
    pub alerts: Vec<Row<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row<'a> {
    pub id: u64,
    #[serde(flatten)]
    pub alert: &'a Alert,
    pub src_name: String,
    pub dst_name: String,
    pub flow: u64,
}

/// The last alerts. Alerts about passed packets never evict alerts about dropped packets.
#[derive(Debug)]
pub struct Alerts {
    passed: Ring,
    blocked: Ring,
    last: u64,
}

impl Default for Alerts {
    fn default() -> Self {
        let [passed, blocked] = MAX_ALERTS.map(Ring::new);
        Self { passed, blocked, last: 0 }
    }
}

impl Alerts {
    pub(super) fn add(&mut self, alert: Alert) {
        self.insert(self.last + 1, alert);
    }

    fn insert(&mut self, id: u64, alert: Alert) {
        let ring = if alert.blocked { &mut self.blocked } else { &mut self.passed };
        ring.add(id, alert);
        self.last = id;
    }

    /// Serializes the newest alerts that fit into [`saved::MAX_FILE_LEN`].
    #[must_use]
    pub fn save(&self) -> String {
        saved::write(self.newest_first())
    }

    /// Restores the alerts of a previous process. Must be called before alerts are added.
    pub fn restore(&mut self, text: &str) {
        for (id, alert) in saved::read(text).into_iter().rev() {
            if id > self.last {
                self.insert(id, alert);
            }
        }
    }

    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of stored alerts and the time of the oldest in Unix ms (0 without
    /// alerts).
    #[must_use]
    pub fn kept(&self) -> (usize, i64) {
        let rings = [&self.passed, &self.blocked];
        let oldest = rings.iter().filter_map(|ring| ring.iter().next()).min_by_key(|(id, _)| *id);
        (rings.map(Ring::len).iter().sum(), oldest.map_or(0, |(_, alert)| alert.at_ms))
    }

    pub fn newest_first(&self) -> impl Iterator<Item = (u64, &Alert)> {
        let mut all: Vec<_> = self.passed.iter().chain(self.blocked.iter()).collect();
        config::sort::by_key(&mut all, |(id, _)| Reverse(*id));
        all.into_iter()
    }

    /// Returns the newest `limit` matches and their total. `seen` is [`super::Counts::alerts`].
    #[must_use]
    pub fn page<'a>(
        &'a self,
        filter: &AlertFilter,
        limit: usize,
        seen: u64,
        context: &impl AlertContext,
    ) -> Page<'a> {
        let words = filter.text.as_ref().map(|text| text.to_lowercase());
        let mut page = Page { total: 0, seen, last: self.last, alerts: Vec::new() };
        for (id, alert) in self.newest_first().take_while(|(id, _)| *id > filter.since) {
            if !matches(filter, alert, context) || !contains_text(words.as_deref(), alert, context)
            {
                continue;
            }
            page.total += 1;
            if page.alerts.len() < limit {
                page.alerts.push(row(id, alert, context));
            }
        }
        page
    }
}

fn matches(filter: &AlertFilter, alert: &Alert, context: &impl AlertContext) -> bool {
    let ends = || [alert.src, alert.dst].into_iter().flatten();
    filter.blocked.is_none_or(|blocked| blocked == alert.blocked)
        && filter.severity.is_none_or(|worst| alert.severity <= worst)
        && alert.at_ms >= filter.from_ms
        && filter.to_ms.is_none_or(|end| alert.at_ms < end)
        && filter.sid.is_none_or(|sid| sid == alert.sid)
        && (filter.addresses.is_empty() || ends().any(|end| filter.addresses.contains(&end)))
        && filter.flow.is_none_or(|flow| context.flow(alert) == Some(flow))
}

fn contains_text(words: Option<&str>, alert: &Alert, context: &impl AlertContext) -> bool {
    let Some(words) = words else {
        return true;
    };
    let ends = || [alert.src, alert.dst].into_iter().flatten();
    let contains = |text: &str| text.to_lowercase().contains(words);
    [&alert.signature, &alert.category, &alert.target].into_iter().any(|text| contains(text))
        || ends().any(|end| contains(&end.to_string()))
        || ends().filter_map(|end| context.name(end)).any(contains)
}

fn row<'a>(id: u64, alert: &'a Alert, context: &impl AlertContext) -> Row<'a> {
    let name =
        |end: Option<IpAddr>| end.and_then(|end| context.name(end)).unwrap_or_default().to_owned();
    Row {
        id,
        alert,
        src_name: name(alert.src),
        dst_name: name(alert.dst),
        flow: context.flow(alert).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
