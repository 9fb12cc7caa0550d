// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of the benchmark at 100,000 flows (refresh 150 ms, page 5 ms, a find 1 µs, memory 60 MB)
//! and for twice as many (2.6 times as long), and the table that shows whether they hold.

use crate::measure::Figures;

/// Limits at 100,000 flows, on a machine that the yardstick takes [`YARD_MS`]: on a slower one, or
/// one whose caches others use as well, they are that much wider.
const REFRESH_MS: f64 = 150.0;
const PAGE_MS: f64 = 5.0;
const MEMORY_MB: f64 = 60.0;
/// An alert's flow in a microsecond.
const FIND_MS: f64 = 1.0;
/// Twice the flows may take this much longer: caches, not algorithms.
const GROWTH: f64 = 2.6;
/// The yardstick where the limits were set: a refresh of 110,000 flows took 38 ms there.
const YARD_MS: f64 = 150.0;
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
    if let [_, middle, _] = figures {
        println!("yardstick {:.1} ms: limits × {:.2}", middle.yard, slower(middle));
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

/// Every limit that does not hold, as text.
pub(crate) fn exceeded(figures: &[Figures]) -> Vec<String> {
    let [_, middle, large] = figures else { return vec!["three sizes are needed".into()] };
    let slower = slower(middle);
    let limits = [
        ("refresh, ms", middle.refresh, REFRESH_MS * slower),
        ("refresh after a change of the network, ms", middle.moved, REFRESH_MS * slower),
        ("first refresh, ms", middle.first, REFRESH_MS * slower),
        ("page of 200 flows, ms", middle.page, PAGE_MS * slower),
        ("a thousand finds, ms", middle.find, FIND_MS * slower),
        ("memory, MB", middle.memory, MEMORY_MB),
        ("growth of the refresh", growth(middle.refresh, large.refresh), GROWTH),
        ("growth of the first refresh", growth(middle.first, large.first), GROWTH),
        ("growth of the page", growth(middle.page, large.page), GROWTH),
        ("growth of the groups", growth(middle.groups, large.groups), GROWTH),
    ];
    let over = limits.into_iter().filter(|(_, value, limit)| value > limit);
    over.map(|(what, value, limit)| format!("{what}: {value:.2}, limit {limit:.2}")).collect()
}

/// How many times as long this machine takes.
fn slower(figures: &Figures) -> f64 {
    (figures.yard / YARD_MS).max(1.0)
}

fn growth(from: f64, to: f64) -> f64 {
    to / from.max(NOISE_MS)
}
