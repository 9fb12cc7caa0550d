// SPDX-License-Identifier: GPL-2.0-or-later
//! Stable sorts for code that runs rarely. The standard library's take 3 kB of program for each
//! type and order, these 200 bytes. `BTreeSet` and `BTreeMap` sort what they collect, too.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Collects into sets and maps by inserting.
pub trait Collect: Iterator + Sized {
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }

    /// Keeps the last value of a key.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }
}

impl<I: Iterator> Collect for I {}

pub fn values<T: Ord>(list: &mut [T]) {
    by(list, T::cmp);
}

pub fn by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    by(list, |a, b| key(a).cmp(&key(b)));
}

pub fn by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = order(list.len(), &|a, b| compare(&list[a], &list[b]));
    for at in 0..list.len() {
        let mut from = order[at];
        // Earlier steps moved it away.
        while from < at {
            from = order[from];
        }
        order[at] = from;
        list.swap(at, from);
    }
}

/// Returns the former index of each place. Not generic, so that it is compiled once.
fn order(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_like_the_standard_library(pairs in vec((0..9_u8, 0..9_u8), 0..99)) {
            let mut sorted = pairs.clone();
            by_key(&mut sorted, |(key, _)| *key);
            let mut expected = pairs.clone();
            expected.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(sorted, expected);
            let mut all = pairs.clone();
            values(&mut all);
            let mut expected = pairs;
            expected.sort_unstable();
            prop_assert_eq!(all, expected);
        }
    }
}
