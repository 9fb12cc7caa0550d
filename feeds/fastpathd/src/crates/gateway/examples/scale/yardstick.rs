// SPDX-License-Identifier: GPL-2.0-or-later
//! Similar work that measures the speed of the machine, to scale the time limits.

use std::collections::HashMap;

const NAMES: u64 = 100_000;

/// Builds, searches and sorts a map of names: allocations, hashes and random reads over some
/// megabytes, as in a flow table.
pub(crate) fn once() -> usize {
    let mut seed = 1_u64;
    let mut map = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    for number in 0..NAMES {
        // Multiplier and increment of Knuth's MMIX generator.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("10.{}.{}.{number}", seed >> 56, (seed >> 48) & 0xff);
        map.insert(name.clone(), seed);
        names.push(name);
    }
    names.sort_unstable_by_key(|name| map.get(name).copied());
    names.iter().filter(|name| map[*name] % 2 == 0).count()
}
