// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeSet;

use ips::Batch;
use serde_json::{Value, json};

use super::answer::MAX_ROWS;
use super::*;
use crate::fixture::{alert, running};

const DAY: u64 = 86_400_000;
/// A midnight after the clock is set.
const START: u64 = 20_500 * DAY;

fn at(second: u64, unix_ms: u64) -> Now {
    Now { mono: Duration::from_secs(second), unix_ms }
}

fn sample(devices: &[(Option<Mac>, HostBytes)], path: u64) -> Sample<'_> {
    Sample {
        devices,
        paths: [path, 0, 0, 0, 0],
        alerts: [0; 2],
        wans: Vec::new(),
        engine: "flowtable",
        inspection: "off",
        digest: "",
        hits: &[],
        quotas: Vec::new(),
        day_of: &day_of,
        zone: Zone::fixed(0),
    }
}

fn day_of(unix_ms: u64) -> Option<i64> {
    i64::try_from(unix_ms / DAY).ok().filter(|day| *day > 0)
}

fn wan(up: bool, bytes: Option<[u64; 2]>) -> Vec<WanSample> {
    vec![WanSample { name: "wan".to_owned(), up, bytes, probe: None }]
}

fn grown(mac: u8, sent: u64, received: u64) -> (Option<Mac>, HostBytes) {
    (Some(Mac([2, 0, 0, 0, 0, mac])), HostBytes { sent, received, offloaded: sent })
}

fn opened(now: Now) -> State {
    let mut state = State::new(now);
    state.event(Event::Opened(BTreeSet::new(), 0, Recent::default()), now);
    state
}

fn answered(mut query: Query, stored: Book, writes: u64) -> Value {
    for ((stamp, key), sums) in stored.cells {
        query.add(stamp, key, sums);
    }
    Value::Object(query.answer(stored.events, writes).unwrap().decode().unwrap())
}

fn ask(state: &State, method: &str, request: &Value, now: Now) -> Value {
    let query = match method {
        "usage" => state.usage(request, now),
        _ => state.journal(request, BTreeMap::new(), now),
    };
    answered(query.unwrap(), Book::default(), 0)
}

#[test]
fn writes_the_growth_once_per_interval() {
    let mut state = opened(at(0, START));
    let mut writes = Vec::new();
    for second in 1..=1800 {
        let now = at(second, START + second * 1000);
        let devices = [grown(1, 1, 10), (None, HostBytes { sent: 0, received: 3, offloaded: 0 })];
        if let Some(write) = state.second(&sample(&devices, second * 100), now) {
            state.event(Event::Written(Ok(77)), now);
            writes.push((second, write));
        }
    }
    assert_eq!(writes.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [600, 1200, 1800]);
    let mut all = Book::default();
    for (_, write) in writes {
        assert_eq!(write.day_of(write.quarter), 20_500 * 96);
        all.merge(write.book);
    }
    let first = Stamp::quarter_of(START);
    let device = Key::Device([2, 0, 0, 0, 0, 1]);
    assert_eq!(all.cells[&(first, device)], [899, 8990, 899]);
    assert_eq!(all.cells[&(first, Key::Recorded)], [899, 0, 0]);
    assert_eq!(all.cells[&(first, Key::Others)], [0, 2697, 0]);
    let second = Stamp::quarter_of(START + 900_000);
    assert_eq!(all.cells[&(second, device)], [900, 9000, 900]);
    assert_eq!(all.cells[&(second, Key::Path(0))], [90_000, 0, 0]);
    assert!(state.buckets.len() <= 1);
}

