// SPDX-License-Identifier: GPL-2.0-or-later
//! What has to hold, and the table that shows whether it does.

use crate::measure::Figures;

/// Limits at 100,000 flows.
const REFRESH_MS: f64 = 150.0;
const PAGE_MS: f64 = 5.0;
const MEMORY_MB: f64 = 60.0;
/// An alert's flow in a microsecond.
const FIND_MS: f64 = 1.0;
/// Twice the flows may take this much longer: caches, not algorithms.
const GROWTH: f64 = 2.6;
/// Times below this are noise and cannot grow wrongly.
const NOISE_MS: f64 = 0.5;

/// Prints the table and every limit exceeded; true when there is none.
pub(crate) fn report(figures: &[Figures]) -> bool {
    println!(
        "{:>8} {:>12} {:>14} {:>12} {:>10} {:>12} {:>13} {:>10}",
        "flows",
        "refresh ms",
        "net change ms",
        "first ms",
        "page ms",
        "groups ms",
        "1000 finds ms",
        "memory MB"
    );
    for f in figures {
        println!(
            "{:>8} {:>12.1} {:>14.1} {:>12.1} {:>10.2} {:>12.2} {:>13.2} {:>10.1}",
            f.flows, f.refresh, f.moved, f.first, f.page, f.groups, f.find, f.memory
        );
    }
    let exceeded = exceeded(figures);
    for line in &exceeded {
        println!("EXCEEDED: {line}");
    }
    if exceeded.is_empty() {
        println!(
            "ok: at 100,000 flows refresh ≤ {REFRESH_MS} ms, page ≤ {PAGE_MS} ms, a find \
             ≤ {FIND_MS} µs, memory ≤ {MEMORY_MB} MB; 200,000 take ≤ {GROWTH} times as long"
        );
    }
    exceeded.is_empty()
}

/// Every limit that does not hold, in words.
pub(crate) fn exceeded(figures: &[Figures]) -> Vec<String> {
    let [_, middle, large] = figures else { return vec!["three sizes are needed".into()] };
    let limits = [
        ("refresh, ms", middle.refresh, REFRESH_MS),
        ("refresh after a change of the network, ms", middle.moved, REFRESH_MS),
        ("first refresh, ms", middle.first, REFRESH_MS),
        ("page of 200 flows, ms", middle.page, PAGE_MS),
        ("a thousand finds, ms", middle.find, FIND_MS),
        ("memory, MB", middle.memory, MEMORY_MB),
        ("growth of the refresh", growth(middle.refresh, large.refresh), GROWTH),
        ("growth of the first refresh", growth(middle.first, large.first), GROWTH),
        ("growth of the page", growth(middle.page, large.page), GROWTH),
        ("growth of the groups", growth(middle.groups, large.groups), GROWTH),
    ];
    let over = limits.into_iter().filter(|(_, value, limit)| value > limit);
    over.map(|(what, value, limit)| format!("{what}: {value:.2}, limit {limit}")).collect()
}

fn growth(from: f64, to: f64) -> f64 {
    to / from.max(NOISE_MS)
}
