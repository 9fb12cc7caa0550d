// SPDX-License-Identifier: GPL-2.0-or-later
//! Things put in order with little code.
//!
//! The standard library's sort is compiled for every type, over 4 kB each, and collecting into a
//! B-tree sorts first. These do the same with one sort of positions, or with none. For lists and
//! sets of a router's size; not for work per flow.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts by a key; equals keep their order.
pub fn sort_by_key<T, K: Ord>(list: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by a comparison; equals keep their order.
pub fn sort_by<T>(list: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let order = positions(list.len(), &|a, b| compare(&list[a], &list[b]));
    let mut taken: Vec<Option<T>> = std::mem::take(list).into_iter().map(Some).collect();
    list.extend(order.into_iter().filter_map(|position| taken[position].take()));
}

fn positions(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// A map of pairs; of several with one key the last counts.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// A set of items.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_keep_their_order() {
        let mut list = vec![(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e')];
        sort_by_key(&mut list, |(number, _)| *number);
        assert_eq!(list, [(1, 'b'), (1, 'e'), (2, 'd'), (3, 'a'), (3, 'c')]);
    }

    #[test]
    fn a_long_list_without_copies_is_sorted() {
        let mut list: Vec<String> = (0..500).map(|n| format!("{:03}", n * 7 % 500)).collect();
        sort_by_key(&mut list, Clone::clone);
        assert!(list.len() == 500 && list.is_sorted());
        let mut none: Vec<u8> = Vec::new();
        sort_by_key(&mut none, |number| *number);
        assert!(none.is_empty());
    }

    #[test]
    fn the_last_of_a_key_counts() {
        assert_eq!(map([(2, 'a'), (1, 'b'), (2, 'c')]), BTreeMap::from([(1, 'b'), (2, 'c')]));
        assert_eq!(set([3, 1, 3]), BTreeSet::from([1, 3]));
    }
}
