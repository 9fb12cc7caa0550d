// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answers of `usage` and `journal`.

use std::fmt::Write;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use config::zone::Zone;
use serde_json::{Value, json};

use crate::json::{flag, list, number, text};
use crate::protection::plain;
use crate::table::table;
use crate::units::{duration, size};

const DAY_MS: u64 = 86_400_000;

/// Returns a request for the last `days`, or for the quarter hours of the last 24 hours.
pub(crate) fn request(mac: Option<String>, days: Option<u64>) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let from_ms = now_ms.saturating_sub(days.unwrap_or(1).saturating_mul(DAY_MS));
    let step = if days.is_some() { "day" } else { "quarter" };
    let mut request = json!({"step": step, "from_ms": from_ms});
    if let Some(mac) = mac {
        request["mac"] = mac.into();
    }
    request
}

pub(crate) fn usage(answer: &Value) -> String {
    let rows = list(answer, "rows").map(|row| {
        let cell = |at: usize| row.get(at).and_then(Value::as_i64).unwrap_or(0);
        let mut line = vec![time(cell(0)), duration(cell(1))];
        line.extend([2, 3, 4].map(|at| size(cell(at))));
        line
    });
    let mut out = table("FROM|>RECORDED|>SENT|>RECEIVED|>OFFLOADED", rows);
    if flag(answer, "more") {
        out.push_str("older rows are not shown\n");
    }
    if answer.get("devices").is_some() {
        let devices = list(answer, "devices").map(|device| {
            let mac = text(device, "mac");
            let bytes = ["up_bytes", "down_bytes", "offloaded_bytes"];
            let mut line = vec![plain(if mac.is_empty() { "others" } else { mac })];
            line.extend(bytes.map(|key| size(number(device, key))));
            line
        });
        let _ = write!(out, "\n{}", table("DEVICE|>SENT|>RECEIVED|>OFFLOADED", devices));
    }
    let lines = list(answer, "wans").flat_map(|wan| {
        list(wan, "rows").filter_map(|row| {
            let cell = |at: usize| row.get(at).and_then(Value::as_i64).unwrap_or(0);
            let [sent, lost] = [cell(3), cell(4)];
            let mut line = vec![time(cell(0)), plain(text(wan, "name"))];
            line.extend([5, 6, 7].map(|at| millis(cell(at))));
            line.push(format!("{lost}/{sent}"));
            (sent > 0).then_some(line)
        })
    });
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        let head = "FROM|LINE|>MIN MS|>MEAN MS|>MAX MS|>LOST";
        let _ = write!(out, "\n{}", table(head, lines.into_iter()));
    }
    out.push_str(&storage(answer));
    out
}

pub(crate) fn journal(answer: &Value) -> String {
    let rows = list(answer, "events").map(|event| {
        let [kind, about] = ["kind", "about"].map(|key| plain(text(event, key)));
        vec![time(number(event, "at_ms")), kind, about]
    });
    table("TIME|EVENT|OBJECT", rows) + &storage(answer)
}

/// Returns the id of the last event and the state of the history, and then a line per event.
pub(crate) fn columns(answer: &Value) -> String {
    let mut out = format!("{}\t{}\n", answer["last_id"], text(&answer["storage"], "state"));
    for event in list(answer, "events") {
        let [kind, about, name] = ["kind", "about", "name"].map(|key| plain(text(event, key)));
        let _ = writeln!(out, "{}\t{}\t{kind}\t{about}\t{name}", event["id"], event["at_ms"]);
    }
    out
}

/// Formats microseconds as milliseconds, 0 as a missing value.
fn millis(micros: i64) -> String {
    match micros {
        0 => "-".to_owned(),
        _ => format!("{}.{}", micros / 1000, micros % 1000 / 100),
    }
}

