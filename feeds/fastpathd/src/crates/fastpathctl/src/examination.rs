// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the doctor's findings and the diff of a fix.

use std::fmt::Write;

use serde_json::Value;

use crate::json::{list, number, text};
use crate::protection::plain;
use crate::units::duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// Formats a severity, padded to the longest name.
    fn severity(self, name: &str) -> String {
        let colour = match name {
            "error" => "1;31",
            "warning" => "33",
            "advice" => "36",
            "unknown" => "35",
            _ => "2",
        };
        self.with(colour, &format!("{name:<8}"))
    }

    fn with(self, colour: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

const WIDTH: usize = 100;
const INDENT: usize = 9;

pub(crate) fn report(answer: &Value, paint: Paint) -> String {
    let mut out = String::new();
    let shown = || list(answer, "findings").filter(|found| text(found, "severity") != "ok");
    for found in shown().filter(|found| !is_accepted(found)) {
        append_finding(&mut out, found, paint);
    }
    for found in shown().filter(|found| is_accepted(found)) {
        heading(&mut out, "accepted", found, paint);
    }
    if shown().any(is_accepted) {
        out.push('\n');
    }
    let summary = &answer["summary"];
    let mut parts = Vec::new();
    for (key, singular, plural) in [
        ("error", "error", "errors"),
        ("warning", "warning", "warnings"),
        ("advice", "recommendation", "recommendations"),
        ("unknown", "check failed to run", "checks failed to run"),
        ("info", "note", "notes"),
        ("accepted", "accepted", "accepted"),
        ("ok", "passed", "passed"),
    ] {
        let count = number(summary, key);
        if count > 0 || key == "error" {
            parts.push(format!("{count} {}", if count == 1 { singular } else { plural }));
        }
    }
    let took = duration(number(answer, "took_ms") / 1000);
    let _ = writeln!(out, "{} (took {took})", parts.join(", "));
    out
}

pub(crate) fn is_accepted(found: &Value) -> bool {
    list(found, "accepted").next().is_some()
}

fn heading(out: &mut String, severity: &str, found: &Value, paint: Paint) {
    let title = paint.with("1", &plain(text(found, "title")));
    let severity = paint.severity(severity);
    let _ = writeln!(out, "{severity} {title}  [{}]", text(found, "id"));
}

fn append_finding(out: &mut String, found: &Value, paint: Paint) {
    heading(out, text(found, "severity"), found, paint);
    paragraph(out, "", text(found, "consequence"));
    for seen in list(found, "evidence") {
        let line =
            format!("{}: {}  ({})", text(seen, "what"), text(seen, "value"), text(seen, "source"));
        paragraph(out, "· ", &line);
    }
    paragraph(out, "→ ", text(found, "remedy"));
    let gain = &found["gain"];
    if !gain.is_null() {
        paragraph(out, "+ ", &format!("{} ({})", text(gain, "text"), text(gain, "source")));
    }
    let fix = &found["fix"];
    if !fix.is_null() {
        let command = format!("fastpathctl doctor --fix {}", text(found, "id"));
        paragraph(out, "$ ", &format!("{command}  ({})", text(fix, "label")));
    }
    out.push('\n');
}

/// Appends wrapped text after `sign`. Skips empty text.
fn paragraph(out: &mut String, sign: &str, words: &str) {
    let words = plain(words);
    if words.is_empty() {
        return;
    }
    let indent = INDENT + sign.chars().count();
    let mut line = format!("{}{sign}", " ".repeat(INDENT));
    let mut column = indent;
    for word in words.split(' ') {
        let wide = word.chars().count();
        if column + wide > WIDTH && column > indent {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
            column = indent;
        }
        line.push_str(word);
        line.push(' ');
        column += wide + 1;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Formats the diff in the answer of `fastpath.change check`.
pub(crate) fn diff(checked: &Value) -> String {
    let mut out = String::new();
    let value = |of: &Value| match of {
        Value::Null => "(not set)".to_owned(),
        Value::String(text) => plain(text),
        Value::Array(list) => {
            list.iter().filter_map(Value::as_str).map(plain).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    for change in list(checked, "diff") {
        let option = text(change, "option");
        // Only options have values; sections are added, removed or reordered.
        let what = text(change, "what");
        if matches!(what, "add" | "remove" | "order") {
            let sign = match what {
                "add" => "+",
                "remove" => "-",
                _ => "order changed:",
            };
            let place = [text(change, "config"), text(change, "section")];
            let place = if what == "order" { place[0].to_owned() } else { place.join(".") };
            let _ = writeln!(out, "  {sign} {place}");
            continue;
        }
        let dot = if option.is_empty() { "" } else { "." };
        let _ = writeln!(
            out,
            "  {}.{}{dot}{option}: {} → {}",
            text(change, "config"),
            text(change, "section"),
            value(&change["from"]),
            value(&change["to"])
        );
    }
    for cut in list(checked, "cuts") {
        let _ = writeln!(out, "  warning: {}", plain(text(cut, "text")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer() -> Value {
        json!({
            "took_ms": 2100,
            "summary": {"error": 1, "warning": 0, "advice": 0, "info": 0, "unknown": 0, "ok": 4,
                "accepted": 1},
            "findings": [
                {"id": "z", "severity": "warning", "title": "Known", "consequence": "Read.",
                 "accepted": ["cfg01"]},
                {"id": "x", "severity": "error", "title": "Broken",
                 "consequence": "Slow. ".repeat(30),
                 "evidence": [{"what": "module", "value": "-", "source": "/proc/modules"}],
                 "remedy": "Load it.", "gain": {"text": "Factor 3", "source": "row 6"},
                 "fix": {"kind": "step", "label": "Load"}},
                {"id": "y", "severity": "ok", "title": "All well", "evidence": []},
            ],
        })
    }

    #[test]
    fn shows_all_parts_of_a_finding_in_wrapped_lines() {
        let text = report(&answer(), Paint(false));
        for part in [
            "error    Broken  [x]\n",
            "         · module: -  (/proc/modules)\n",
            "         → Load it.\n",
            "         + Factor 3 (row 6)\n",
            "         $ fastpathctl doctor --fix x  (Load)\n",
            "accepted Known  [z]\n\n",
            "1 error, 1 accepted, 4 passed (took 2s)\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.contains("All well") && !text.contains("Read."));
        assert!(text.find("Broken") < text.find("Known"), "{text}");
    }

    #[test]
    fn uses_colours_only_if_enabled() {
        assert!(report(&answer(), Paint(true)).contains("\x1b[1;31merror"));
        assert!(!report(&answer(), Paint(false)).contains('\x1b'));
    }

    #[test]
    fn a_diff_shows_old_and_new_values() {
        let checked = json!({"diff": [
            {"config": "fastpath", "section": "cpu", "option": "enabled", "from": "0", "to": "1"},
            {"config": "network", "section": "lan", "option": "ipaddr", "from": ["a", "b"],
             "to": null},
            {"config": "network", "section": "guest", "what": "add", "option": null,
             "from": null, "to": null},
            {"config": "network", "section": "old", "what": "remove", "option": null,
             "from": null, "to": null},
            {"config": "firewall", "section": null, "what": "order", "option": null,
             "from": null, "to": null},
        ], "cuts": [{"text": "you may lose access"}]});
        assert_eq!(
            diff(&checked),
            "  fastpath.cpu.enabled: 0 → 1\n  network.lan.ipaddr: a b → (not set)\n  \
             + network.guest\n  - network.old\n  order changed: firewall\n  \
             warning: you may lose access\n"
        );
    }
}
