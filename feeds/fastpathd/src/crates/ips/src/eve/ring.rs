// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounded list of alerts. A full list evicts the oldest alert of the most frequent rule or source,
//! so that a flood evicts its own alerts.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use super::alert::Alert;

type Rule = (u32, u32);

#[derive(Debug)]
pub(super) struct Ring {
    capacity: usize,
    kept: VecDeque<(u64, Alert)>,
    by_rule: HashMap<Rule, usize>,
    by_source: HashMap<Option<IpAddr>, usize>,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        let (by_rule, by_source) = (HashMap::new(), HashMap::new());
        Self { capacity, kept: VecDeque::new(), by_rule, by_source }
    }

    pub(super) fn add(&mut self, id: u64, alert: Alert) {
        if self.kept.len() >= self.capacity {
            self.evict();
        }
        *self.by_rule.entry((alert.gid, alert.sid)).or_default() += 1;
        *self.by_source.entry(alert.src).or_default() += 1;
        self.kept.push_back((id, alert));
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Alert)> {
        self.kept.iter().map(|(id, alert)| (*id, alert))
    }

    fn evict(&mut self) {
        let counts = self.by_rule.values().chain(self.by_source.values());
        let max = counts.copied().max().unwrap_or_default();
        let is_most_frequent = |(_, alert): &(u64, Alert)| {
            self.by_rule.get(&(alert.gid, alert.sid)) == Some(&max)
                || self.by_source.get(&alert.src) == Some(&max)
        };
        let index = self.kept.iter().position(is_most_frequent).unwrap_or_default();
        let Some((_, evicted)) = self.kept.remove(index) else { return };
        subtract(&mut self.by_rule, &(evicted.gid, evicted.sid));
        subtract(&mut self.by_source, &evicted.src);
    }
}

fn subtract<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