#[test]
fn a_failed_write_is_retried_with_everything() {
    let mut state = opened(at(0, START));
    let run = |state: &mut State, from: u64, to: u64| {
        let mut found = None;
        for second in from..=to {
            let now = at(second, START + second * 1000);
            found = state.second(&sample(&[grown(1, 1, 0)], 0), now).or(found);
        }
        found
    };
    assert!(run(&mut state, 1, 600).is_some());
    let failure = Failure { is_full: true, text: "full".to_owned() };
    state.event(Event::Written(Err(failure)), at(600, START + 600_000));
    let answer = ask(&state, "usage", &json!({}), at(601, START + 601_000));
    assert_eq!(answer["storage"]["state"], "room");
    assert_eq!(answer["rows"][0][2], 600);
    let write = run(&mut state, 601, 1200).unwrap();
    let sums = write.book.cells.iter().filter(|((_, key), _)| matches!(key, Key::Device(_)));
    assert_eq!(sums.map(|(_, sums)| sums[0]).sum::<u64>(), 1200);
    // A query during the write counts its bytes once.
    let query = state.usage(&json!({}), at(1200, START + 1_200_000)).unwrap();
    for (stored, writes) in [(Book::default(), 0), (write.book, 1)] {
        let answer = answered(query.clone(), stored, writes);
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| row[2].as_u64().unwrap()).sum::<u64>(), 1200);
    }
}

#[test]
fn nothing_is_written_before_the_clock_is_set_and_times_are_corrected() {
    let mut state = opened(at(0, 5000));
    for second in 1..=700 {
        let now = at(second, 5000 + second * 1000);
        assert_eq!(state.second(&sample(&[grown(1, 1, 0)], 0), now), None);
    }
    let now = at(701, START + 3_600_000);
    let write = state.second(&sample(&[], 0), now).unwrap();
    let stamps: BTreeSet<Stamp> = write.book.cells.keys().map(|(stamp, _)| *stamp).collect();
    let [before, after] = [-701_000, 0].map(|ms| START.saturating_add_signed(3_600_000 + ms));
    assert_eq!(stamps, [before, after].map(Stamp::quarter_of).into());
    assert_eq!(write.book.events[0].unix_ms, before, "the start");
    assert_eq!(ask(&state, "journal", &json!({}), at(702, 0))["storage"]["state"], "clock");
}

#[test]
fn failed_writes_take_bounded_memory() {
    let mut state = opened(at(0, START));
    let devices: Vec<_> = (0..250).map(|mac| grown(mac, 1, 1)).collect();
    for quarter in 0..300 {
        let now = at(quarter * 900, START + quarter * 900_000);
        if state.second(&sample(&devices, 0), now).is_some() {
            let failure = Failure { is_full: false, text: "read-only".to_owned() };
            state.event(Event::Written(Err(failure)), now);
        }
        let cells: usize = state.buckets.iter().map(|bucket| bucket.cells.len()).sum();
        assert!(cells <= MAX_CELLS);
    }
    assert!(state.buckets.len() > 100);
    let rows = ask(&state, "usage", &json!({}), at(270_000, START + 300 * 900_000))["rows"].clone();
    assert!(rows[0][0].as_u64().unwrap() > START, "the oldest become a gap");
}

#[test]
fn a_crowd_in_one_quarter_hour_counts_as_others() {
    let mut state = opened(at(0, START));
    let mac = |number: u16| {
        let [a, b] = number.to_be_bytes();
        (Some(Mac([2, 0, 0, 0, a, b])), HostBytes { sent: 1, received: 2, offloaded: 0 })
    };
    let devices: Vec<_> = (0..2000).map(mac).collect();
    state.second(&sample(&devices, 0), at(1, START + 1000));
    let answer = ask(&state, "usage", &json!({"step": "day"}), at(2, START + 2000));
    assert_eq!(
        answer["devices"][0],
        json!({
            "mac": "", "up_bytes": 1488, "down_bytes": 2976, "offloaded_bytes": 0,
        })
    );
    let row = &answer["rows"][0];
    assert_eq!((&row[2], &row[3]), (&json!(2000), &json!(4000)));
    let events = ask(&state, "journal", &json!({"limit": 500}), at(2, START + 2000));
    let new = events["events"].as_array().unwrap().iter();
    assert_eq!(new.filter(|event| event["kind"] == "new-device").count(), MAX_SIMILAR);
}

