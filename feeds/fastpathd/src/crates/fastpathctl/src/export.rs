// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answer of `exports`.

use serde_json::Value;

use crate::json::{list, number, text};
use crate::protection::{endpoint, plain};
use crate::table::table;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
