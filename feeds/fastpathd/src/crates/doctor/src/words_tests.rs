// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Words, fill};
use crate::checks::{CHECKS, Check};
use crate::facts::Facts;
use crate::finding::Finding;
use crate::machine::fake::Fake;

pub(crate) const EN: &str = include_str!("../words/en.json");
pub(crate) const DE: &str = include_str!("../words/de.json");

fn languages() -> [(&'static str, Words); 2] {
    [("en", EN), ("de", DE)].map(|(name, text)| (name, Words::parse(text).unwrap()))
}

/// Fails unless each language has all words of the finding, without a hole left over.
pub(crate) fn assert_words(id: &str, finding: &Finding) {
    let check = CHECKS.iter().flat_map(|group| *group).find(|check| check.id == id);
    let group = check.expect("no check of that id").group;
    for (language, words) in languages() {
        let mut keys = vec!["title", "consequence", "remedy"];
        keys.extend(finding.gain.map(|_| "gain"));
        keys.extend(finding.fix.as_ref().map(|_| "fix"));
        for key in keys {
            let text = words.finding(group, id, finding, key);
            assert!(!text.is_empty(), "{language}: {group}.{id} ({}) has no {key}", finding.case);
            assert!(!text.contains('{'), "{language}: {group}.{id}.{key} has a hole: {text}");
        }
        for evidence in &finding.evidence {
            let name = words.evidence(group, evidence);
            assert!(!name.is_empty(), "{language}: no {group}.what.{}", evidence.what);
            assert!(!name.contains('{'), "{language}: {group}.what.{}: {name}", evidence.what);
        }
    }
}

/// What the check of that id finds, in words that are there.
pub(crate) fn found_by(checks: &[Check], id: &str, facts: &Facts) -> Finding {
    let check = checks.iter().find(|check| check.id == id).unwrap();
    let finding = (check.look)(facts).unwrap().unwrap();
    assert_words(id, &finding);
    finding
}

/// What all of these checks find.
pub(crate) fn all_found(checks: &[Check], facts: &Facts) -> Vec<(&'static str, Finding)> {
    let look = |check: &Check| {
        let finding = (check.look)(facts).unwrap()?;
        assert_words(check.id, &finding);
        Some((check.id, finding))
    };
    checks.iter().filter_map(look).collect()
}

/// The holes of a text.
fn holes(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// Every text by its path, with its holes.
fn shape(words: &str) -> BTreeSet<(String, BTreeSet<String>)> {
    let value: Value = serde_json::from_str(words).unwrap();
    let mut found = BTreeSet::new();
    for (group, of) in value.as_object().unwrap() {
        for (id, of) in of.as_object().unwrap() {
            for (key, text) in of.as_object().unwrap() {
                let holes = holes(text.as_str().unwrap()).into_iter().map(str::to_owned).collect();
                found.insert((format!("{group}.{id}.{key}"), holes));
            }
        }
    }
    found
}

#[test]
fn languages_have_the_same_keys_and_holes() {
    let (en, de) = (shape(EN), shape(DE));
    let differing: Vec<_> = en.symmetric_difference(&de).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn each_check_says_what_it_looks_at_and_what_is_well() {
    for (language, words) in languages() {
        for check in CHECKS.iter().flat_map(|group| *group) {
            for key in ["about", "ok"] {
                let text = words.of(check.group, check.id, key);
                assert!(!text.is_empty(), "{language}: {}.{} has no {key}", check.group, check.id);
            }
        }
    }
}

#[test]
fn holes_are_filled_and_others_stay() {
    let params: Map<String, Value> = json!({"port": "lan1", "n": 3}).as_object().unwrap().clone();
    assert_eq!(fill("{port}: {n} of {m}, {", &params), "lan1: 3 of {m}, {");
}

#[test]
fn a_language_that_is_not_there_is_english() {
    let fake = Fake::new()
        .file("/usr/share/fastpath/doctor/en.json", EN)
        .file("/usr/share/fastpath/doctor/de.json", DE);
    let ok = |language: &str| {
        let words = Words::read(&fake, language).unwrap();
        words.of("flowtable", "flowtable-missing", "ok").to_owned()
    };
    assert_eq!(ok("fr"), ok("en"));
    assert_eq!(ok("../../../etc/passwd"), ok("en"));
    assert_ne!(ok("de"), ok("en"));
    assert_eq!(ok("de-AT"), ok("de"));
}
