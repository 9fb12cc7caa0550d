// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of the benchmark, and the report of exceeded limits.

use crate::measure::Figures;

/// Limits at 100,000 flows. Slower machines scale the time limits up by the ratio of their
/// yardstick to [`YARD_MS`].
const REFRESH_MS: f64 = 150.0;
const PAGE_MS: f64 = 5.0;
const MEMORY_MB: f64 = 60.0;
const FIND_MS: f64 = 1.0;
/// Maximum growth from 100,000 to 200,000 flows; above 2 because of cache misses.
const GROWTH: f64 = 2.6;
/// Yardstick of the reference machine, where a refresh of 110,000 flows took 38 ms.
const YARD_MS: f64 = 150.0;
/// Minimum base of a growth; shorter times are noise.
const NOISE_MS: f64 = 0.5;

/// Prints figures and exceeded limits. Returns whether all limits hold.
pub(crate) fn report(figures: &[Figures]) -> bool {
    println!(
        "{:>8} {:>12} {:>8} {:>14} {:>12} {:>10} {:>12} {:>13} {:>10}",
        "flows",
        "refresh ms",
        "busy ms",
        "net change ms",
        "first ms",
        "page ms",
        "groups ms",
        "1000 finds ms",
        "memory MB"
    );
    for f in figures {
        println!(
            "{:>8} {:>12.1} {:>8.1} {:>14.1} {:>12.1} {:>10.2} {:>12.2} {:>13.2} {:>10.1}",
            f.flows, f.refresh, f.busy, f.moved, f.first, f.page, f.groups, f.find, f.memory
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

pub(crate) fn exceeded(figures: &[Figures]) -> Vec<String> {
    let [_, middle, large] = figures else { return vec!["three sizes are needed".into()] };
    let slower = slower(middle);
    let limits = [
        ("refresh, ms", middle.refresh, REFRESH_MS * slower),
        ("refresh with traffic in all flows, ms", middle.busy, REFRESH_MS * slower),
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

/// Returns how many times slower this machine is than the reference machine, at least 1.
fn slower(figures: &Figures) -> f64 {
    (figures.yard / YARD_MS).max(1.0)
}

fn growth(from: f64, to: f64) -> f64 {
    to / from.max(NOISE_MS)
}
