// SPDX-License-Identifier: GPL-2.0-or-later
//! Speed of this machine now, at work of the same kind (allocations, hashes, sorting): limits in
//! milliseconds are scaled by it.

use std::collections::HashMap;

/// Names in the map.
const NAMES: u64 = 100_000;

/// Makes names, puts them into a map, finds each, and sorts them: allocations, hashes and reads all
/// over some megabytes, as a flow table's.
pub(crate) fn once() -> usize {
    let mut seed = 1_u64;
    let mut map = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    for number in 0..NAMES {
        // Knuth's multiplier of MMIX.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("10.{}.{}.{number}", seed >> 56, (seed >> 48) & 0xff);
        map.insert(name.clone(), seed);
        names.push(name);
    }
    names.sort_unstable_by_key(|name| map.get(name).copied());
    names.iter().filter(|name| map[*name] % 2 == 0).count()
}
