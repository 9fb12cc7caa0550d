// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts the time of an EVE event, `2026-11-21T07:07:08.123456+0100`, to Unix milliseconds.

pub(super) fn unix_ms(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once('T')?;
    let sign_at = rest.rfind(['+', '-', 'Z'])?;
    let (clock, zone) = rest.split_at(sign_at);
    let [year, month, day] = numbers(date, '-')?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(whole, ':')?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some((seconds - offset(zone)?) * 1000 + milliseconds(fraction)?)
}

fn numbers(text: &str, by: char) -> Option<[i64; 3]> {
    let mut parts = text.split(by).map(digits);
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<i64> {
    let short = (1..=4).contains(&text.len());
    (short && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn milliseconds(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shown = fraction.get(..fraction.len().min(3))?;
    let scale = [1000, 100, 10, 1][shown.len()];
    Some(digits(shown)? * scale)
}

/// Returns the offset of a time zone in seconds, positive to the east.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let rest = rest.replace(':', "");
    if rest.len() != 4 {
        return None;
    }
    let number = digits(&rest)?;
    let seconds = (number / 100) * 3600 + (number % 100) * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Returns the days since 1970-01-01 in the Gregorian calendar. Years begin in March, so that a
/// leap day is the last day of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let before_month = (153 * month + 2) / 5;
    year * 365 + leap_days + before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_times() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000000+0000", 0),
            ("2000-02-29T12:34:56.789012+0000", 951_827_696_789),
            ("2026-11-21T08:07:08.123456+0100", 1_795_244_828_123),
            ("2026-11-21T07:07:08.1Z", 1_795_244_828_100),
            ("2026-11-21T01:37:08-05:30", 1_795_244_828_000),
        ] {
            assert_eq!(unix_ms(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn rejects_other_formats() {
        for text in [
            "",
            "T",
            "2026-11-21",
            "2026-13-21T07:07:08Z",
            "2026-11-21T25:07:08Z",
            "x",
            "2026-11-21T07:07Z",
            "2026-11-21T07:07:08.é+0000",
            "2026-11-21T07:07:08+1",
            "+026-11-21T07:07:08Z",
            "2026-11-21T07:07:08é",
            "2026-11-21T07:07:08.123é4Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }

    #[test]
    fn consecutive_dates_are_one_day_apart() {
        let mut day = 0;
        for year in 1970..=2400 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = if leap { 29 } else { 28 };
            let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in (1..).zip(lengths) {
                for date in 1..=length {
                    assert_eq!(days(year, month, date), day, "{year}-{month}-{date}");
                    day += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn parses_any_text_without_a_panic(text: String, close in "[0-9T:.+Zé-]{0,40}") {
            let _ = unix_ms(&text);
            let _ = unix_ms(&close);
        }
    }
}
