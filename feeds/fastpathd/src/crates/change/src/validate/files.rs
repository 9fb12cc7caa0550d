// SPDX-License-Identifier: GPL-2.0-or-later
//! Refuses sections and options that make the firewall read a new file: `include`, `helper`,
//! `loadfile`, and values that are paths. fw4 and nft read files as root and quote invalid lines,
//! which would reveal their content. Refuses paths for resolvers and mwan3, too, which run as root.

use plugin::Map;

use super::common::UNQUOTED;
use crate::draft::Draft;
use crate::problem::Problem;
use ::uci::{Package, Section, Setting};

/// Sections that reference a file or are passed to nft verbatim.
const KINDS: &[&str] = &["include", "helper"];
/// Option with a file name, in any section.
const FILE_OPTION: &str = "loadfile";

/// Returns the sections that make a service read or write a new file.
pub(super) fn judge(draft: &Draft) -> Vec<Problem> {
    let none = Package::default();
    let mut problems = Vec::new();
    for config in UNQUOTED.into_iter().chain(["firewall"]) {
        let Some(after) = draft.after.get(config) else { continue };
        let before = draft.before.get(config).unwrap_or(&none);
        for section in &after.sections {
            if let Some(option) = named(section, before) {
                problems.push(problem(config, after, section, &option));
            }
        }
    }
    problems
}

/// Returns the option with a new file name. Empty if the whole section counts.
fn named(section: &Section, before: &Package) -> Option<String> {
    if KINDS.contains(&&*section.kind) {
        let known = |old: &Section| old.kind == section.kind && old.options == section.options;
        return (!before.sections.iter().any(known)).then(String::new);
    }
    let found = section.options.iter().find(|(option, setting)| {
        let known = |old: &Section| old.options.get(*option) == Some(setting);
        names_a_file(option, setting) && !before.sections.iter().any(known)
    });
    found.map(|(option, _)| option.clone())
}

/// Returns whether an option contains a file name. fw4 never reads the option `name` as one.
fn names_a_file(option: &str, setting: &Setting) -> bool {
    let path = |text: &String| text.trim_start().starts_with(['/', '.', '~']);
    option == FILE_OPTION || (option != "name" && setting.texts().iter().any(path))
}

fn problem(config: &str, package: &Package, section: &Section, option: &str) -> Problem {
    let label = crate::diff::label(package, section);
    let of = if option.is_empty() { String::new() } else { format!(", option '{option}'") };
    let text = format!(
        "{config}, section '{}'{of}: the service would use a file; change this on the router \
         itself",
        label.escape_debug()
    );
    Problem {
        config: config.to_owned(),
        section: section.name.clone(),
        option: option.to_owned(),
        code: "reads-file",
        params: Map::new(),
        text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sample::{edits, packages};

    const FIREWALL: &str = "
config include 'user'
    option path '/etc/firewall.user'
config ipset 'seen'
    option name 'seen'
    option loadfile '/etc/seen'
config rule 'ping'
    option name '/ping'
    option src 'wan'
";

    fn judged(list: impl Into<Value>) -> Vec<(String, String)> {
        let draft = Draft::new(packages(&[("firewall", FIREWALL)]), &edits(list)).unwrap();
        let found = judge(&draft).into_iter();
        found.map(|problem| (problem.section, problem.option)).collect()
    }

    fn set(section: &str, values: impl Into<Value>) -> Value {
        let values = values.into();
        json!([{"config": "firewall", "op": "set", "section": section, "values": values}])
    }

    fn add(kind: &str, values: impl Into<Value>) -> Value {
        let values = values.into();
        json!([{"config": "firewall", "op": "add", "type": kind, "section": "x",
            "values": values}])
    }

    #[test]
    fn refuses_a_file_that_is_not_read_yet() {
        let is = |edits: Value, option: &str, section: &str| {
            assert_eq!(judged(edits.clone()), [(section.into(), option.into())], "{edits}");
        };
        is(add("include", json!({"type": "nftables", "path": "/etc/shadow"})), "", "x");
        is(set("user", json!({"path": "/etc/shadow"})), "", "user");
        is(set("user", json!({"type": "nftables"})), "", "user");
        is(add("helper", json!({"name": "x"})), "", "x");
        is(add("ipset", json!({"loadfile": "/dev/zero"})), "loadfile", "x");
        is(add("ipset", json!({"loadfile": ["/dev/zero"]})), "loadfile", "x");
        is(set("seen", json!({"loadfile": "shadow"})), "loadfile", "seen");
        is(add("rule", json!({"extra": " /etc/shadow"})), "extra", "x");
    }

    #[test]
    fn accepts_files_that_are_read_already() {
        for edits in [
            set("ping", json!({"name": "/pong"})),
            set("seen", json!({"match": "src_ip"})),
            json!([{"config": "firewall", "op": "rename", "section": "user", "name": "mine"}]),
            json!([{"config": "firewall", "op": "delete", "section": "user"}]),
        ] {
            assert_eq!(judged(edits.clone()), [], "{edits}");
        }
    }
}
