// SPDX-License-Identifier: GPL-2.0-or-later
use config::parse_uci;
use proptest::prelude::*;

use super::*;

const PHONE: Mac = Mac([2, 0, 0, 0, 0, 1]);
const TV: Mac = Mac([2, 0, 0, 0, 0, 2]);
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const SYDNEY: &str = "AEST-10AEDT,M10.1.0,M4.1.0/3";
const NUUK: &str = "<-02>2<-01>,M3.5.0/-1,M10.5.0/0";
/// Changes of these clocks in 2026.
const CHANGES: [i64; 4] = [1_774_746_000, 1_792_890_000, 1_775_318_400, 1_791_043_200];
const MINUTE: i64 = 60;
const HOUR: i64 = 3600;

fn read(text: &str) -> Result<Settings, String> {
    let values = parse_uci(text).expect(text);
    let mut package = Package::new(&values).expect(text);
    let settings = Settings::read(&mut package);
    let warnings = package.finish().map_err(|error| error.to_string())?;
    assert!(warnings.is_empty(), "{warnings:?}");
    Ok(settings)
}

fn clock(unix: i64, zone: &str) -> Clock {
    Clock { unix, zone: Zone::parse(zone).unwrap(), is_set: true }
}

fn device(options: &str) -> String {
    format!("config device\n\toption mac '02:00:00:00:00:01'\n{options}\n")
}

fn schedule(from: &str, to: &str, options: &str) -> String {
    let times = format!("\toption from '{from}'\n\toption to '{to}'\n");
    format!("config schedule\n\tlist device '02:00:00:00:00:01'\n{times}{options}\n")
}

fn pause(settings: &Settings, clock: &Clock) -> Option<Pause> {
    settings.paused(clock).get(&PHONE).copied()
}

#[test]
fn reads_a_device_and_what_schedules_concern_it() {
    let text = "config device\n\toption mac '02:00:00:00:00:0A'\n\
        \toption name 'Anna'\\''s \"phone\"'\n\toption kind 'phone'\n\toption group 'children'\n\
        \toption limit_down '8'\n\toption limit_up '10000000'\n\toption inspect 'never'\n\
        config schedule\n\toption name 'bedtime'\n\tlist group 'children'\n\
        \toption from '21:00'\n\toption to '07:00'\n";
    let settings = read(text).unwrap();
    let (mac, device) = settings.devices.first_key_value().unwrap();
    assert_eq!(mac.to_string(), "02:00:00:00:00:0a");
    let expected = DeviceSettings {
        known: true,
        name: "Anna's \"phone\"".to_owned(),
        kind: "phone",
        group: "children".to_owned(),
        limits: [8, 10_000_000],
        inspect: Some(Action::None),
        schedules: 1,
        ..DeviceSettings::default()
    };
    assert_eq!(*device, expected);
}

#[test]
fn reports_the_option_of_an_invalid_value() {
    let mac = "\toption mac '02:00:00:00:00:01'";
    let long = "x".repeat(64);
    for (text, fault) in [
        ("config device\n\toption name 'a'".to_owned(), "option 'mac', value '': is missing"),
        ("config device\n\toption mac '02:00'".to_owned(), "'02:00': is not the MAC address"),
        ("config device\n\toption mac '01:00:5e:00:00:01'".to_owned(), "is not the MAC address"),
        (device(&format!("\toption name '{long}'")), "has more than 63 characters"),
        (device("\toption group 'a\u{7}'"), "contains '\\u{7}'"),
        (device("\toption kind 'car'"), "is not one of phone, tablet"),
        (device("\toption paused 'maybe'"), "is neither 1 nor 0"),
        (device("\toption paused_until '-1'"), "is not a number"),
        (format!("{}config device\n{mac}", device("")), "section '@device[1]', option 'mac'"),
        (schedule("24:00", "07:00", ""), "option 'from', value '24:00': is not a time"),
        (schedule("21:00", "7:00", ""), "option 'to', value '7:00': is not a time"),
        (schedule("21:00", "07:00", "\tlist day 'Mon'"), "is not one of mon, tue"),
        (schedule("21:00", "07:00", "\tlist device 'x'"), "option 'device', value 'x'"),
        ("config schedule\n\toption to '07:00'".to_owned(), "option 'from', value '': is missing"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(fault), "{text}: {error}");
    }
    assert!(read(&device(&format!("\toption name '{}'", "ä".repeat(63)))).is_ok());
}

