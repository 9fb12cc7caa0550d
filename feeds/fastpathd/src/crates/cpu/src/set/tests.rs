// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

fn set(text: &str) -> CpuSet {
    text.parse().expect(text)
}

#[test]
fn parses_and_prints_lists_like_the_kernel() {
    for text in ["", "0", "0-3", "0,2,4", "0-1,8-9,127", "64-127"] {
        assert_eq!(set(text).to_string(), text);
    }
    assert_eq!(set(" 3,1,2,0 \n").to_string(), "0-3");
}

#[test]
fn parses_and_prints_masks_like_the_kernel() {
    for (list, mask) in [
        ("", "0"),
        ("0", "1"),
        ("0-3", "f"),
        ("4", "10"),
        ("31", "80000000"),
        ("32", "1,00000000"),
        ("0,63,64", "1,80000000,00000001"),
        ("96-127", "ffffffff,00000000,00000000,00000000"),
    ] {
        assert_eq!(set(list).mask(), mask, "{list}");
        assert_eq!(CpuSet::from_mask(mask), Ok(set(list)), "{mask}");
    }
    assert_eq!(CpuSet::from_mask("00000000,0000000f\n"), Ok(set("0-3")));
    assert_eq!(CpuSet::from_mask("ff"), Ok(set("0-7")));
}

#[test]
fn rejects_text_that_is_not_a_set() {
    for text in ["x", "-1", "1-", "3-1", "1,,2", "0x3", "+1", "99999", "1 2", "0-7:1/2"] {
        assert!(text.parse::<CpuSet>().is_err(), "{text}");
    }
    for text in ["", "g", "1,", "1,2", "1,0000000g", "123456789,00000000"] {
        assert!(CpuSet::from_mask(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn parses_formatted_lists_and_masks(cpus in prop::collection::btree_set(0_u32..300, 0..40)) {
        let set: CpuSet = cpus.into_iter().collect();
        prop_assert_eq!(CpuSet::from_mask(&set.mask()), Ok(set.clone()));
        prop_assert_eq!(set.to_string().parse(), Ok(set));
    }

    #[test]
    fn accepts_any_text(text: String) {
        let _ = text.parse::<CpuSet>();
        let _ = CpuSet::from_mask(&text);
    }

    #[test]
    fn groups_of_a_mask_have_eight_digits(cpus in prop::collection::btree_set(0_u32..300, 1..40)) {
        let mask = cpus.into_iter().collect::<CpuSet>().mask();
        let groups: Vec<&str> = mask.split(',').collect();
        prop_assert!(groups.iter().skip(1).all(|group| group.len() == 8), "{}", mask);
        prop_assert!(!groups[0].starts_with('0'), "{}", mask);
    }
}
