// SPDX-License-Identifier: GPL-2.0-or-later

use crate::support::{START_MS, at, counted, dump, offloaded, watching, web};
use flows::{FlowTable, History, HistoryQuery, Series};
use serde_json::json;

/// Dumps and samples a slow flow and an offloaded flow of 1 Mbit/s, once a second.
fn run(table: &mut FlowTable, seconds: std::ops::Range<u32>) {
    for second in seconds {
        let now = f64::from(second) + 0.5;
        let bytes = u64::from(second) * 125_000;
        dump(table, now, &[web(1), offloaded(counted(web(2), 0, bytes))]);
        table.sample(at(now));
    }
}

fn ask(table: &FlowTable, series: &str, step_s: u32) -> History {
    let query = HistoryQuery::parse(&json!({ "series": series, "step_s": step_s }));
    table.history(&query.expect("a query"))
}

#[test]
fn keeps_one_sample_per_second() {
    let mut table = watching();
    run(&mut table, 1..11);
    let history = ask(&table, "rate", 1);
    assert_eq!((history.series, history.step_s), (Series::Rate, 1));
    assert_eq!(history.cols, ["at_ms", "slow", "inspect", "flowtable", "hardware", "ebpf"]);
    assert_eq!(history.rows.len(), 9, "the current second is incomplete");
    assert_eq!(history.rows[8], [START_MS + 10_000, 0, 0, 1_000_000, 0, 0]);
    assert_eq!(ask(&table, "flows", 1).rows[8], [START_MS + 10_000, 1, 0, 1, 0, 0]);
}

#[test]
fn samples_of_longer_steps_are_means() {
    let mut table = watching();
    run(&mut table, 10..15);
    for second in 15..21 {
        let now = f64::from(second) + 0.5;
        dump(&mut table, now, &[web(1), offloaded(counted(web(2), 0, 14 * 125_000))]);
        table.sample(at(now));
    }
    let rows = ask(&table, "rate", 10).rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0], START_MS + 20_000);
    let seconds = ask(&table, "rate", 1).rows;
    let mean = seconds.iter().map(|row| row[3]).sum::<u64>() / 10;
    assert!(rows[0][3].abs_diff(mean) <= 1, "{} and {mean}", rows[0][3]);
    assert!(mean > 400_000);
}

#[test]
fn the_number_of_samples_is_bounded() {
    let mut table = watching();
    for second in 1..100_000 {
        table.sample(at(f64::from(second)));
    }
    assert_eq!(ask(&table, "rate", 1).rows.len(), 300);
    assert_eq!(ask(&table, "rate", 10).rows.len(), 360);
    assert_eq!(ask(&table, "rate", 60).rows.len(), 1440);
    let rows = ask(&table, "flows", 60).rows;
    assert!(rows.windows(2).all(|pair| pair[1][0] - pair[0][0] == 60_000));
}

#[test]
fn returns_only_samples_after_from_ms() {
    let mut table = watching();
    run(&mut table, 1..11);
    let from = HistoryQuery::parse(&json!({ "from_ms": START_MS + 8000 })).expect("a query");
    let rows = table.history(&from).rows;
    assert_eq!(rows.iter().map(|row| row[0] - START_MS).collect::<Vec<_>>(), [9000, 10_000]);
}

#[test]
fn setting_the_clock_shifts_earlier_samples() {
    let mut table = watching();
    run(&mut table, 1..3);
    let mut now = at(3.5);
    now.unix_ms += 1_000_000;
    table.sample(now);
    let rows = ask(&table, "rate", 1).rows;
    assert_eq!(rows.iter().map(|row| row[0]).max(), Some(START_MS + 1_000_000 + 3000));
}

#[test]
fn rejects_bad_requests() {
    let refused = |request| HistoryQuery::parse(&request).expect_err("refused").to_string();
    assert_eq!(refused(json!({ "step_s": 5 })), "step_s: expected 1, 10 or 60, not 5");
    assert_eq!(refused(json!({ "series": "x" })), "series: expected rate or flows, not \"x\"");
    assert!(refused(json!({ "from_ms": -1 })).starts_with("from_ms: expected an integer from 0"));
    assert_eq!(refused(json!({ "from": 1 })), "from: unknown field");
}