#[test]
fn changes_of_states_are_events() {
    let mut state = opened(at(0, START));
    state.known.insert([2, 0, 0, 0, 0, 1]);
    let mut second = 0;
    let mut run = |change: &mut dyn FnMut(&mut Sample<'_>)| {
        second += 1;
        let devices = [grown(1, 1, 1)];
        let mut one = sample(&devices, 0);
        (one.digest, one.wans) = ("a", wan(true, Some([second, second])));
        change(&mut one);
        state.second(&one, at(second, START + second * 1000));
    };
    run(&mut |_| ());
    run(&mut |_| ());
    run(&mut |one| one.wans = wan(false, None));
    run(&mut |_| ());
    run(&mut |one| one.engine = "off");
    run(&mut |_| ());
    run(&mut |one| one.inspection = "inline");
    run(&mut |one| one.inspection = "");
    run(&mut |one| one.inspection = "inline");
    run(&mut |one| (one.digest, one.inspection) = ("b", "failing-open"));
    let answer = ask(&state, "journal", &json!({"since": START}), at(99, START + 99_000));
    let events = answer["events"].as_array().unwrap();
    let texts = events.iter().map(|event| {
        let [kind, about] = ["kind", "about"].map(|key| event[key].as_str().unwrap());
        format!("{} {kind} {about}", (event["at_ms"].as_u64().unwrap() - START) / 1000)
    });
    assert_eq!(
        texts.collect::<Vec<_>>(),
        [
            "10 configuration b",
            "10 inspection failing-open",
            "6 engine flowtable",
            "5 engine off",
            "4 wan-up wan",
            "3 wan-down wan",
        ]
    );
    let limited = ask(&state, "journal", &json!({"limit": 1}), at(99, START + 99_000));
    assert_eq!(limited["events"].as_array().unwrap().len(), 1);
    let usage = ask(&state, "usage", &json!({}), at(99, START + 99_000));
    assert_eq!(usage["wans"][0]["rows"], json!([[START, 7, 7, 0, 0, 0, 0, 0]]));
}

#[test]
fn without_history_nothing_is_kept_or_written() {
    let mut state = opened(at(0, START));
    state.second(&sample(&[grown(1, 1, 1)], 0), at(1, START + 1000));
    state.configure(None, true);
    for second in 2..1300 {
        let now = at(second, START + second * 1000);
        assert_eq!(state.second(&sample(&[grown(1, 1, 1)], 0), now), None);
    }
    assert_eq!(state.finish(at(1300, START)), None);
    let answer = ask(&state, "usage", &json!({}), at(1300, START + 1_300_000));
    assert_eq!((&answer["rows"], &answer["storage"]["state"]), (&json!([]), &json!("off")));
}

