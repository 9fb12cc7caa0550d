// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounded list of alerts. A full list evicts the oldest alert of the rule or source with the most
//! alerts, so that a flood evicts itself.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use super::alert::Alert;

type Rule = (u32, u32);

#[derive(Debug)]
pub(super) struct Ring {
    most: usize,
    kept: VecDeque<(u64, Alert)>,
    by_rule: HashMap<Rule, usize>,
    by_source: HashMap<Option<IpAddr>, usize>,
}

impl Ring {
    pub(super) fn new(most: usize) -> Self {
        let (by_rule, by_source) = (HashMap::new(), HashMap::new());
        Self { most, kept: VecDeque::new(), by_rule, by_source }
    }

    pub(super) fn add(&mut self, id: u64, alert: Alert) {
        if self.kept.len() >= self.most {
            self.make_room();
        }
        *self.by_rule.entry((alert.gid, alert.sid)).or_default() += 1;
        *self.by_source.entry(alert.src).or_default() += 1;
        self.kept.push_back((id, alert));
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns the alerts with their ids, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Alert)> {
        self.kept.iter().map(|(id, alert)| (*id, alert))
    }

    fn make_room(&mut self) {
        let counts = self.by_rule.values().chain(self.by_source.values());
        let most = counts.copied().max().unwrap_or_default();
        let of_most = |(_, alert): &(u64, Alert)| {
            self.by_rule.get(&(alert.gid, alert.sid)) == Some(&most)
                || self.by_source.get(&alert.src) == Some(&most)
        };
        let index = self.kept.iter().position(of_most).unwrap_or_default();
        let Some((_, gone)) = self.kept.remove(index) else { return };
        subtract(&mut self.by_rule, &(gone.gid, gone.sid));
        subtract(&mut self.by_source, &gone.src);
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
