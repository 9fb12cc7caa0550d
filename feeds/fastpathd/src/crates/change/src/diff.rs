// SPDX-License-Identifier: GPL-2.0-or-later
//! A change as people read it: line by line, without secrets.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::draft::{Draft, Pair};
use crate::package::{Package, Section, Setting};
use crate::secret::masked;

/// What to call a section for people: its name, the value of its option `name`, its number for a
/// VLAN, or its place such as `@rule[2]`.
#[must_use]
pub(crate) fn label(package: &Package, section: &Section) -> String {
    if !section.anonymous {
        return section.name.clone();
    }
    if let Some(name) = section.text("name") {
        return name.to_owned();
    }
    if let (Some(device), Some(vlan)) = (section.text("device"), section.text("vlan")) {
        return format!("{device} {vlan}");
    }
    place(package, section)
}

/// Its name, or its place such as `@rule[2]` if it has none, as UCI's tools print it.
#[must_use]
pub(crate) fn place(package: &Package, section: &Section) -> String {
    if !section.anonymous {
        return section.name.clone();
    }
    let mut same = package.of(&section.kind);
    let place = same.position(|other| std::ptr::eq(other, section)).unwrap_or_default();
    format!("@{}[{place}]", section.kind)
}

/// The lines: `{config, section, label, type, what, option, from, to}`, where `what` is `add`,
/// `remove`, `rename`, `order` or `set`; option, from and to are null where they mean nothing.
#[must_use]
pub(crate) fn lines(draft: &Draft) -> Vec<Value> {
    let mut lines = Vec::new();
    for pair in draft.changed() {
        section_lines(draft, pair, &mut lines);
    }
    for config in draft.after.keys().filter(|config| draft.is_reordered(config)) {
        lines.push(json!({
            "config": config, "section": null, "label": null, "type": null, "what": "order",
            "option": null, "from": null, "to": null,
        }));
    }
    lines
}

fn section_lines(draft: &Draft, pair: Pair<'_>, lines: &mut Vec<Value>) {
    let of = |packages: &crate::Packages, section: &Section| {
        packages.get(pair.config).map(|package| label(package, section)).unwrap_or_default()
    };
    let (section, label) = match (pair.after, pair.before) {
        (Some(after), _) => (after, of(&draft.after, after)),
        (None, Some(before)) => (before, of(&draft.before, before)),
        (None, None) => return,
    };
    let line = |what: &str, option: Value, from: Value, to: Value| {
        json!({
            "config": pair.config, "section": section.name, "label": label,
            "type": section.kind, "what": what, "option": option, "from": from, "to": to,
        })
    };
    match (pair.before, pair.after) {
        (None, _) => lines.push(line("add", Value::Null, Value::Null, Value::Null)),
        (_, None) => lines.push(line("remove", Value::Null, Value::Null, Value::Null)),
        (Some(before), Some(after)) if before.name != after.name => {
            lines.push(line("rename", Value::Null, json!(before.name), json!(after.name)));
        }
        _ => {}
    }
    let mut names: BTreeSet<&String> = BTreeSet::new();
    let sections = [pair.before, pair.after];
    names.extend(sections.iter().flatten().flat_map(|section| section.options.keys()));
    for name in names {
        let setting = |section: Option<&Section>| section?.options.get(name).cloned();
        let (from, to) = (setting(pair.before), setting(pair.after));
        if from != to {
            let shown = |of: Option<Setting>| of.map_or(Value::Null, |of| masked(name, &of));
            lines.push(line("set", json!(name), shown(from), shown(to)));
        }
    }
}

/// The lines as text, one each, for the log.
#[must_use]
pub(crate) fn text(lines: &[Value]) -> Vec<String> {
    lines.iter().map(line_text).collect()
}

fn line_text(line: &Value) -> String {
    let word = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let shown = |field: &str| match &line[field] {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => format!("'{}'", text.escape_debug()),
        other => other.to_string(),
    };
    let place = format!("{}.{}", word("config"), word("section"));
    match word("what").as_str() {
        "add" => format!("{place}: added ({})", word("type")),
        "remove" => format!("{place}: removed ({})", word("type")),
        "rename" => format!("{place}: renamed from {}", shown("from")),
        "order" => format!("{}: sections in another order", word("config")),
        _ => format!("{place}.{}: {} instead of {}", word("option"), shown("to"), shown("from")),
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