#[test]
fn a_span_and_a_device_select_rows_and_gaps_have_none() {
    let mut state = opened(at(0, START));
    state.buckets.clear();
    let now = at(4, START + 97 * 900_000);
    let rows = |request: Value| {
        let query = state.usage(&request, now).unwrap();
        let mut book = Book::default();
        for quarter in [0, 1, 5, 97] {
            let stamp = Stamp::quarter_of(START + quarter * 900_000);
            book.add(stamp, Key::Recorded, [900, 0, 0]);
            if quarter != 1 {
                book.add(stamp, Key::Device([2, 0, 0, 0, 0, 1]), [1, 2, 3]);
            }
            book.add(stamp, Key::Device([2, 0, 0, 0, 0, 2]), [50, 50, 50]);
            book.add(Stamp::Day(20_000 * 96), Key::Recorded, [86_400, 0, 0]);
        }
        answered(query, book, 9)["rows"].clone()
    };
    let quarter = |number: u64| START + number * 900_000;
    let mac = "02:00:00:00:00:01";
    assert_eq!(
        rows(json!({"mac": mac, "to_ms": quarter(97)})),
        json!([[quarter(0), 900, 1, 2, 3], [quarter(1), 900, 0, 0, 0], [quarter(5), 900, 1, 2, 3]])
    );
    assert_eq!(
        rows(json!({"mac": mac, "step": "day"})),
        json!([
            [20_000 * DAY, 4 * 86_400, 0, 0, 0],
            [START, 2700, 2, 4, 6],
            [START + DAY, 900, 1, 2, 3],
        ])
    );
    assert_eq!(rows(json!({"from_ms": quarter(5), "to_ms": quarter(6)}))[0][2], 51);
    for bad in [json!({"mac": "x"}), json!({"step": "hour"}), json!({"from": 1})] {
        assert!(state.usage(&bad, now).is_err(), "{bad}");
    }
    assert!(state.journal(&json!({"limit": 501}), BTreeMap::new(), now).is_err());
}

#[test]
fn the_largest_answer_fits_into_a_message() {
    let mut book = Book::default();
    let name = |number| Key::Wan(Name::new(&format!("interface-{number}")));
    for quarter in 0..2000 {
        let stamp = Stamp::Quarter(quarter);
        for key in [Key::Recorded, Key::Others, Key::Path(4), Key::Alerts] {
            book.add(stamp, key, [u64::from(u32::MAX) << 20; 3]);
        }
        for number in 0..9 {
            let wan = name(number);
            let Key::Wan(name) = wan else { unreachable!() };
            for key in [wan, Key::Probes(name), Key::Extremes(name)] {
                book.add(stamp, key, [u64::from(u32::MAX) << 20; 3]);
            }
        }
        let mac = quarter.to_be_bytes();
        book.add(stamp, Key::Device([2, 0, mac[0], mac[1], mac[2], mac[3]]), [1, 1, 1]);
    }
    let state = opened(at(0, START));
    let query = state.usage(&json!({}), at(0, START)).unwrap();
    let answer = answered(query, book, 1);
    assert_eq!(
        (&answer["more"], answer["rows"].as_array().unwrap().len()),
        (&json!(true), MAX_ROWS)
    );
    assert_eq!(answer["wans"][3]["rows"].as_array().unwrap().len(), MAX_ROWS);
}

#[test]
fn the_core_samples_all_subsystems() {
    let mut core = running();
    core.events_read(Batch { connected: true, ..alert("203.0.113.1", "10.10.10.10") });
    core.set_clock(at(601, START), Duration::ZERO);
    core.handle(crate::event::Event::History(Event::Opened(BTreeSet::new(), 0, Recent::default())));
    let readings = crate::sys::kernel::Readings::default();
    let effects = core.second(&readings);
    let write = effects.into_iter().find_map(|effect| match effect {
        crate::effect::Effect::History(Effect::Write(write)) => Some(write),
        _ => None,
    });
    let book = write.unwrap().book;
    let kinds: Vec<Kind> = book.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Kind::Start]);
    assert!(book.cells.contains_key(&(Stamp::quarter_of(START), Key::Recorded)));
    let stop = core.last_history();
    assert_eq!(stop, None, "the first write has not ended");
}

/// Returns the ids of the journal after `after`.
fn ids(state: &State, request: &Value, stored: &Book, now: Now) -> Vec<u64> {
    let query = state.journal(request, BTreeMap::new(), now).unwrap();
    let answer = answered(query, stored.clone(), 0);
    let events = answer["events"].as_array().unwrap().iter();
    events.map(|event| event["id"].as_u64().unwrap()).collect()
}

