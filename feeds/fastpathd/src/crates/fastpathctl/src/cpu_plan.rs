// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answer of `cpu`.

use std::fmt::Write;

use serde_json::Value;

use crate::json::{flag, list, number, text};
use crate::table::table;

pub(crate) fn cpu(answer: &Value) -> String {
    let mut out = String::new();
    let state = match (flag(answer, "enabled"), flag(answer, "active")) {
        (false, _) => "disabled",
        (true, true) => "active",
        (true, false) => "not active",
    };
    let _ = writeln!(out, "plan  {state} {}\n", text(answer, "why"));
    let cpus = list(answer, "cpus")
        .map(|cpu| vec![number(cpu, "cpu").to_string(), text(cpu, "role").to_owned()]);
    out.push_str(&table(">CPU|ROLE", cpus));
    let cells = |of| ["where", "wanted", "have", "text"].map(|key| text(of, key).to_owned()).into();
    let mut found = list(answer, "differences").map(cells).peekable();
    if found.peek().is_some() {
        out.push('\n');
        out.push_str(&table("WHERE|PLANNED|ACTUAL|", found));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shows_roles_and_differences() {
        let text = cpu(&json!({
            "enabled": true, "active": true, "why": "",
            "cpus": [{"cpu": 0, "role": "forwarding"}, {"cpu": 1, "role": "inspection"}],
            "differences": [{"where": "eth0 rx-0 rps_cpus", "wanted": "1", "have": "3",
                "text": "changed by another program"}],
        }));
        assert!(text.starts_with("plan  active"), "{text}");
        assert!(text.contains("  1  inspection"), "{text}");
        assert!(
            text.contains("eth0 rx-0 rps_cpus  1        3       changed by another program"),
            "{text}"
        );
    }
}
