// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const SYDNEY: &str = "AEST-10AEDT,M10.1.0,M4.1.0/3";

/// Expects changes at these times, from one offset to the other; the times are from zoneinfo.
fn changes(zone: &str, expected: &[(i64, i64, i64)]) {
    let zone = Zone::parse(zone).unwrap();
    for &(at, before, after) in expected {
        assert_eq!([zone.offset(at - 1), zone.offset(at)], [before, after], "at {at}");
        assert_eq!(zone.next_change(at - 1), Some(at));
        assert_ne!(zone.next_change(at), Some(at));
    }
}

#[test]
fn changes_on_the_last_sunday_of_a_month() {
    // 2026-03-29 01:00 and 2026-10-25 01:00 UTC.
    changes(BERLIN, &[(1_774_746_000, 3600, 7200), (1_792_890_000, 7200, 3600)]);
}

#[test]
fn summer_in_the_south_spans_the_new_year() {
    // 2026-04-04 16:00 and 2026-10-03 16:00 UTC.
    changes(SYDNEY, &[(1_775_318_400, 39_600, 36_000), (1_791_043_200, 36_000, 39_600)]);
    assert_eq!(Zone::parse(SYDNEY).unwrap().offset(1_767_225_600), 39_600, "2026-01-01");
}

#[test]
fn parses_numbered_days_negative_and_long_hours() {
    // Day 61 without February 29 is March 2 in every year; day 60 from 0 is March 1 in 2028.
    changes("AAA0BBB,J61,J300", &[(1_772_416_800, 0, 3600), (1_835_575_200, 0, 3600)]);
    changes("AAA0BBB,60/0,300", &[(1_835_481_600, 0, 3600)]);
    // Nuuk: 2026-03-28 23:00 local time, and 2026-10-25 00:00 of summer time.
    changes("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", &[(1_774_746_000, -7200, -3600)]);
    // Gaza until 2037: 50 hours after Saturday 00:00.
    changes("EET-2EEST,M3.4.4/50,M10.4.4/50", &[(1_774_656_000, 7200, 10_800)]);
    let half = Zone::parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0").unwrap();
    assert_eq!([half.offset(1_767_225_600), half.offset(1_782_864_000)], [39_600, 37_800]);
}

#[test]
fn summer_all_year_has_no_gap_at_new_year() {
    let zone = Zone::parse("EST5EDT,0/0,J365/25").unwrap();
    for at in [1_767_225_600, 1_767_243_599, 1_767_243_600, 1_767_250_000, 1_782_864_000] {
        assert_eq!(zone.offset(at), -4 * 3600, "{at}");
    }
}

/// Compares with a walk: a day begins with another local date.
#[test]
fn a_day_begins_with_its_date() {
    // 2026, or the hours around a change.
    let year = 1_767_225_600..1_798_761_600;
    for (text, span, step) in [
        (BERLIN, year.clone(), 900),
        (SYDNEY, year.clone(), 900),
        ("<+0545>-5:45", year.clone(), 900),
        // The clock skips and repeats midnight: Chile, the Azores.
        ("<-04>4<-03>,M9.1.6/24,M4.1.6/24", year.clone(), 900),
        ("<-01>1<+00>,M3.5.0/0,M10.5.0/1", year, 900),
        // The clock returns to the day before, which a minute of the next one has interrupted.
        ("NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01", 1_793_400_000..1_793_700_000, 60),
    ] {
        let zone = Zone::parse(text).unwrap();
        let date = |at: i64| (at + zone.offset(at)).div_euclid(DAY);
        let mut lens = BTreeMap::new();
        let mut start = zone.day_start(span.start);
        for at in span.step_by(step).skip(1) {
            if date(at) != date(at - 1) {
                *lens.entry((at - start) / 3600).or_insert(0) += 1;
                start = at;
            }
            assert_eq!(zone.day_start(at), start, "{text}, {at}");
        }
        if text == BERLIN {
            assert_eq!(lens, [(23, 1), (24, 363), (25, 1)].into());
        }
    }
}

#[test]
fn refuses_other_text() {
    assert_eq!(Zone::parse("UTC0\n"), Some(Zone::fixed(0)));
    assert_eq!(Zone::parse("<+0545>-5:45"), Some(Zone::fixed(20_700)));
    for bad in [
        "",
        "UTC",
        "Europe/Berlin",
        "CET",
        "CE-1",
        "CET-25",
        "CET-1:60",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1x",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,J0,J5",
        "CET-1CEST,J1,366",
        "<CET-1",
        "é-1",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-99999999999999999999",
    ] {
        assert_eq!(Zone::parse(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "[A-Z<>+,MJ./:0-9é-]{0,40}", unix in 0..1_i64 << 40) {
        if let Some(zone) = Zone::parse(&text) {
            let offset = zone.offset(unix);
            prop_assert!(offset.abs() <= 25 * 3600 + 3600);
            if let Some(next) = zone.next_change(unix) {
                prop_assert!(next > unix);
                prop_assert_eq!(zone.offset(next - 1), offset);
            }
        }
    }

    #[test]
    fn the_year_of_any_time_contains_it(unix in -1_i64 << 40..1_i64 << 40) {
        let year = year(unix);
        let days = unix.div_euclid(DAY);
        prop_assert!((days_before(year)..days_before(year + 1)).contains(&days));
    }
}
