// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads web logins and their rights from `/etc/config/rpcd`, and the access groups in `acl.d`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use uci::{Package, Section};

use super::uci::package;
use super::{Known, exists};
use crate::audience::{Audience, WITHHELD};
use crate::machine::Machine;

pub(crate) const LOGINS: &str = "/etc/config/rpcd";
const CONFIG: &str = "/etc/config";
pub(crate) const GROUPS: &str = "/usr/share/rpcd/acl.d";
/// Program and access group of the throttled login.
const THROTTLED_LOGIN: [&str; 2] =
    ["/usr/libexec/rpcd/fastpath.access", "/usr/share/rpcd/acl.d/fastpath-access.json"];

#[derive(Debug, Default)]
pub(crate) struct Access {
    /// `/etc/config/rpcd`. Unknown to readers, because it reveals accounts with excessive rights.
    pub logins: Known<Package>,
    pub groups: Known<Groups>,
    /// Files of `/etc/config` with secrets that all users can read.
    pub exposed: Known<Vec<String>>,
    /// An administrator opened rpcd's own login.
    pub opened: bool,
    /// The page uses a throttled login.
    pub throttled: bool,
}

/// Rights (`read`, `write`) with scopes by group. A group has one entry per file that defines it.
pub(crate) type Groups = BTreeMap<String, Vec<Value>>;

pub(crate) fn read(machine: &dyn Machine, audience: Audience) -> Access {
    let logins = package(machine, LOGINS);
    let opened = logins.as_ref().is_ok_and(|logins| {
        logins.section("fastpath").is_some_and(|section| section.is_on("session_login", false))
    });
    Access {
        logins: match audience {
            Audience::Writer => Known(logins),
            Audience::Reader => Known::new(Err(WITHHELD)),
        },
        groups: groups(machine),
        exposed: exposed(machine),
        opened,
        throttled: THROTTLED_LOGIN.into_iter().all(|path| exists(machine, path)),
    }
}

fn exposed(machine: &dyn Machine) -> Known<Vec<String>> {
    let names = machine.list(CONFIG).map_err(|error| format!("reading {CONFIG}: {error}"));
    Known::new(names.map(|names| {
        let mut paths: Vec<String> = names.iter().map(|name| format!("{CONFIG}/{name}")).collect();
        paths.retain(|path| {
            let text = machine.read(path).unwrap_or_default();
            machine.mode(path).is_ok_and(|mode| mode & 0o100_004 == 0o100_004)
                && uci::parse(&text).is_ok_and(|file| config::secret::holds_secret(&file))
        });
        paths
    }))
}

/// Reads the access groups. Skips files that are not JSON, like rpcd.
fn groups(machine: &dyn Machine) -> Known<Groups> {
    let names = machine.list(GROUPS).map_err(|error| format!("reading {GROUPS}: {error}"));
    Known::new(names.map(|names| {
        let mut groups = Groups::new();
        for name in names.iter().filter(|name| name.strip_suffix(".json").is_some()) {
            let text = machine.read(&format!("{GROUPS}/{name}")).unwrap_or_default();
            let file: Map<String, Value> =
                serde_json::from_slice(text.as_bytes()).unwrap_or_default();
            for (group, rights) in file {
                groups.entry(group).or_default().push(rights);
            }
        }
        groups
    }))
}

/// Returns whether a login has a group at a level (`read`, `write`). As in rpcd, an entry with `!`
/// excludes the group, and `write` includes `read`.
pub(crate) fn has(login: &Section, level: &str, group: &str) -> bool {
    let entries = login.options.get(level).map(uci::Setting::texts).unwrap_or_default();
    let (excluded, allowed): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.starts_with('!'));
    if excluded.iter().any(|entry| matches(entry[1..].trim_start(), group)) {
        return false;
    }
    allowed.iter().any(|entry| matches(entry, group))
        || (level == "read" && has(login, "write", group))
}

/// Returns whether rights at a level include a function of an object in a scope (`ubus`, `file`).
pub(crate) fn grants(
    rights: &Value,
    level: &str,
    scope: &str,
    object: &str,
    function: &str,
) -> bool {
    let objects = rights.get(level).and_then(|scopes| scopes.get(scope));
    let functions = |of: &Value| {
        let mut names = of.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.any(|name| matches(name, function))
    };
    let mut objects = objects.and_then(Value::as_object).into_iter().flatten();
    objects.any(|(pattern, of)| matches(pattern, object) && functions(of))
}

/// Matches the wildcards `*` and `?` like rpcd, which calls `fnmatch` without flags. `*` includes
/// slashes.
fn matches(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.any(|at| matches(rest.as_str(), &text[at..]))
        }
        Some(letter) => {
            let mut others = text.chars();
            others.next().is_some_and(|other| letter == '?' || letter == other)
                && matches(rest.as_str(), others.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_patterns_like_rpcd() {
        for (pattern, text) in
            [("*", ""), ("/*", "/var/run/rpcd"), ("luci-*", "luci-base"), ("a?c", "abc")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("/", "/var"), ("luci", "luci-base"), ("a?", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
