// SPDX-License-Identifier: GPL-2.0-or-later

use proptest::prelude::*;

use crate::order::{Window, ranks};

proptest! {
    #[test]
    fn window_equals_a_slice_of_the_sorted_keys(
        keys in prop::collection::vec((0..9_u128, any::<u32>(), any::<u32>()), 0..300),
        offset in 0_usize..350,
        limit in 0_usize..350,
        spare in 0_usize..100,
    ) {
        let mut window = Window::new(offset, limit, spare);
        for key in &keys {
            window.push(*key);
        }
        prop_assert_eq!(window.matched(), keys.len());
        let mut sorted = keys;
        sorted.sort_unstable();
        let wanted: Vec<_> = sorted.into_iter().skip(offset).take(limit).collect();
        prop_assert_eq!(window.page(), wanted);
    }
}

#[test]
fn ranks_follow_the_alphabet() {
    assert_eq!(ranks(["wan", "lan", "", "wan", "guest"].into_iter()), [0, 3, 2, 0, 3, 1]);
    assert_eq!(ranks(std::iter::empty::<&str>()), [0]);
}
