// SPDX-License-Identifier: GPL-2.0-or-later
//! Differences of a draft without secrets, as JSON and as text for the log, and labels of sections.

use config::sort::Collect;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;

use crate::draft::{Draft, Pair};
use crate::secret::masked;
use ::uci::{Package, Section, Setting};

/// Returns a readable label: the section's name, its option `name`, its VLAN, or its place such as
/// `@rule[2]`.
pub(crate) fn label(package: &Package, section: &Section) -> String {
    if !section.anonymous {
        return section.name.clone();
    }
    let is_shown = |name: &&str| config::secret::shown(&section.kind, "name", name) == **name;
    if let Some(name) = section.text("name").filter(is_shown) {
        return name.to_owned();
    }
    if let (Some(device), Some(vlan)) = (section.text("device"), section.text("vlan")) {
        return format!("{device} {vlan}");
    }
    place(package, section)
}

/// Returns the section's name, or the place such as `@rule[2]` of an anonymous section.
pub(crate) fn place(package: &Package, section: &Section) -> String {
    if !section.anonymous {
        return section.name.clone();
    }
    let mut same = package.of(&section.kind);
    let place = same.position(|other| std::ptr::eq(other, section)).unwrap_or_default();
    format!("@{}[{place}]", section.kind)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LineKind {
    Add,
    Remove,
    Rename,
    Order,
    Set,
}

/// A difference. Fields that do not apply are null.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    config: &'a str,
    section: Option<&'a str>,
    label: Option<String>,
    r#type: Option<&'a str>,
    what: LineKind,
    option: Option<&'a str>,
    from: Option<Setting>,
    to: Option<Setting>,
}

pub(crate) fn lines(draft: &Draft) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for pair in draft.changed() {
        section_lines(draft, pair, &mut lines);
    }
    for config in draft.after.keys().filter(|config| draft.is_reordered(config)) {
        let (section, label, r#type, option, from, to) = (None, None, None, None, None, None);
        lines.push(Line {
            config,
            section,
            label,
            r#type,
            what: LineKind::Order,
            option,
            from,
            to,
        });
    }
    lines
}

fn section_lines<'a>(draft: &Draft, pair: Pair<'a>, lines: &mut Vec<Line<'a>>) {
    let of = |packages: &crate::Packages, section: &Section| {
        packages.get(pair.config).map(|package| label(package, section))
    };
    let (section, label) = match (pair.after, pair.before) {
        (Some(after), _) => (after, of(&draft.after, after)),
        (None, Some(before)) => (before, of(&draft.before, before)),
        (None, None) => return,
    };
    let mut push = |what, option, from, to| {
        let (config, r#type, label) = (pair.config, Some(&*section.kind), label.clone());
        let section = Some(&*section.name);
        lines.push(Line { config, section, label, r#type, what, option, from, to });
    };
    match (pair.before, pair.after) {
        (None, _) => push(LineKind::Add, None, None, None),
        (_, None) => push(LineKind::Remove, None, None, None),
        (Some(before), Some(after)) if before.name != after.name => {
            let name = |section: &Section| Some(Setting::Text(section.name.clone()));
            push(LineKind::Rename, None, name(before), name(after));
        }
        (Some(_), Some(_)) => {}
    }
    let sections = [pair.before, pair.after];
    let names: BTreeSet<&'a String> =
        sections.iter().flatten().flat_map(|section| section.options.keys()).into_set();
    for name in names {
        let [from, to] = sections.map(|section| section?.options.get(name));
        if from != to {
            let shown = |of: Option<&Setting>| of.map(|of| masked(&section.kind, name, of));
            push(LineKind::Set, Some(name), shown(from), shown(to));
        }
    }
}

pub(crate) fn text(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(line_text).collect()
}

fn line_text(line: &Line<'_>) -> String {
    let shown = |setting: &Option<Setting>| match setting {
        None => "nothing".to_owned(),
        Some(Setting::Text(text)) => format!("'{}'", text.escape_debug()),
        Some(list @ Setting::List(_)) => json!(list).to_string(),
    };
    let (from, to) = (shown(&line.from), shown(&line.to));
    let kind = line.r#type.unwrap_or_default();
    let place = format!("{}.{}", line.config, line.section.unwrap_or_default());
    match line.what {
        LineKind::Add => format!("{place}: added ({kind})"),
        LineKind::Remove => format!("{place}: removed ({kind})"),
        LineKind::Rename => format!("{place}: renamed from {from}"),
        LineKind::Order => format!("{}: sections in another order", line.config),
        LineKind::Set => {
            format!("{place}.{}: {to} instead of {from}", line.option.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests;
