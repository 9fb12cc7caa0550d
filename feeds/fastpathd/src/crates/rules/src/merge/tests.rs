// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::archive::ArchiveLimits;
use crate::collect::collect;
use crate::select::Choice;

fn part(name: &str, text: &str) -> Part {
    let limits = ArchiveLimits::of_bytes(1 << 20);
    let file = format!("{name}.rules");
    let rules = collect(text.as_bytes(), &file, &limits, Choice::default()).expect("rules");
    Part { name: name.to_owned(), rules, own: name == "own" }
}

fn rule(sid: u32, rev: u32) -> String {
    format!("alert tcp any any -> any any (sid:{sid}; rev:{rev};)\n")
}

fn written(parts: &[Part]) -> Vec<String> {
    let mut bytes = Vec::new();
    merge(parts).write(&mut bytes).expect("memory");
    String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn finds_the_origin_of_every_line() {
    let parts = [
        part("own", &rule(1, 1)),
        part("et", &format!("# comment\n\n{}{}drop {}", rule(1, 9), rule(2, 1), &rule(3, 1)[6..])),
    ];
    let merged = merge(&parts);
    assert_eq!((merged.len(), merged.stopping, merged.duplicates), (3, 1, 1));
    assert_eq!(merged.counts, [1, 2]);
    let lines = written(&parts);
    assert_eq!(lines.len(), 5);
    let at = |line| merged.source(line).map(|source| (source.name, source.file, source.line));
    let found: Vec<_> = (0..=6).map(at).collect();
    let own = Some(("own", "own.rules", 1));
    let (four, five) = (Some(("et", "et.rules", 4)), Some(("et", "et.rules", 5)));
    assert_eq!(found, [None, None, None, own, four, five, None]);
    assert_eq!(version_of(&lines[0]), Some(merged.version.as_str()));
}

#[test]
fn own_rules_and_the_first_source_take_precedence() {
    let of = |name, rev| part(name, &rule(1, rev));
    for (parts, wanted) in [
        ([of("a", 1), of("b", 999_999)], "a"),
        ([of("a", 2), of("b", 1)], "a"),
        ([of("a", 2), of("b", 2)], "a"),
        ([of("a", 7), of("own", 1)], "own"),
    ] {
        let merged = merge(&parts);
        assert_eq!(merged.source(3).map(|source| source.name), Some(wanted));
    }
}

#[test]
fn the_latest_revision_within_a_source_takes_precedence() {
    let both = format!("{}{}", rule(1, 2), rule(1, 3));
    let lines = written(&[part("a", &both), part("b", &rule(1, 9))]);
    assert_eq!(lines[2..], [rule(1, 3).trim_end()]);
}

#[test]
fn sources_cannot_replace_reserved_numbers() {
    let lines = written(&[part("a", &format!("{}{}", rule(8_100_092, 99), rule(1, 1)))]);
    assert_eq!(lines[2..], [rule(1, 1).trim_end()]);
}

#[test]
fn the_version_identifies_the_rules() {
    let version = |parts: &[Part]| merge(parts).version;
    let one = version(&[part("a", &rule(1, 1))]);
    assert_eq!(one, version(&[part("b", &format!("# another comment\n{}", rule(1, 1)))]));
    assert_ne!(one, version(&[part("a", &rule(1, 2))]));
    assert_eq!(version_of("# fastpath rules, version 0123456789ab\n"), Some("0123456789ab"));
    assert_eq!(version_of("# fastpath rules, version latest"), None);
    assert_eq!(version_of("alert"), None);
}