#[test]
fn ids_continue_after_a_power_cut_and_a_clock_that_is_set_back() {
    let mut first = opened(at(0, START));
    first.note(Kind::Rules, "updated", at(1, START + 1000));
    let write = first.finish(at(2, START + 2000)).unwrap();
    first.note(Kind::Rules, "failed", at(3, START + 3000));
    let last = ids(&first, &json!({"after": 0}), &Book::default(), at(3, START + 3000));
    assert_eq!(last, [RUN + 1, RUN + 2, RUN + 3, RUN + 4], "the last one was not written");

    let earlier = at(9, START - DAY);
    let mut second = State::new(earlier);
    let stored = write.book;
    let asked = |state: &State, request| ids(state, &request, &stored, earlier);
    assert_eq!(asked(&second, json!({"after": 0})), [RUN + 1, RUN + 2, RUN + 3], "not yet read");
    let recent = Recent { last_id: RUN + 3, events: stored.events.clone(), devices: vec![] };
    second.event(Event::Opened(BTreeSet::new(), 0, recent), earlier);
    assert_eq!(asked(&second, json!({"after": RUN + 2})), [RUN + 3, 2 * RUN + 1]);
    assert_eq!(asked(&second, json!({"after": RUN + 2, "limit": 1})), [RUN + 3], "oldest first");
    assert_eq!(asked(&second, json!({"limit": 1})), [RUN + 3], "newest first, by time");
    let answer =
        answered(second.journal(&json!({}), BTreeMap::new(), earlier).unwrap(), stored.clone(), 0);
    assert_eq!(answer["last_id"], 2 * RUN + 1);
}

#[test]
fn another_version_is_an_event() {
    for (version, kinds) in [(env!("CARGO_PKG_VERSION"), 1), ("0.0.1", 2)] {
        let mut state = State::new(at(0, START));
        let about = version.to_owned();
        let start = ledger::Entry { unix_ms: 1, id: 1, kind: Kind::Start, about };
        let recent = Recent { last_id: 1, events: vec![start], devices: vec![] };
        state.event(Event::Opened(BTreeSet::new(), 0, recent), at(1, START));
        let answer = ask(&state, "journal", &json!({}), at(1, START));
        assert_eq!(answer["events"].as_array().unwrap().len(), kinds);
    }
}

#[test]
fn new_events_need_no_files_and_name_their_device() {
    let mut state = opened(at(0, START));
    let now = at(601, START + 601_000);
    let device = [grown(1, 1, 1)];
    let write = state.second(&sample(&device, 0), now).unwrap();
    let names = || BTreeMap::from([("02:00:00:00:00:01".to_owned(), "tv".to_owned())]);
    let asked = |state: &State, after: u64| {
        let query = state.journal(&json!({"after": RUN + after}), names(), now).unwrap();
        let writes = query.without_files();
        let answer = answered(query, Book::default(), writes.unwrap_or(9));
        assert_eq!(answer["last_id"], RUN + state.events);
        let names = answer["events"].as_array().unwrap().iter().map(|event| event["name"].clone());
        (writes, names.collect::<Vec<Value>>())
    };
    assert_eq!(asked(&state, 0), (Some(0), vec![json!(""), json!("tv")]), "during the write");
    state.event(Event::Written(Ok(1)), now);
    assert_eq!(asked(&state, 1).0, None);
    assert_eq!(asked(&state, 2), (Some(1), vec![]));
    state.note(Kind::Rules, "updated", now);
    assert_eq!(asked(&state, 1).0, None);
    assert_eq!(asked(&state, 2), (Some(1), vec![json!("")]));
    assert_eq!(write.book.events.len(), 2);
    assert_eq!(opened(now).journal(&json!({}), names(), now).unwrap().without_files(), None);
    let unread = State::new(now).journal(&json!({"after": 7}), names(), now).unwrap();
    assert_eq!(unread.without_files(), None);
}

