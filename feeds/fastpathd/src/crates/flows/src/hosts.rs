// SPDX-License-Identifier: GPL-2.0-or-later
//! Bytes of the busiest hosts behind the router, for metrics. Each of these hosts has a series; all
//! other hosts share one. Hosts are ranked once a minute by their bytes of about the last hour.
//!
//! A new series starts at 0, and earlier bytes of its host stay in the shared series. So series
//! never decrease, and their sum grows by the traffic.

use std::cmp::Reverse;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::time::Millis;

const DEFAULT_SERIES: usize = 20;
/// Maximum hosts compared, less than 200 kB. Further hosts are added after idle ones were removed.
const MAX_HOSTS: usize = 3500;
const RANKING_INTERVAL_MS: Millis = 60_000;
/// Each ranking removes 1/64 of a host's recent bytes, which halves them in 44 minutes.
const DECAY: u64 = 64;
/// Recent bytes below which a host without a series is removed.
const IDLE_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTraffic {
    pub address: IpAddr,
    /// Bytes sent and received, since the host has a series.
    pub bytes: [u64; 2],
}

#[derive(Debug, Default)]
struct Host {
    /// Decaying sum of bytes of about the last hour.
    lately: u64,
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
        let (known, series) = (HashMap::new(), Vec::new());
        Self { most: DEFAULT_SERIES, known, series, others: [0; 2], ranked: 0 }
    }
}

impl Hosts {
    pub(crate) fn add(&mut self, address: IpAddr, grown: [u64; 2]) {
        let full = self.known.len() >= MAX_HOSTS;
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

    pub(crate) fn limit(&mut self, most: usize) {
        if self.most != most {
            self.most = most;
            self.rank();
        }
    }

    /// Ranks the hosts if the ranking is due. Called once a second.
    pub(crate) fn second(&mut self, now: Millis) {
        if now - self.ranked >= RANKING_INTERVAL_MS {
            self.ranked = now;
            for host in self.known.values_mut() {
                host.lately -= host.lately.div_ceil(DECAY);
            }
            self.rank();
        }
    }

    /// Assigns series to the busiest hosts. A host keeps its series until another host has a
    /// quarter more bytes, so that series do not change every minute.
    fn rank(&mut self) {
        let mut order: Vec<(u64, IpAddr)> = self.known.iter().map(rating).collect();
        config::sort::by_key(&mut order, |(rating, address)| (Reverse(*rating), *address));
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
        // Reserve a quarter of the entries for new hosts until the next ranking.
        let kept = (MAX_HOSTS / 4 * 3).saturating_sub(named.len());
        for (at, (rating, address)) in rest.iter().enumerate() {
            if at >= kept || *rating < IDLE_BYTES || self.most == 0 {
                self.known.remove(address);
            } else if let Some(host) = self.known.get_mut(address) {
                host.series = None;
            }
        }
    }

    pub(crate) fn named(&self) -> &[HostTraffic] {
        &self.series
    }

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
