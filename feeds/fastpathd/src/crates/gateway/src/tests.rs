// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the structure of this crate's sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the sources without tests, as path below `src` and text.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = |name: &str| path.components().any(|part| part.as_os_str() == name);
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !["tests", "tests.rs", "moved_tests.rs", "fixture.rs", "fuzz.rs"]
                    .into_iter()
                    .any(is_test)
            {
                let text = fs::read_to_string(&path).unwrap();
                let (code, _) = text.split_once("mod tests {").unwrap_or((&text, ""));
                found.push((path.strip_prefix(&root).unwrap().to_owned(), code.to_owned()));
            }
        }
    }
    assert!(found.len() > 50, "{}", found.len());
    found
}

fn lines_with(words: &[&str], counts: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, code) in sources().iter().filter(|(path, _)| counts(path)) {
        let lines = code.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        found.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    found
}

#[test]
fn no_source_does_io_or_reads_a_clock() {
    let words = [
        "std::env::",
        "std::fs",
        "std::os",
        "std::process",
        "std::thread",
        "std::time::Instant",
        "Instant::now",
        "SystemTime",
        "TcpListener",
        "TcpStream",
        "UdpSocket",
        "UnixDatagram",
        "UnixListener",
        "UnixStream",
    ];
    assert_eq!(lines_with(&words, |_| true), [""; 0]);
    let manifest = include_str!("../Cargo.toml");
    let (dependencies, _) = manifest.split_once("[dev-dependencies]").unwrap();
    let io = ["tokio", "rustix", "libc", "netlink", "launch"];
    let is_io = |line: &&str| io.iter().any(|name| line.starts_with(name));
    assert_eq!(dependencies.lines().filter(is_io).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn only_the_core_connects_subsystems() {
    let is_outside = |path: &Path| !path.starts_with("core");
    assert_eq!(lines_with(&["crate::core"], is_outside), [""; 0]);
}

/// Returns the modules of the crate's root that this text names after `crate::`.
fn imports(code: &str) -> BTreeSet<&str> {
    let end = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').and_then(|list| list.split_once("};"));
        match list {
            // Names of nested lists are not modules of the root, and are ignored later.
            Some((list, _)) => found.extend(list.split([',', '{', '}', ':', ' ', '\n'])),
            None => found.extend(end(rest).map(|end| &rest[..end])),
        }
    }
    found
}

#[test]
fn modules_have_no_import_cycles() {
    let sources = sources();
    let mut imported: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, code) in &sources {
        let module = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        imported.entry(module.to_owned()).or_default().extend(imports(code));
    }
    let modules: BTreeSet<String> = imported.keys().cloned().collect();
    for (module, others) in &mut imported {
        others.retain(|other| *other != module && modules.contains(*other));
    }
    assert!(imported["core"].len() > 10, "{imported:?}");
    assert!(imported["ips"].contains("network"), "{imported:?}");
    while let Some(leaf) = imported.iter().find(|(_, others)| others.is_empty()) {
        let leaf = leaf.0.clone();
        imported.remove(&leaf);
        for others in imported.values_mut() {
            others.retain(|other| *other != leaf);
        }
    }
    assert!(imported.is_empty(), "a cycle: {imported:?}");
}
