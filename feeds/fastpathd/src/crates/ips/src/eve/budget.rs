// SPDX-License-Identifier: GPL-2.0-or-later
//! How many alerts of a kind are read: all of them together, of one source, of one rule. A flood of
//! one source or one rule uses up its own share, and the others are read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use super::rate::{Bucket, Rate};

/// Rates of one kind of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertRates {
    /// All of them.
    pub all: Rate,
    /// Those of one source: an IPv4 address or an IPv6 /64.
    pub source: Rate,
    /// Those of one rule.
    pub rule: Rate,
}

/// The tokens left.
#[derive(Debug)]
pub(super) struct Budget {
    all: Bucket,
    sources: Shares,
    rules: Shares,
}

impl Budget {
    /// `seed` is a secret of this process.
    pub(super) fn new(rates: AlertRates, seed: u64) -> Self {
        Self {
            all: Bucket::new(rates.all),
            sources: Shares::new(rates.source, seed),
            rules: Shares::new(rates.rule, !seed),
        }
    }

    /// Whether there is one more for this source and rule.
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

/// Keys share 512 buckets, so that memory is bounded. Without the seed nobody can choose a key
/// that shares the bucket of another one.
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
