// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use proptest::prelude::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Tries as soon as it may, `times` times; answers when.
fn hammer(ledger: &mut Ledger, name: &str, times: usize) -> Vec<u64> {
    let mut now = s(1000);
    let mut tried = Vec::new();
    while tried.len() < times {
        match ledger.admit(name, now) {
            Ok(_) => tried.push(now.as_secs() - 1000),
            Err(wait) => now += wait,
        }
    }
    tried
}

#[test]
fn each_failure_beyond_the_free_ones_costs_twice_the_time() {
    let tried = hammer(&mut Ledger::default(), "root", 12);
    assert_eq!(tried, [0, 0, 0, 0, 1, 3, 7, 15, 31, 63, 123, 183]);
}

#[test]
fn nobody_is_kept_out_for_more_than_a_minute() {
    let mut ledger = Ledger::default();
    hammer(&mut ledger, "root", 200);
    let last = Duration::from_millis(ledger.names["root"].last_ms);
    assert_eq!(ledger.wait("root", last), LONGEST);
    assert!(ledger.admit("root", last + LONGEST).is_ok());
}

#[test]
fn one_name_does_not_keep_out_another() {
    let mut ledger = Ledger::default();
    hammer(&mut ledger, "viewer", 8);
    assert!(ledger.wait("viewer", s(1016)) > Duration::ZERO);
    assert_eq!(ledger.admit("root", s(1016)), Ok(1));
}

#[test]
fn the_right_password_forgives() {
    let mut ledger = Ledger::default();
    for _ in 0..3 {
        assert!(ledger.admit("root", s(5)).is_ok());
    }
    assert!(ledger.admit("root", s(5)).is_ok());
    assert_eq!(ledger.passed("root"), 3);
    assert_eq!(ledger.admit("root", s(5)), Ok(1));
    assert_eq!(ledger.all.failures, 4);
}

#[test]
fn failures_are_forgotten_after_a_quarter_of_an_hour() {
    let mut ledger = Ledger::default();
    hammer(&mut ledger, "root", 7);
    let later = s(1007) + REMEMBERED;
    assert_eq!(ledger.admit("root", later + s(1)), Ok(1));
    assert_eq!(ledger.all.failures, 1);
}

#[test]
fn many_at_once_are_not_better_off() {
    let mut ledger = Ledger::default();
    let admitted = (0..100).filter(|_| ledger.admit("root", s(9)).is_ok()).count();
    assert_eq!(admitted, 4);
}

#[test]
fn nothing_is_counted_when_nobody_answered() {
    let mut ledger = Ledger::default();
    for _ in 0..100 {
        assert_eq!(ledger.admit("root", s(9)), Ok(1));
        ledger.unanswered("root");
    }
    assert_eq!(ledger.all.failures, 0);
}

#[test]
fn changing_names_are_slowed_down_too() {
    let mut ledger = Ledger::default();
    let free = (0..100).take_while(|n| ledger.admit(&format!("user{n}"), s(9)).is_ok()).count();
    assert_eq!(free, 40);
    assert_eq!(ledger.admit("root", s(9)), Err(s(1)));
    assert_eq!(ledger.admit("root", s(10)), Ok(1));
    assert_eq!(ledger.admit("root", s(10)), Err(s(2)));
}

#[test]
fn invented_names_do_not_make_it_forget_a_real_one() {
    let mut ledger = Ledger::default();
    hammer(&mut ledger, "root", 6);
    for n in 0..500u64 {
        let _ = ledger.admit(&format!("user{n}"), s(1003 + 2 * n).min(s(1800)));
    }
    assert!(ledger.names.len() <= NAMES);
    assert_eq!(ledger.names["root"].failures, 6);
}

#[test]
fn a_long_name_is_the_same_whatever_its_end() {
    let mut ledger = Ledger::default();
    for n in 0..4 {
        assert!(ledger.admit(&format!("{}{n}", "ä".repeat(40)), s(9)).is_ok());
    }
    assert!(ledger.admit(&"ä".repeat(1000), s(9)).is_err());
    assert!(ledger.names.keys().all(|name| name.len() <= NAME_BYTES));
}

proptest! {
    /// After any attempts in any order, the next attempt never has to wait longer than the
    /// longest pause, and a file of the ledger reads back the same.
    #[test]
    fn waits_are_bounded(
        tries in prop::collection::vec((0u8..80, 0u64..4000, any::<bool>()), 0..300)
    ) {
        let mut ledger = Ledger::default();
        let mut now = Duration::ZERO;
        for (name, ms, right) in tries {
            now += Duration::from_millis(ms);
            let name = name.to_string();
            if ledger.admit(&name, now).is_ok() && right {
                ledger.passed(&name);
            }
            prop_assert!(ledger.wait(&name, now) <= LONGEST);
            prop_assert!(ledger.names.len() <= NAMES);
        }
        let text = serde_json::to_string(&ledger).unwrap_or_default();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&text).ok(), Some(ledger));
    }
}
