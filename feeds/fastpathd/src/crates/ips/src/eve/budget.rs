// SPDX-License-Identifier: GPL-2.0-or-later
//! Rate limits for one class of alerts: in total, per source and per rule, so that a single source
//! or rule cannot exhaust the total.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use super::rate::{Bucket, Rate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertRates {
    pub all: Rate,
    pub source: Rate,
    pub rule: Rate,
}

#[derive(Debug)]
pub(super) struct Budget {
    all: Bucket,
    sources: Shares,
    rules: Shares,
}

impl Budget {
    /// Creates full buckets. `seed` must be secret, see [`Shares`].
    pub(super) fn new(rates: AlertRates, seed: u64) -> Self {
        Self {
            all: Bucket::new(rates.all),
            sources: Shares::new(rates.source, seed),
            rules: Shares::new(rates.rule, !seed),
        }
    }

    /// Takes a token for this source and rule. Returns false if the source, the rule or the class
    /// has no token left.
    pub(super) fn take(&mut self, now: Duration, source: Option<IpAddr>, rule: u64) -> bool {
        let source = source.map(|address| match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits()),
            IpAddr::V6(v6) => v6.to_bits() >> 64 << 64,
        });
        let shares = [self.sources.of(source), self.rules.of(rule), &mut self.all];
        let ready = shares.into_iter().all(|bucket| bucket.is_ready(now));
        if ready {
            self.sources.of(source).take(now);
            self.rules.of(rule).take(now);
            self.all.take(now);
        }
        ready
    }
}

/// Token buckets of sources or rules. Keys share 512 buckets to bound memory. The secret seed
/// prevents an attacker from choosing a key that shares the bucket of a victim.
#[derive(Debug)]
struct Shares {
    seed: u64,
    buckets: Vec<Bucket>,
}

impl Shares {
    fn new(rate: Rate, seed: u64) -> Self {
        Self { seed, buckets: (0..512).map(|_| Bucket::new(rate)).collect() }
    }

    fn of(&mut self, key: impl Hash) -> &mut Bucket {
        let mut hasher = DefaultHasher::new();
        (self.seed, key).hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % 512).unwrap_or_default();
        &mut self.buckets[index]
    }
}