#[test]
fn losses_count_after_the_first_answer_of_the_server() {
    let mut state = opened(at(0, START));
    state.second(&sample(&[], 0), at(1, START + 1000));
    let mut probed = |server: &str, millis: Option<u64>| {
        let [wan, device] = ["wan", "pppoe-wan"].map(str::to_owned);
        let probe = Probe { wan, device, server: server.parse().unwrap() };
        let event = Event::Probed(probe, millis.map(Duration::from_millis));
        state.event(event, at(1, START + 1000));
    };
    for millis in [None, Some(20), None, Some(40), Some(12)] {
        probed("192.0.2.53", millis);
    }
    // Another server, which is silent.
    probed("192.0.2.1", None);
    let wan = ask(&state, "usage", &json!({}), at(2, START + 2000))["wans"][0].take();
    let columns =
        ["at_ms", "up_bytes", "down_bytes", "probes", "lost", "min_us", "mean_us", "max_us"];
    assert_eq!(wan["cols"], json!(columns));
    assert_eq!(wan["rows"], json!([[START, 0, 0, 4, 1, 12_000, 24_000, 40_000]]));
}

/// A day of summer time and one that ended it, by the time zone of Berlin.
#[test]
fn rows_of_days_begin_at_local_midnight() {
    // 2026-10-23 22:00 UTC.
    let midnight = 1_792_792_800_000;
    let mut state = opened(at(0, midnight));
    let zone = Zone::parse("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let (mut stored, mut writes) = (Book::default(), Vec::new());
    for quarter in 0..=96 + 100 {
        let now = at(quarter * 900, midnight + quarter * 900_000 + 1000);
        let devices = [grown(1, 1, 2)];
        if let Some(write) = state.second(&Sample { zone, ..sample(&devices, 0) }, now) {
            state.event(Event::Written(Ok(0)), now);
            writes.push([write.quarter, write.day_of(write.quarter)].map(u64::from));
            stored.merge(write.book);
        }
    }
    let starts = [0, 96, 196].map(|quarter| midnight + quarter * 900_000);
    let query = state.usage(&json!({"step": "day"}), at(197 * 900, midnight)).unwrap();
    let rows = answered(query, stored, 0)["rows"].take();
    let found: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| json!([row[0], row[2]])).collect();
    let expected: Vec<_> = starts.into_iter().zip([96, 100, 1]).collect();
    assert_eq!(json!(found), json!(expected));
    assert_eq!(writes[95].map(|at| at * 900_000), [starts[1], starts[1]]);
    assert_eq!(writes[194].map(|at| at * 900_000), [starts[2] - 900_000, starts[1]]);
}

/// The night from 2026-10-25 has 25 hours.
#[test]
fn an_answer_needs_only_the_periods_of_its_span() {
    let mut state = opened(at(0, START));
    state.zone = Zone::parse("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let (first, mut all) = (20_740 * 96, Book::default());
    for day in 0..30 {
        all.add(Stamp::Day(first - 96 * day), Key::Others, [1, 2, 3]);
    }
    for quarter in first..first + 20 * 96 {
        all.add(Stamp::Quarter(quarter), Key::Others, [1, 1, 0]);
    }
    let ms = |quarter: u32| u64::from(quarter) * 900_000;
    for step in ["day", "quarter"] {
        for (from, to) in [(0, 96), (1000, 1096), (1044, 1144), (1045, 1150), (0, 5000)] {
            let request = json!({"step": step, "from_ms": ms(first - 96 + from) + 1,
                "to_ms": ms(first - 96 + to) + 1});
            let query = state.usage(&request, at(1, ms(first + 5000))).unwrap();
            let (span, mut part) = (query.span(), all.clone());
            part.cells.retain(|(stamp, _), _| match stamp {
                Stamp::Day(at) => span.days.contains(at),
                Stamp::Quarter(at) => span.quarters.contains(at),
            });
            assert!(part.cells.len() < all.cells.len(), "{request}");
            assert_eq!(answered(query.clone(), part, 0), answered(query, all.clone(), 0));
        }
    }
}
