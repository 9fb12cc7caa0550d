// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that a window of the order equals a window of the fully sorted keys.

use proptest::prelude::*;

use crate::order::{ranks, window};

proptest! {
    #[test]
    fn a_window_is_a_slice_of_the_whole(
        mut keys in prop::collection::vec((0..9_u128, any::<u32>(), any::<u32>()), 0..300),
        offset in 0_usize..350,
        limit in 0_usize..350,
    ) {
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let wanted: Vec<_> = sorted.into_iter().skip(offset).take(limit).collect();
        prop_assert_eq!(window(&mut keys, offset, limit), wanted);
    }
}

#[test]
fn ranks_follow_the_alphabet() {
    assert_eq!(ranks(["wan", "lan", "", "wan", "guest"].into_iter()), [0, 3, 2, 0, 3, 1]);
    assert_eq!(ranks(std::iter::empty::<&str>()), [0]);
}
