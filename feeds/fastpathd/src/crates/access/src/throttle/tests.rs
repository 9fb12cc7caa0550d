// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use proptest::prelude::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const OWNER: Client<'_> = Client::Browser { name: "root", number: "its number" };
const FIRST: Client<'_> = Client::Browser { name: "root", number: "1" };
const SECOND: Client<'_> = Client::Browser { name: "root", number: "2" };

/// Makes `times` attempts as early as allowed, and returns their times in seconds.
fn hammer(throttle: &mut LoginThrottle, name: &str, times: usize) -> Vec<u64> {
    let mut now = s(1000);
    let mut tried = Vec::new();
    while tried.len() < times {
        match throttle.admit(Client::Account(name), now) {
            Ok(_) => tried.push(now.as_secs() - 1000),
            Err(wait) => now += wait,
        }
    }
    tried
}

#[test]
fn each_failure_beyond_the_free_ones_doubles_the_delay() {
    let tried = hammer(&mut LoginThrottle::default(), "root", 12);
    assert_eq!(tried, [0, 0, 0, 0, 1, 3, 7, 15, 31, 63, 127, 191]);
}

#[test]
fn the_delay_of_a_name_is_at_most_64_seconds() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 200);
    let last = Duration::from_millis(throttle.accounts["root"].last_ms);
    assert_eq!(throttle.wait(Client::Account("root"), last), MAX_WAIT);
    assert!(throttle.admit(Client::Account("root"), last + MAX_WAIT).is_ok());
}

#[test]
fn failures_of_one_name_do_not_delay_another() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "viewer", 8);
    assert!(throttle.wait(Client::Account("viewer"), s(1016)) > Duration::ZERO);
    assert_eq!(throttle.admit(Client::Account("root"), s(1016)), Ok(1));
}

#[test]
fn a_correct_password_resets_the_failures_of_its_name() {
    let mut throttle = LoginThrottle::default();
    for _ in 0..3 {
        assert!(throttle.admit(Client::Account("root"), s(5)).is_ok());
    }
    assert!(throttle.admit(Client::Account("root"), s(5)).is_ok());
    assert_eq!(throttle.passed(Client::Account("root")), 3);
    assert_eq!(throttle.admit(Client::Account("root"), s(5)), Ok(1));
    assert_eq!(throttle.all.failures, 4);
}

#[test]
fn failures_expire_after_15_minutes() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 7);
    let later = s(1007) + REMEMBERED;
    assert_eq!(throttle.admit(Client::Account("root"), later + s(1)), Ok(1));
    assert_eq!(throttle.all.failures, 1);
}

#[test]
fn parallel_attempts_get_no_more_free_failures() {
    let mut throttle = LoginThrottle::default();
    let admitted =
        (0..100).filter(|_| throttle.admit(Client::Account("root"), s(9)).is_ok()).count();
    assert_eq!(admitted, 4);
}

#[test]
fn unanswered_attempts_are_not_counted() {
    let mut throttle = LoginThrottle::default();
    for _ in 0..100 {
        assert_eq!(throttle.admit(Client::Account("root"), s(9)), Ok(1));
        throttle.unanswered(Client::Account("root"));
    }
    assert_eq!(throttle.all.failures, 0);
}

#[test]
fn attempts_with_changing_names_are_delayed() {
    let mut throttle = LoginThrottle::default();
    let free = (0..100)
        .take_while(|n| throttle.admit(Client::Unknown(&format!("user{n}")), s(9)).is_ok())
        .count();
    assert_eq!(free, 40);
    assert_eq!(throttle.admit(Client::Account("root"), s(9)), Err(s(1)));
    assert_eq!(throttle.admit(Client::Account("root"), s(10)), Ok(1));
    assert_eq!(throttle.admit(Client::Account("root"), s(10)), Err(s(2)));
}

#[test]
fn invented_names_do_not_evict_an_account() {
    let mut throttle = LoginThrottle::default();
    hammer(&mut throttle, "root", 6);
    for n in 0..500u64 {
        let _ = throttle.admit(Client::Unknown(&format!("user{n}")), s(1003 + 2 * n).min(s(1800)));
    }
    assert!(throttle.names.len() <= NAMES);
    assert_eq!(throttle.accounts["root"].failures, 6);
}

#[test]
fn tokens_of_one_account_do_not_evict_those_of_another() {
    let mut throttle = LoginThrottle::default();
    let root = Client::Browser { name: "root", number: "1" };
    while throttle.admit(root, s(9)).is_ok() {}
    for number in 0..100 {
        let number = number.to_string();
        for _ in 0..4 {
            let _ = throttle.admit(Client::Browser { name: "viewer", number: &number }, s(9));
        }
    }
    assert_eq!(throttle.admit(root, s(9)), Err(s(1)));
    assert_eq!(throttle.browsers.len(), BROWSERS + 1);
}