#[test]
fn sections_and_devices_of_schedules_are_limited() {
    let devices = |count: u32| {
        let mac = |at: u32| format!("02:00:00:00:{:02x}:{:02x}", at / 256, at % 256);
        (0..count)
            .map(|at| format!("config device\n\toption mac '{}'\n", mac(at)))
            .collect::<Vec<_>>()
            .concat()
    };
    assert_eq!(read(&devices(512)).unwrap().devices.len(), 512);
    assert!(read(&devices(513)).unwrap_err().contains("at most 512"));
    assert!(read(&schedule("01:00", "02:00", "").repeat(64)).is_ok());
    assert!(read(&schedule("01:00", "02:00", "").repeat(65)).unwrap_err().contains("at most 64"));
    let list = |count: u32| {
        let mac =
            |at: u32| format!("\tlist device '06:00:00:00:{:02x}:{:02x}'\n", at / 256, at % 256);
        schedule("01:00", "02:00", &(0..count).map(mac).collect::<Vec<_>>().concat())
    };
    assert_eq!(read(&list(1023)).unwrap().devices.len(), 1024);
    assert!(read(&list(1024)).unwrap_err().contains("at most 1024"));
}

#[test]
fn a_pause_lasts_until_it_is_resumed_or_its_time_has_come() {
    let always = read(&device("\toption paused '1'")).unwrap();
    let until = read(&device("\toption paused_until '1000'")).unwrap();
    for (settings, unix, expected, end) in [
        (&always, 999, Some(Pause::Always), None),
        (&until, 999, Some(Pause::Until), Some(1000)),
        (&until, 1000, None, Some(1000)),
    ] {
        let clock = clock(unix, "UTC0");
        assert_eq!(pause(settings, &clock), expected);
        assert_eq!(settings.end(PHONE, &clock), end);
    }
}

/// 2026-11-30 is a Monday.
const MONDAY: i64 = 1_796_000_400 - 1_796_000_400 % 86_400;

#[test]
fn a_span_past_midnight_ends_on_the_next_day() {
    let settings = read(&schedule("21:00", "07:00", "\tlist day 'mon'")).unwrap();
    let at =
        |day: i64, hour: i64, minute: i64| MONDAY + day * 86_400 + hour * HOUR + minute * MINUTE;
    for (unix, expected) in [
        (at(0, 20, 59), None),
        (at(0, 21, 0), Some(Pause::Schedule)),
        (at(1, 6, 59), Some(Pause::Schedule)),
        (at(1, 7, 0), None),
        (at(1, 21, 0), None),
        (at(0, 3, 0), None),
        (at(7, 21, 0), Some(Pause::Schedule)),
    ] {
        assert_eq!(pause(&settings, &clock(unix, "UTC0")), expected, "{unix}");
    }
    assert_eq!(settings.end(PHONE, &clock(at(0, 21, 0) + 7, "UTC0")), Some(at(1, 7, 0)));
    let both = device(&format!("\toption paused_until '{}'", at(0, 21, 30)))
        + &schedule("21:00", "07:00", "");
    let clock = clock(at(0, 12, 0), "UTC0");
    assert_eq!(pause(&read(&both).unwrap(), &clock), Some(Pause::Until));
    assert_eq!(read(&both).unwrap().end(PHONE, &clock), Some(at(1, 7, 0)));
}

#[test]
fn a_schedule_for_the_whole_week_has_no_end() {
    let settings = read(&schedule("00:00", "00:00", "")).unwrap();
    for unix in (0..8 * 24).map(|hour| MONDAY + hour * HOUR) {
        let clock = clock(unix, BERLIN);
        assert_eq!(pause(&settings, &clock), Some(Pause::Schedule));
        assert_eq!(settings.end(PHONE, &clock), None);
    }
}

#[test]
fn without_a_clock_a_device_with_a_schedule_is_paused() {
    let text = device("") + &schedule("21:00", "07:00", "");
    let noon = Clock { is_set: false, ..clock(MONDAY + 12 * HOUR, "UTC0") };
    let settings = read(&text).unwrap();
    assert_eq!(pause(&settings, &noon), Some(Pause::Clock));
    assert_eq!(settings.end(PHONE, &noon), None);
    assert_eq!(pause(&settings, &Clock { is_set: true, ..noon }), None);
    let off = device("") + &schedule("21:00", "07:00", "\toption enabled '0'");
    assert_eq!(pause(&read(&off).unwrap(), &noon), None);
    assert_eq!(settings.paused(&noon).get(&TV), None);
}

