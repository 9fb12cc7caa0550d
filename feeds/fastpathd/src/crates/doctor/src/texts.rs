// SPDX-License-Identifier: GPL-2.0-or-later
//! English texts of findings (`texts/en.json`). The page translates them under the same keys.

use serde_json::{Map, Value};

use crate::finding::{Evidence, Finding};

const ENGLISH: &str = include_str!("../texts/en.json");

/// Texts by group, check and key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts(Map<String, Value>);

impl Texts {
    pub(crate) fn english() -> Self {
        // A test checks that the file is valid JSON.
        Self(serde_json::from_slice(ENGLISH.as_bytes()).unwrap_or_default())
    }

    /// Returns a text of a check. Empty if the text is missing.
    pub(crate) fn of(&self, group: &str, id: &str, key: &str) -> &str {
        self.0.get(group).and_then(|group| group.get(id)?.get(key)?.as_str()).unwrap_or_default()
    }

    /// Returns a text of a finding, from its case or, if that has none, from the check.
    pub(crate) fn finding(&self, group: &str, id: &str, finding: &Finding, key: &str) -> String {
        let own = match finding.case {
            "" => "",
            _ => self.of(group, &finding.code(id), key),
        };
        let text = if own.is_empty() { self.of(group, id, key) } else { own };
        fill(text, &finding.params)
    }

    pub(crate) fn evidence(&self, group: &str, evidence: &Evidence) -> String {
        fill(self.of(group, "what", evidence.what), &evidence.params())
    }
}

/// Replaces each placeholder `{name}` by its value. Keeps unknown placeholders.
pub(crate) fn fill(text: &str, params: &Map<String, Value>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        match params.get(name) {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => {
                filled.push('{');
                filled.push_str(name);
                filled.push('}');
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
pub(crate) mod tests;
