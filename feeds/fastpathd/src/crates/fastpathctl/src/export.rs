// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answers of `exports` and of `fastpath.notify`.

use serde_json::Value;

use crate::json::{list, number, text};
use crate::protection::{endpoint, plain};
use crate::table::table;
use crate::usage::time;

pub(crate) fn exports(answer: &Value) -> String {
    let rows = list(answer, "exports").map(|export| {
        let collector = endpoint(text(export, "host"), number(export, "port"));
        let [kind, protocol] = ["kind", "protocol"].map(|key| plain(text(export, key)));
        vec![
            plain(text(export, "name")),
            format!("{kind} {protocol} {}", plain(&collector)),
            plain(text(export, "state")),
            number(export, "sent").to_string(),
            number(export, "lost").to_string(),
            number(export, "queued").to_string(),
            plain(text(export, "why")),
        ]
    });
    table("NAME|COLLECTOR|STATE|>SENT|>LOST|>QUEUED|REASON", rows)
}

pub(crate) fn notifications(answer: &Value) -> String {
    let rows = list(answer, "receivers").map(|receiver| {
        let delivered = match number(receiver, "delivered_ms") {
            0 => "never".to_owned(),
            at => time(at),
        };
        let error = text(receiver, "error");
        vec![
            plain(text(receiver, "name")),
            number(receiver, "pending").to_string(),
            number(receiver, "lost").to_string(),
            delivered,
            plain(if error.is_empty() { "none" } else { error }),
        ]
    });
    table("NAME|>WAITING|>LOST|DELIVERED|ERROR", rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_what_waits_and_the_last_error() {
        let shown = notifications(&json!({"receivers": [
            {"name": "phone", "pending": 3, "lost": 1, "delivered_ms": 0, "error": "http 500"},
            {"name": "mail", "delivered_ms": 1_796_029_453_000_u64},
        ]}));
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "phone        3     1  never             http 500",
                "mail         0     0  2026-11-30 09:04  none",
            ]
        );
    }

    #[test]
    fn shows_one_line_for_each_collector() {
        let shown = exports(&json!({"exports": [{"name": "store", "kind": "ipfix",
            "protocol": "udp", "host": "2001:db8::1", "port": 4739, "state": "down", "sent": 120,
            "lost": 3, "queued": 7, "why": "nothing listens on the collector's port"}]}));
        let line = shown.lines().nth(1).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = ["store", "ipfix", "udp", "[2001:db8::1]:4739", "down", "120", "3", "7"];
        assert_eq!(words[..8], expected);
        assert!(line.ends_with("nothing listens on the collector's port"), "{line}");
    }
}
