// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Map, Value, json};

use super::{ENGLISH, Texts, fill};
use crate::checks::{CHECKS, Check};
use crate::facts::Facts;
use crate::finding::Finding;

/// Checks that all texts of a finding exist and have a value for each placeholder.
pub(crate) fn assert_texts(id: &str, finding: &Finding) {
    let check = CHECKS.iter().flat_map(|group| *group).find(|check| check.id == id);
    let group = check.expect("no check of that id").group;
    let texts = Texts::english();
    let mut keys = vec!["title", "consequence", "remedy"];
    keys.extend(finding.gain.map(|_| "gain"));
    keys.extend(finding.fix.as_ref().map(|_| "fix"));
    for key in keys {
        let text = texts.finding(group, id, finding, key);
        assert!(!text.is_empty(), "{group}.{id} ({}) has no {key}", finding.case);
        assert!(!text.contains('{'), "{group}.{id}.{key} lacks a parameter: {text}");
    }
    for evidence in &finding.evidence {
        let name = texts.evidence(group, evidence);
        assert!(!name.is_empty(), "no {group}.what.{}", evidence.what);
        assert!(!name.contains('{'), "{group}.what.{}: {name}", evidence.what);
    }
}

/// Returns the finding of a check. Also checks its texts.
pub(crate) fn found_by(checks: &[Check], id: &str, facts: &Facts) -> Finding {
    let check = checks.iter().find(|check| check.id == id).unwrap();
    let finding = (check.run)(facts).unwrap().unwrap();
    assert_texts(id, &finding);
    finding
}

/// Returns the findings of several checks. Also checks their texts.
pub(crate) fn all_found(checks: &[Check], facts: &Facts) -> Vec<(&'static str, Finding)> {
    let run = |check: &Check| {
        let finding = (check.run)(facts).unwrap()?;
        assert_texts(check.id, &finding);
        Some((check.id, finding))
    };
    checks.iter().filter_map(run).collect()
}

#[test]
fn each_check_has_texts_for_its_subject_and_success() {
    let texts = Texts::english();
    for check in CHECKS.iter().flat_map(|group| *group) {
        for key in ["about", "ok"] {
            let text = texts.of(check.group, check.id, key);
            assert!(!text.is_empty(), "{}.{} has no {key}", check.group, check.id);
        }
    }
}

#[test]
fn the_texts_list_exactly_the_checks() {
    let file: Value = serde_json::from_str(ENGLISH).unwrap();
    let mut listed = Vec::new();
    for (group, texts) in file.as_object().unwrap().iter().filter(|(group, _)| *group != "general")
    {
        let ids = texts.as_object().unwrap().keys();
        let checks = ids.filter(|id| *id != "what" && !id.contains('/'));
        listed.extend(checks.map(|id| format!("{group}.{id}")));
    }
    let mut checks: Vec<String> = CHECKS
        .iter()
        .flat_map(|group| *group)
        .map(|check| format!("{}.{}", check.group, check.id))
        .collect();
    listed.sort_unstable();
    checks.sort_unstable();
    assert_eq!(listed, checks);
}

#[test]
fn fills_parameters_and_keeps_unknown_names() {
    let params: Map<String, Value> = json!({"port": "lan1", "n": 3}).as_object().unwrap().clone();
    assert_eq!(fill("{port}: {n} of {m}, {", &params), "lan1: 3 of {m}, {");
}
