// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answers of `ips`, `alerts`, `blocks`, `block_release`, `reinspect` and
//! `rules_update`, and escapes text from the network.

use std::fmt::Write;

use config::zone::Zone;
use serde_json::Value;

use crate::json::{flag, list, number, text};
use crate::table::table;
use crate::units::{duration, size};
use crate::usage::zone;

/// Escapes control and bidirectional characters.
pub(crate) fn plain(text: &str) -> String {
    let is_bidi = |c: char| {
        matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}')
    };
    let mut out = String::new();
    for c in text.chars() {
        if c.is_control() || is_bidi(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

pub(crate) fn plain_answer(answer: Value) -> Value {
    match answer {
        Value::String(text) => Value::String(plain(&text)),
        Value::Array(list) => list.into_iter().map(plain_answer).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, of)| (plain(&name), plain_answer(of))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => answer,
    }
}

fn field(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name:<18} {value}");
}

pub(crate) fn ips(answer: &Value) -> String {
    let mut out = String::new();
    field(
        &mut out,
        "inspection",
        &format!("{}: {}", text(answer, "state"), plain(text(answer, "why"))),
    );
    let fail = if text(answer, "fail") == "open" { "fail-open" } else { "fail-closed" };
    let mode = text(answer, "mode");
    field(&mut out, "mode", &format!("{mode}, {fail}"));
    let suricata = &answer["suricata"];
    let running = if flag(suricata, "running") {
        format!("up {}", duration(number(suricata, "uptime_s")))
    } else {
        "not responding".to_owned()
    };
    let version = plain(text(suricata, "version"));
    let restarts = number(suricata, "restarts");
    field(&mut out, "suricata", &format!("{version} {running}, restarts: {restarts}"));
    if !text(suricata, "refused").is_empty() {
        field(&mut out, "refused", &plain(text(suricata, "refused")));
    }
    let rules = &answer["rules"];
    let (loaded, failed) = (number(rules, "loaded"), number(rules, "failed"));
    let state = text(rules, "state");
    field(&mut out, "rules", &format!("{state}, {loaded} loaded, {failed} failed"));
    if !text(rules, "message").is_empty() {
        field(&mut out, "", &plain(text(rules, "message")));
    }
    counters(&mut out, &answer["counters"]);
    out.push('\n');
    out.push_str(&queues(answer));
    out.push('\n');
    out.push_str(&sources(rules));
    out
}

fn counters(out: &mut String, counters: &Value) {
    for (name, key) in [("inspected", "inspected"), ("uninspected", "uninspected")] {
        let packets = number(counters, &format!("{key}_packets"));
        let bytes = size(number(counters, &format!("{key}_bytes")));
        field(out, name, &format!("{bytes}, packets: {packets}"));
    }
    for key in ["accepted", "blocked", "alerts", "bypassed_flows", "spent_flows", "queue_drops"] {
        field(out, &key.replace('_', " "), &number(counters, key).to_string());
    }
}

fn queues(answer: &Value) -> String {
    let rows = list(answer, "queues").map(|queue| {
        let cpu = number(queue, "cpu");
        vec![
            number(queue, "queue").to_string(),
            if cpu < 0 { "any".to_owned() } else { cpu.to_string() },
            (if flag(queue, "bound") { "yes" } else { "no" }).to_owned(),
            number(queue, "depth").to_string(),
            number(queue, "handled").to_string(),
            number(queue, "dropped").to_string(),
        ]
    });
    table(">QUEUE|>CPU|BOUND|>QUEUED|>VERDICTS|>LOST", rows)
}

fn sources(rules: &Value) -> String {
    let rows = list(rules, "sources").map(|source| {
        vec![
            text(source, "name").to_owned(),
            text(source, "state").to_owned(),
            number(source, "rules").to_string(),
            plain(text(source, "message")),
        ]
    });
    table("SOURCE|STATE|>RULES|MESSAGE", rows)
}

