// SPDX-License-Identifier: GPL-2.0-or-later
//! Rate limits for one kind of alerts: in total, for each source and for each rule. A flood of one
//! source or rule uses up only its own share.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use super::rate::{Bucket, Rate};

/// Rates of one kind of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertRates {
    /// All alerts of the kind together.
    pub all: Rate,
    /// Alerts of one source, which is an IPv4 address or an IPv6 /64.
    pub source: Rate,
    /// Alerts of one rule.
    pub rule: Rate,
}

#[derive(Debug)]
pub(super) struct Budget {
    all: Bucket,
    sources: Shares,
    rules: Shares,
}

impl Budget {
    /// `seed` must be a secret of this process, see [`Shares`].
    pub(super) fn new(rates: AlertRates, seed: u64) -> Self {
        Self {
            all: Bucket::new(rates.all),
            sources: Shares::new(rates.source, seed),
            rules: Shares::new(rates.rule, !seed),
        }
    }

    /// Takes a token for this source and rule; false if the source, the rule or the kind has none
    /// left.
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

/// Token buckets of the sources or rules. Keys share 512 buckets to bound memory. The secret seed
/// keeps an attacker from choosing a key that shares the bucket of another one.
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