fn storage(answer: &Value) -> String {
    let storage = &answer["storage"];
    match text(storage, "state") {
        "on" => String::new(),
        state => format!("history: {} {}\n", plain(state), plain(text(storage, "why"))),
    }
}

/// Returns the router's time zone, which the daemon uses, too. UTC if there is none.
pub(crate) fn zone() -> Zone {
    let text = fs::read_to_string("/etc/TZ").unwrap_or_default();
    Zone::parse(&text).unwrap_or(Zone::fixed(0))
}

/// Formats a local time as `2026-11-30 09:15`.
pub(crate) fn time(unix_ms: i64) -> String {
    time_in(&zone(), unix_ms)
}

fn time_in(zone: &Zone, unix_ms: i64) -> String {
    let unix = unix_ms.div_euclid(1000);
    let minutes = (unix + zone.offset(unix)).div_euclid(60);
    let (mut day, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    // Days since 0000-03-01, in eras of 400 years (Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms").
    day += 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_dates() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_796_029_453, "2026-11-30 09:04"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(time_in(&Zone::fixed(0), unix_s * 1000), text);
        }
        let zone = Zone::parse("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (unix_s, text) in [
            (1_774_745_999, "2026-03-29 01:59"),
            (1_774_746_000, "2026-03-29 03:00"),
            (1_796_029_453, "2026-11-30 10:04"),
        ] {
            assert_eq!(time_in(&zone, unix_s * 1000), text);
        }
    }

    #[test]
    fn asks_for_quarter_hours_unless_days_are_given() {
        assert_eq!(request(None, None)["step"], "quarter");
        let days = request(Some("02:00:00:00:00:01".into()), Some(30));
        assert_eq!((&days["step"], &days["mac"]), (&json!("day"), &json!("02:00:00:00:00:01")));
        let from = |request: &Value| request["from_ms"].as_u64().unwrap_or_default();
        let apart = from(&request(None, None)) - from(&days);
        assert!(apart.abs_diff(29 * DAY_MS) < 60_000, "{apart}");
    }

    #[test]
    fn shows_rows_devices_and_why_nothing_is_recorded() {
        let row = json!([1_796_029_453_000_u64, 900, 1000, 2_000_000, 0]);
        let said = usage(&json!({
            "rows": [row], "more": true, "storage": {"state": "room", "why": "8 MB are needed"},
            "devices": [{"mac": "", "up_bytes": 3}],
            "wans": [{"name": "wan", "rows": [
                [1_796_029_453_000_u64, 0, 0, 90, 2, 9000, 12_345, 150_000],
                [1_796_030_353_000_u64, 0, 0, 90, 90, 0, 0, 0],
                [1_796_031_253_000_u64, 7, 8, 0, 0, 0, 0, 0],
            ]}],
        }));
        assert!(
            said.contains("2026-11-30 09:04  wan      9.0     12.3   150.0   2/90\n"),
            "{said}"
        );
        assert!(
            said.contains("2026-11-30 09:19  wan        -        -       -  90/90\n"),
            "{said}"
        );
        assert!(!said.contains("09:34"), "{said}");
        assert!(said.contains("2026-11-30 09:04    15m00s  1.0 kB    2.0 MB        0 B"), "{said}");
        assert!(said.contains("others   3 B       0 B        0 B"), "{said}");
        assert!(said.ends_with("history: room 8 MB are needed\n"), "{said}");
        let said = columns(&json!({
            "events": [{"id": 7, "at_ms": 5, "kind": "quota", "about": "02:00 9", "name": "a\tb"}],
            "last_id": 9, "storage": {"state": "on"},
        }));
        assert_eq!(said, "9\ton\n7\t5\tquota\t02:00 9\ta\\tb\n");
        let said = journal(&json!({
            "events": [{"at_ms": 0, "kind": "wan-up", "about": "wan"}], "storage": {"state": "on"},
        }));
        assert_eq!(said.lines().last(), Some("1970-01-01 00:00  wan-up  wan"));
    }
}
