// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of the benchmark, and the report of exceeded limits.

use crate::measure::Figures;
use crate::million;

/// Limits at 100,000 flows. Slower machines scale the time limits up by the ratio of their
/// yardstick to [`YARD_MS`].
const REFRESH_MS: f64 = 150.0;
const PAGE_MS: f64 = 5.0;
const MEMORY_MB: f64 = 60.0;
const FIND_MS: f64 = 1.0;
/// Limits with 500 devices and their history, at 100,000 flows; answers have that of a page. A
/// router may be 20 times slower, so that a millisecond is 2 % of its second.
const CROWD_MEMORY_MB: f64 = 100.0;
const CROWD_GROWTH: f64 = 1.1;
const CROWD_WORK_MS: f64 = 1.0;
/// Maximum time in the daemon's loop; a thread reads the files.
const HISTORY_MS: f64 = 1.0;
/// Maximum growth from 100,000 to 200,000 flows; above 2 because of cache misses.
const GROWTH: f64 = 2.6;
/// Yardstick of the reference machine, where a refresh of 110,000 flows took 38 ms.
const YARD_MS: f64 = 150.0;
/// Minimum base of a growth; shorter times are noise.
const NOISE_MS: f64 = 0.5;

/// Prints figures and exceeded limits. Returns whether all limits hold.
pub(crate) fn report(figures: &[Figures], crowd: &million::Figures) -> bool {
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
    for (name, value) in crowd {
        println!("{value:>12.2}  {name}");
    }
    let exceeded = exceeded(figures, crowd);
    for line in &exceeded {
        println!("EXCEEDED: {line}");
    }
    if exceeded.is_empty() {
        println!(
            "ok: at 100,000 flows refresh ≤ {REFRESH_MS} ms, page ≤ {PAGE_MS} ms, a find \
             ≤ {FIND_MS} µs, memory ≤ {MEMORY_MB} MB; 200,000 take ≤ {GROWTH} times as long; \
             500 devices: a second ≤ {CROWD_GROWTH} times as long, memory ≤ {CROWD_MEMORY_MB} MB"
        );
    }
    exceeded.is_empty()
}

pub(crate) fn exceeded(figures: &[Figures], crowd: &million::Figures) -> Vec<String> {
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
    let crowd = crowd
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), *value, crowd_limit(name, slower)?)));
    let over = limits.into_iter().chain(crowd).filter(|(_, value, limit)| value > limit);
    over.map(|(what, value, limit)| format!("{what}: {value:.2}, limit {limit:.2}")).collect()
}

/// Returns the limit of a figure of `crowd.rs`, if it has one.
fn crowd_limit(name: &str, slower: f64) -> Option<f64> {
    match name.split([':', ',']).next()? {
        "peak memory" => Some(CROWD_MEMORY_MB),
        "the same to a second without devices" => Some(CROWD_GROWTH),
        "work of devices without the dump" => Some(CROWD_WORK_MS * slower),
        "answer" => Some(PAGE_MS * slower),
        "history" => Some(HISTORY_MS * slower),
        _ => None,
    }
}

/// Returns how many times slower this machine is than the reference machine, at least 1.
fn slower(figures: &Figures) -> f64 {
    (figures.yard / YARD_MS).max(1.0)
}

fn growth(from: f64, to: f64) -> f64 {
    to / from.max(NOISE_MS)
}
