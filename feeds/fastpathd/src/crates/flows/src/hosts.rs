// SPDX-License-Identifier: GPL-2.0-or-later
//! Bytes of the busiest hosts behind the router, for metrics: a bounded number of series and one
//! for all others. Which hosts have a series of their own follows their bytes of about the last
//! hour, and is decided once a minute.
//!
//! A byte is counted in one series and stays there: a host that gets a series starts at 0, and its
//! earlier bytes stay with the others. So no series ever decreases, and the growth of all of them
//! is the growth of the traffic.

use std::cmp::Reverse;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::time::Millis;

/// Hosts with a series of their own, unless the configuration says otherwise.
const NAMED: usize = 20;
/// Hosts that are compared: further ones wait until idle ones are forgotten. Less than 200 kB.
const KNOWN: usize = 3500;
/// Pause between two decisions.
const RANKED_MS: Millis = 60_000;
/// The part of a host's bytes that no longer counts after each: half of them after 44 minutes.
const FADES: u64 = 64;
/// A host with fewer bytes is forgotten.
const IDLE: u64 = 64 * 1024;

/// Bytes of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTraffic {
    /// Its address.
    pub address: IpAddr,
    /// Sent and received since it has a series.
    pub bytes: [u64; 2],
}

#[derive(Debug, Default)]
struct Host {
    /// Bytes of about the last hour.
    lately: u64,
    /// Its series.
    series: Option<usize>,
}

/// The hosts behind the router.
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

    /// So many hosts have a series of their own.
    pub(crate) fn limit(&mut self, most: usize) {
        if self.most != most {
            self.most = most;
            self.rank();
        }
    }

    /// Once a second.
    pub(crate) fn second(&mut self, now: Millis) {
        if now - self.ranked >= RANKED_MS {
            self.ranked = now;
            for host in self.known.values_mut() {
                host.lately -= host.lately.div_ceil(FADES);
            }
            self.rank();
        }
    }

    /// Gives the busiest hosts a series. One that has a series keeps it until another one has a
    /// quarter more bytes: a new series every minute would be of no use.
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
        // A quarter of the places is for hosts that are new by the next time.
        let kept = (KNOWN / 4 * 3).saturating_sub(named.len());
        for (at, (rating, address)) in rest.iter().enumerate() {
            if at >= kept || *rating < IDLE || self.most == 0 {
                self.known.remove(address);
            } else if let Some(host) = self.known.get_mut(address) {
                host.series = None;
            }
        }
    }

    /// Those with a series of their own.
    pub(crate) fn named(&self) -> &[HostTraffic] {
        &self.series
    }

    /// Bytes that all others have sent and received.
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
#[path = "hosts_tests.rs"]
mod tests;
