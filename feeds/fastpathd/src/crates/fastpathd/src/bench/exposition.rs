// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answer of `metrics` like the collector of package `fastpath-metrics`.

use std::fmt::Write;

use serde_json::{Map, Value};

fn field<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

fn labels(sample: &Value) -> String {
    let labels = sample["labels"].as_object().into_iter().flatten();
    let pairs = labels
        .map(|(name, text)| format!("{name}=\"{}\"", escaped(text.as_str().unwrap_or_default())));
    let list = pairs.collect::<Vec<_>>().join(",");
    if list.is_empty() { list } else { format!("{{{list}}}") }
}

pub(super) fn text(answer: &Map<String, Value>) -> String {
    let mut text = String::new();
    for family in answer["families"].as_array().into_iter().flatten() {
        let name = field(family, "name");
        let help = field(family, "help").replace('\\', "\\\\").replace('\n', "\\n");
        let kind = field(family, "type");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in family["samples"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "{name}{} {}", labels(sample), field(sample, "value"));
        }
    }
    text
}
