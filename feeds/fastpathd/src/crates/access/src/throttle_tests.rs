// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use proptest::prelude::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Tries as soon as it may, `times` times; answers when.
fn hammer(throttle: &mut LoginThrottle, name: &str, times: usize) -> Vec<u64> {
    let mut now = s(1000);
    let mut tried = Vec::new();
    while tried.len() < times {
        match throttle.admit(Client::Any(name), now) {
            Ok(_) => tried.push(now.as_secs() - 1000),
            Err(wait) => now += wait,
        }
    }
    tried
}

#[test]
fn each_failure_beyond_the_free_ones_costs_twice_the_time() {
    let tried = hammer(&mut LoginThrottle::default(), "root", 12);
    assert_eq!(tried, [0, 0, 0, 0, 1, 3, 7, 15, 31, 63, 123, 183]);
}

#[test]
fn nobody_is_kept_out_for_more_than_a_minute() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 200);
    let last = Duration::from_millis(throttle.names["root"].last_ms);
    assert_eq!(throttle.wait(Client::Any("root"), last), LONGEST);
    assert!(throttle.admit(Client::Any("root"), last + LONGEST).is_ok());
}

#[test]
fn one_name_does_not_keep_out_another() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "viewer", 8);
    assert!(throttle.wait(Client::Any("viewer"), s(1016)) > Duration::ZERO);
    assert_eq!(throttle.admit(Client::Any("root"), s(1016)), Ok(1));
}

#[test]
fn the_right_password_forgives() {
    let mut throttle = LoginThrottle::default();
    for _ in 0..3 {
        assert!(throttle.admit(Client::Any("root"), s(5)).is_ok());
    }
    assert!(throttle.admit(Client::Any("root"), s(5)).is_ok());
    assert_eq!(throttle.passed(Client::Any("root")), 3);
    assert_eq!(throttle.admit(Client::Any("root"), s(5)), Ok(1));
    assert_eq!(throttle.all.failures, 4);
}

#[test]
fn failures_are_forgotten_after_a_quarter_of_an_hour() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 7);
    let later = s(1007) + REMEMBERED;
    assert_eq!(throttle.admit(Client::Any("root"), later + s(1)), Ok(1));
    assert_eq!(throttle.all.failures, 1);
}

#[test]
fn many_at_once_are_not_better_off() {
    let mut throttle = LoginThrottle::default();
    let admitted = (0..100).filter(|_| throttle.admit(Client::Any("root"), s(9)).is_ok()).count();
    assert_eq!(admitted, 4);
}

#[test]
fn nothing_is_counted_when_nobody_answered() {
    let mut throttle = LoginThrottle::default();
    for _ in 0..100 {
        assert_eq!(throttle.admit(Client::Any("root"), s(9)), Ok(1));
        throttle.unanswered(Client::Any("root"));
    }
    assert_eq!(throttle.all.failures, 0);
}

#[test]
fn changing_names_are_slowed_down_too() {
    let mut throttle = LoginThrottle::default();
    let free = (0..100)
        .take_while(|n| throttle.admit(Client::Any(&format!("user{n}")), s(9)).is_ok())
        .count();
    assert_eq!(free, 40);
    assert_eq!(throttle.admit(Client::Any("root"), s(9)), Err(s(1)));
    assert_eq!(throttle.admit(Client::Any("root"), s(10)), Ok(1));
    assert_eq!(throttle.admit(Client::Any("root"), s(10)), Err(s(2)));
}

#[test]
fn invented_names_do_not_make_it_forget_a_real_one() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 6);
    for n in 0..500u64 {
        let _ = throttle.admit(Client::Any(&format!("user{n}")), s(1003 + 2 * n).min(s(1800)));
    }
    assert!(throttle.names.len() <= NAMES);
    assert_eq!(throttle.names["root"].failures, 6);
}

#[test]
fn a_long_name_is_the_same_whatever_its_end() {
    let mut throttle = LoginThrottle::default();
    for n in 0..4 {
        assert!(throttle.admit(Client::Any(&format!("{}{n}", "ä".repeat(40))), s(9)).is_ok());
    }
    assert!(throttle.admit(Client::Any(&"ä".repeat(1000)), s(9)).is_err());
    assert!(throttle.names.keys().all(|name| name.len() <= NAME_BYTES));
}

/// One client, or a hundred, guess a hundred times a second each, under the owner's name and under
/// others. The owner makes a typing error, and is in with the next attempt.
#[test]
fn a_browser_of_the_owner_is_in_while_others_guess() {
    for clients in [1u32, 100] {
        let mut throttle = LoginThrottle::default();
        let (mut guesses, mut admitted) = (0u32, 0u32);
        for ms in (0..60_000u32).step_by(10) {
            let now = s(1000) + Duration::from_millis(ms.into());
            for client in 0..clients {
                let name = if client % 2 == 0 { "root" } else { "admin" };
                guesses += 1;
                admitted += u32::from(throttle.admit(Client::Any(name), now).is_ok());
            }
            if ms % 5000 == 4990 {
                assert_eq!(throttle.admit(Client::Browser("its number"), now), Ok(1));
                assert_eq!(throttle.admit(Client::Browser("its number"), now), Ok(2));
                assert_eq!(throttle.passed(Client::Browser("its number")), 1);
            }
        }
        assert_eq!(guesses, 6000 * clients);
        // As many as before: that the owner logs in does not give anybody more.
        assert_eq!(admitted, if clients == 1 { 9 } else { 18 });
    }
}

#[test]
fn a_browser_has_no_more_attempts_than_a_name() {
    let mut throttle = LoginThrottle::default();
    let free = (0..100).filter(|_| throttle.admit(Client::Browser("1"), s(9)).is_ok()).count();
    assert_eq!(free, 4);
    assert_eq!(throttle.admit(Client::Browser("1"), s(9)), Err(s(1)));
    assert_eq!(throttle.admit(Client::Browser("2"), s(9)), Ok(1));
    assert_eq!(throttle.admit(Client::Any("1"), s(9)), Ok(1), "a name is not a browser");
    throttle.unanswered(Client::Browser("2"));
    assert_eq!(throttle.admit(Client::Browser("2"), s(9)), Ok(1));
    assert_eq!(throttle.all.failures, 1);
}

proptest! {
    /// After any attempts in any order, the next attempt never has to wait longer than the
    /// longest pause, and a file of the throttle reads back the same.
    #[test]
    fn waits_are_bounded(
        tries in prop::collection::vec((0u8..160, 0u64..4000, any::<bool>()), 0..300)
    ) {
        let mut throttle = LoginThrottle::default();
        let mut now = Duration::ZERO;
        for (name, ms, right) in tries {
            now += Duration::from_millis(ms);
            let number = (name / 2).to_string();
            let client =
                if name % 2 == 0 { Client::Any(&number) } else { Client::Browser(&number) };
            if throttle.admit(client, now).is_ok() && right {
                throttle.passed(client);
            }
            prop_assert!(throttle.wait(client, now) <= LONGEST);
            prop_assert!(throttle.names.len() <= NAMES && throttle.browsers.len() <= NAMES);
        }
        let text = serde_json::to_string(&throttle).unwrap_or_default();
        prop_assert_eq!(serde_json::from_str::<LoginThrottle>(&text).ok(), Some(throttle));
    }
}