pub(crate) fn alerts(answer: &Value) -> String {
    let zone = zone();
    let rows = list(answer, "alerts").map(|alert| {
        vec![
            number(alert, "id").to_string(),
            time_of_day(&zone, number(alert, "at_ms")),
            text(alert, "action").to_owned(),
            number(alert, "sid").to_string(),
            endpoint(text(alert, "src"), number(alert, "sport")),
            endpoint(text(alert, "dst"), number(alert, "dport")),
            plain(text(alert, "signature")),
            plain(text(alert, "target")),
        ]
    });
    let mut out = table(">ID|TIME|ACTION|>SID|SOURCE|DESTINATION|SIGNATURE|TARGET", rows);
    let shown = list(answer, "alerts").count();
    let (total, seen) = (number(answer, "total"), number(answer, "seen"));
    let _ = writeln!(out, "{shown} of {total} matching alerts shown, {seen} since daemon start");
    out
}

pub(crate) fn endpoint(address: &str, port: i64) -> String {
    match (address.contains(':'), port) {
        (_, 0) => address.to_owned(),
        (true, _) => format!("[{address}]:{port}"),
        (false, _) => format!("{address}:{port}"),
    }
}

fn time_of_day(zone: &Zone, at_ms: i64) -> String {
    let unix = at_ms.div_euclid(1000);
    let seconds = (unix + zone.offset(unix)).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

pub(crate) fn blocks(answer: &Value) -> String {
    let rows = list(answer, "blocks").map(|block| {
        let duration_ms = number(block, "until_ms") - number(block, "since_ms");
        vec![
            text(block, "address").to_owned(),
            plain(text(block, "name")),
            duration(duration_ms / 1000),
            number(block, "sid").to_string(),
            plain(text(block, "reason")),
        ]
    });
    let mut out = table("ADDRESS|NAME|>DURATION|>SID|REASON", rows);
    let (packets, refused) = (number(answer, "packets"), number(answer, "refused"));
    let state = if flag(answer, "enabled") { "on" } else { "off" };
    let _ = writeln!(
        out,
        "blocking: {state}, packets dropped: {packets}, addresses not blocked: {refused}"
    );
    out
}

pub(crate) fn released(answer: &Value) -> String {
    format!("{} unblocked\n", text(answer, "address"))
}

pub(crate) fn reinspected(answer: &Value) -> String {
    format!("connections returned to inspection: {}\n", number(answer, "flows"))
}

pub(crate) fn rules_update(answer: &Value) -> String {
    let words = if flag(answer, "started") { "started" } else { "already running" };
    format!("update: {words}; `fastpathctl ips` shows its progress\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn escapes_control_characters_of_alerts() {
        let answer = json!({"total": 1, "seen": 9, "alerts": [{
            "id": 7, "at_ms": 86_399_000, "action": "blocked", "sid": 8_100_001,
            "src": "2001:db8::1", "sport": 80, "dst": "10.0.0.1", "dport": 4000,
            "signature": "a\u{1b}[2Jb\u{202e}c", "target": "x\ny",
        }]});
        let text = alerts(&answer);
        assert!(text.contains("a\\u{1b}[2Jb\\u{202e}c"), "{text}");
        assert!(text.contains("x\\ny"), "{text}");
        assert!(text.contains("23:59:59"), "{text}");
        assert!(text.contains("[2001:db8::1]:80"), "{text}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn shows_the_state_of_inspection_first() {
        let text = ips(&json!({
            "state": "failing-open", "why": "Suricata does not answer\u{1b}[2J", "mode": "nfq",
            "fail": "open", "suricata": {"version": "8.0.8", "running": false, "restarts": 2},
            "queues": [{"queue": 0, "cpu": -1, "bound": true, "depth": 3, "handled": 4}],
        }));
        assert!(
            text.starts_with(
                "inspection         failing-open: Suricata does not answer\\u{1b}[2J\n"
            )
        );
        assert!(text.contains("8.0.8 not responding, restarts: 2"), "{text}");
        assert!(text.contains("    0  any  yes         3         4     0"), "{text}");
    }
}
