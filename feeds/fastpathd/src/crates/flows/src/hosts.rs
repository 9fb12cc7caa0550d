// SPDX-License-Identifier: GPL-2.0-or-later
//! Bytes of the busiest hosts behind the router, for metrics: a bounded number of series and one
//! for all other hosts, ranked once a minute by their bytes of about the last hour.
//!
//! Each byte stays in the series that counted it: a new series starts at 0, and the host's earlier
//! bytes stay with the others. So series never decrease, and together grow by the traffic.

use std::cmp::Reverse;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::time::Millis;

/// Default number of hosts with their own series.
const NAMED: usize = 20;
/// Maximum hosts compared, less than 200 kB. Further hosts wait until idle ones are removed.
const KNOWN: usize = 3500;
/// Interval of the ranking.
const RANKED_MS: Millis = 60_000;
/// Each ranking discounts one in this many of a host's bytes: half of them after 44 minutes.
const FADES: u64 = 64;
/// A host without a series is removed below this many recent bytes.
const IDLE: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTraffic {
    pub address: IpAddr,
    /// Sent and received since the host got its series.
    pub bytes: [u64; 2],
}

#[derive(Debug, Default)]
struct Host {
    /// Decaying sum of bytes, about the last hour.
    lately: u64,
    /// Index into `Hosts::series`.
    series: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Hosts {
    most: usize,
    known: HashMap<IpAddr, Host>,
    series: Vec<HostTraffic>,
    others: [u64; 2],
    ranked: Millis,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { most: NAMED, known: HashMap::new(), series: Vec::new(), others: [0; 2], ranked: 0 }
    }
}

impl Hosts {
    /// `grown`: bytes that the host has sent and received.
    pub(crate) fn add(&mut self, address: IpAddr, grown: [u64; 2]) {
        let full = self.known.len() >= KNOWN;
        let host = match self.known.get_mut(&address) {
            None if full || self.most == 0 => return add(&mut self.others, grown),
            None => self.known.entry(address).or_default(),
            Some(host) => host,
        };
        let [sent, received] = grown;
        host.lately = host.lately.saturating_add(sent).saturating_add(received);
        if host.series.is_none() && self.series.len() < self.most {
            host.series = Some(self.series.len());
            self.series.push(HostTraffic { address, bytes: [0; 2] });
        }
        match host.series.and_then(|at| self.series.get_mut(at)) {
            Some(series) => add(&mut series.bytes, grown),
            None => add(&mut self.others, grown),
        }
    }

    /// Sets how many hosts have their own series.
    pub(crate) fn limit(&mut self, most: usize) {
        if self.most != most {
            self.most = most;
            self.rank();
        }
    }

    /// Called once a second.
    pub(crate) fn second(&mut self, now: Millis) {
        if now - self.ranked >= RANKED_MS {
            self.ranked = now;
            for host in self.known.values_mut() {
                host.lately -= host.lately.div_ceil(FADES);
            }
            self.rank();
        }
    }

    /// Gives the busiest hosts a series. A host keeps its series until another one has a quarter
    /// more bytes, which avoids new series every minute.
    fn rank(&mut self) {
        let mut order: Vec<(u64, IpAddr)> = self.known.iter().map(rating).collect();
        order.sort_unstable_by_key(|(rating, address)| (Reverse(*rating), *address));
        let (named, rest) = order.split_at(self.most.min(order.len()));
        let mut series = Vec::new();
        for (_, address) in named {
            let host = self.known.get_mut(address);
            let kept = host.as_ref().and_then(|host| self.series.get(host.series?)).copied();
            if let Some(host) = host {
                host.series = Some(series.len());
            }
            series.push(kept.unwrap_or(HostTraffic { address: *address, bytes: [0; 2] }));
        }
        self.series = series;
        // Reserve a quarter of the entries for hosts that are new by the next ranking.
        let kept = (KNOWN / 4 * 3).saturating_sub(named.len());
        for (at, (rating, address)) in rest.iter().enumerate() {
            if at >= kept || *rating < IDLE || self.most == 0 {
                self.known.remove(address);
            } else if let Some(host) = self.known.get_mut(address) {
                host.series = None;
            }
        }
    }

    /// Returns the hosts with their own series.
    pub(crate) fn named(&self) -> &[HostTraffic] {
        &self.series
    }

    /// Returns the bytes that all other hosts have sent and received.
    pub(crate) fn others(&self) -> [u64; 2] {
        self.others
    }
}

fn rating((address, host): (&IpAddr, &Host)) -> (u64, IpAddr) {
    let bonus = if host.series.is_some() { host.lately / 4 } else { 0 };
    (host.lately.saturating_add(bonus), *address)
}

fn add(sums: &mut [u64; 2], grown: [u64; 2]) {
    for (sum, grown) in sums.iter_mut().zip(grown) {
        *sum = sum.saturating_add(grown);
    }
}

#[cfg(test)]
mod tests;