/// The span 02:30 to 03:30 on the days on which the clock changes.
#[test]
fn spans_follow_local_time_when_the_clock_changes() {
    let settings = read(&schedule("02:30", "03:30", "")).unwrap();
    let paused = |unix: i64, zone| pause(&settings, &clock(unix, zone)).is_some();
    // 2026-03-29 01:00 UTC: 02:00 becomes 03:00.
    let spring = 1_774_746_000;
    assert!(!paused(spring - 1, BERLIN) && paused(spring, BERLIN));
    assert_eq!(settings.end(PHONE, &clock(spring, BERLIN)), Some(spring + 30 * MINUTE));
    // 2026-10-25 01:00 UTC: 03:00 becomes 02:00, so the first half of the span comes twice.
    let autumn = 1_792_890_000;
    assert!(!paused(autumn - 31 * MINUTE, BERLIN) && paused(autumn - 30 * MINUTE, BERLIN));
    assert_eq!(settings.end(PHONE, &clock(autumn - MINUTE, BERLIN)), Some(autumn));
    assert!(!paused(autumn, BERLIN) && paused(autumn + 30 * MINUTE, BERLIN));
    // 2026-04-04 16:00 UTC: 03:00 becomes 02:00 in Sydney, 2026-10-03 16:00: 02:00 becomes 03:00.
    assert_eq!(settings.end(PHONE, &clock(1_775_318_400 - MINUTE, SYDNEY)), Some(1_775_318_400));
    assert!(!paused(1_791_043_200 - 1, SYDNEY) && paused(1_791_043_200, SYDNEY));
}

fn any_schedules() -> impl Strategy<Value = Vec<Schedule>> {
    let time = prop_oneof![0..1440_i64, 0..240_i64, Just(0), Just(1439)];
    let one =
        (1..0x80_u8, time.clone(), time).prop_map(|(days, from, to)| Schedule { days, from, to });
    prop::collection::vec(one, 1..5)
}

/// Returns whether a schedule contains this minute, by going back to the beginning of its span.
fn oracle(schedules: &[Schedule], unix: i64, zone: &Zone) -> bool {
    let minutes = (unix + zone.offset(unix)).div_euclid(MINUTE);
    schedules.iter().any(|schedule| {
        let length = (schedule.to - schedule.from - 1).rem_euclid(1440) + 1;
        let passed = (minutes - schedule.from).rem_euclid(1440);
        let weekday = ((minutes - passed).div_euclid(1440) + 3).rem_euclid(7);
        passed < length && schedule.days >> weekday & 1 != 0
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_schedules_pause_in_the_minutes_of_their_spans(
        schedules in any_schedules(),
        zone in prop::sample::select(vec!["UTC0", BERLIN, SYDNEY, NUUK]),
        // Around changes of the clock, and at any time.
        start in prop_oneof![
            prop::sample::select(CHANGES.to_vec()).prop_flat_map(|at| at - 36 * HOUR..at),
            1_760_000_000..1_900_000_000_i64
        ],
        until in 0..2 * 86_400_i64,
    ) {
        let device = DeviceSettings {
            schedules: u64::MAX,
            paused_until: start + until,
            ..DeviceSettings::default()
        };
        let devices = BTreeMap::from([(PHONE, device)]);
        let settings = Settings { devices, schedules, ..Settings::default() };
        let zone = Zone::parse(zone).unwrap();
        let expected = |unix| unix < start + until || oracle(&settings.schedules, unix, &zone);
        let mut end = start;
        // Changes of the clock and edges are at full minutes.
        for unix in (0..48 * 60).map(|passed| start - start % MINUTE + passed * MINUTE) {
            let unix = unix.max(start);
            let clock = Clock { unix, zone, is_set: true };
            prop_assert_eq!(pause(&settings, &clock).is_some(), expected(unix), "{}", unix);
            if unix >= end {
                let next = settings.end(PHONE, &clock);
                end = next.unwrap_or(unix + MAX_PAUSE);
                prop_assert!(end >= unix);
                prop_assert_eq!(end == unix, !expected(unix));
                if next.is_some() {
                    prop_assert!(!expected(end) && (end == unix || expected(end - 1)));
                }
            } else {
                prop_assert!(expected(unix), "{} is before the end {}", unix, end);
            }
        }
    }
}

#[test]
fn schedules_switch_ssids_off() {
    let text = "config schedule\n\tlist ssid 'My guests'\n\toption from '21:00'\n\
        \toption to '07:00'\nconfig schedule\n\tlist ssid 'Home'\n\tlist ssid 'My guests'\n\
        \toption from '06:00'\n\toption to '08:00'\n";
    let settings = read(text).unwrap();
    assert!(settings.devices.is_empty());
    let off = |hour: i64| {
        let off = settings.ssids_off(&clock(MONDAY + hour * HOUR, "UTC0")).into_iter();
        off.map(|off| (off.ssid, off.until_ms)).collect::<Vec<_>>()
    };
    let until = |hour: i64| u64::try_from(MONDAY + hour * HOUR).unwrap() * 1000;
    assert_eq!(off(12), []);
    assert_eq!(off(22), [("My guests".to_owned(), until(32))]);
    let both = ["Home", "My guests"].map(|ssid| (ssid.to_owned(), until(8)));
    assert_eq!(off(6), both);
    let long = text.replace("Home", &"x".repeat(33));
    assert!(read(&long).unwrap_err().contains("32"));
}