#[test]
fn new_names_and_tokens_do_not_evict_entries_with_more_failures() {
    for guessed in [Client::Unknown("guessed"), FIRST] {
        let mut throttle = LoginThrottle::default();
        while throttle.admit(guessed, s(9)).is_ok() {}
        for n in 0..100u64 {
            let fresh = format!("fresh{n}");
            let other = match guessed {
                Client::Browser { name, .. } => Client::Browser { name, number: &fresh },
                Client::Account(_) | Client::Unknown(_) => Client::Unknown(&fresh),
            };
            let _ = throttle.admit(other, s(10 + 2 * n));
        }
        assert!(throttle.admit(guessed, s(9)).is_err(), "{guessed:?}");
    }
}

#[test]
fn names_are_truncated_before_the_comparison() {
    let mut throttle = LoginThrottle::default();
    for n in 0..4 {
        assert!(throttle.admit(Client::Unknown(&format!("{}{n}", "ä".repeat(40))), s(9)).is_ok());
    }
    assert!(throttle.admit(Client::Unknown(&"ä".repeat(1000)), s(9)).is_err());
    assert!(throttle.names.keys().all(|name| name.len() <= NAME_BYTES));
}

/// Each guessing client makes 100 attempts per second, with the owner's name or another.
#[test]
fn guessing_does_not_delay_the_owner_in_a_known_browser() {
    for clients in [1u32, 100] {
        let mut throttle = LoginThrottle::default();
        let (mut guesses, mut admitted) = (0u32, 0u32);
        for ms in (0..60_000u32).step_by(10) {
            let now = s(1000) + Duration::from_millis(ms.into());
            for client in 0..clients {
                let name = if client % 2 == 0 { "root" } else { "admin" };
                guesses += 1;
                admitted += u32::from(throttle.admit(Client::Unknown(name), now).is_ok());
            }
            if ms % 5000 == 4990 {
                assert_eq!(throttle.admit(OWNER, now), Ok(1));
                assert_eq!(throttle.admit(OWNER, now), Ok(2));
                assert_eq!(throttle.passed(OWNER), 1);
            }
        }
        assert_eq!(guesses, 6000 * clients);
        assert_eq!(admitted, if clients == 1 { 9 } else { 18 });
    }
}

#[test]
fn a_browser_has_as_many_free_attempts_as_a_name() {
    let mut throttle = LoginThrottle::default();
    let free = (0..100).filter(|_| throttle.admit(FIRST, s(9)).is_ok()).count();
    assert_eq!(free, 4);
    assert_eq!(throttle.admit(FIRST, s(9)), Err(s(1)));
    assert_eq!(throttle.admit(SECOND, s(9)), Ok(1));
    assert_eq!(throttle.admit(Client::Unknown("1"), s(9)), Ok(1), "a name is not a browser");
    throttle.unanswered(SECOND);
    assert_eq!(throttle.admit(SECOND, s(9)), Ok(1));
    assert_eq!(throttle.all.failures, 1);
}

proptest! {
    #[test]
    fn any_attempts_give_bounded_delays_and_a_readable_record(
        tries in prop::collection::vec((0u8..240, 0u64..4000, any::<bool>()), 0..300)
    ) {
        let mut throttle = LoginThrottle::default();
        let mut now = Duration::ZERO;
        for (name, ms, right) in tries {
            now += Duration::from_millis(ms);
            let number = (name / 3).to_string();
            let client = match name % 3 {
                0 => Client::Account(&number),
                1 => Client::Unknown(&number),
                _ => Client::Browser { name: "root", number: &number },
            };
            if throttle.admit(client, now).is_ok() && right {
                throttle.passed(client);
            }
            prop_assert!(throttle.wait(client, now) <= MAX_WAIT);
            prop_assert!(throttle.names.len() <= NAMES && throttle.browsers.len() <= BROWSERS);
        }
        let text = serde_json::to_string(&throttle).unwrap_or_default();
        prop_assert_eq!(serde_json::from_str::<LoginThrottle>(&text).ok(), Some(throttle));
    }
}

#[test]
fn invented_names_with_many_failures_do_not_evict_an_account() {
    let (mut throttle, mut now, mut admitted, mut turn) =
        (LoginThrottle::default(), s(1000), 0u32, 0u64);
    let mut decoy = |throttle: &mut LoginThrottle, now: &mut Duration| {
        turn += 1;
        let name = format!("d{}", turn % 64);
        let _ = throttle.admit(Client::Unknown(&name), *now);
        *now += s(2);
    };
    for _ in 0..6 * 64 * 2 {
        decoy(&mut throttle, &mut now);
    }
    let end = now + s(24 * 60 * 60);
    while now < end {
        let mut row = 0;
        while row < 5 && throttle.admit(Client::Account("root"), now).is_ok() {
            (row, admitted) = (row + 1, admitted + 1);
            now += s(2);
        }
        decoy(&mut throttle, &mut now);
    }
    assert!(admitted <= 24 * 60, "{admitted} guesses of one account in a day");
}

#[test]
fn an_account_admits_at_most_1440_guesses_per_day() {
    let day = hammer(&mut LoginThrottle::default(), "root", 1441);
    assert!(day.last().is_some_and(|last| *last > 24 * 60 * 60), "{:?}", day.last());
}
