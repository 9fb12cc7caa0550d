// SPDX-License-Identifier: GPL-2.0-or-later
//! The texts of a language.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::finding::{Evidence, Finding};
use crate::machine::Machine;

/// Where the languages are installed, a file each.
pub const FOLDER: &str = "/usr/share/fastpath/doctor";
/// The language that is always there.
const DEFAULT: &str = "en";

/// Why there are no words.
#[derive(Debug, Error)]
pub enum WordsError {
    /// The file cannot be read.
    #[error("reading the doctor's texts in {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The system's answer.
        #[source]
        error: std::io::Error,
    },
    /// The file is not JSON.
    #[error("parsing the doctor's texts in {path}: {error}")]
    Parse {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        error: serde_json::Error,
    },
}

/// The texts of one language: group, check, key.
#[derive(Debug, Clone, Default)]
pub struct Words(Map<String, Value>);

impl Words {
    /// The words of `language` (`de` of `de-AT`), or English where there are none.
    ///
    /// # Errors
    /// English is missing, or a file is broken.
    pub fn read(machine: &dyn Machine, language: &str) -> Result<Self, WordsError> {
        let short = language.split(['-', '_']).next().unwrap_or_default();
        let known = short.len() == 2 && short.bytes().all(|byte| byte.is_ascii_lowercase());
        let wanted = if known { short } else { DEFAULT };
        let path = |language| format!("{FOLDER}/{language}.json");
        let (path, text) = match machine.read(&path(wanted)) {
            Ok(text) => (path(wanted), Ok(text)),
            Err(_) => (path(DEFAULT), machine.read(&path(DEFAULT))),
        };
        match text {
            Ok(text) => Self::parse(&text).map_err(|error| WordsError::Parse { path, error }),
            Err(error) => Err(WordsError::Read { path, error }),
        }
    }

    /// From the text of a file.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// The text of a check; empty if there is none.
    #[must_use]
    pub fn of(&self, group: &str, id: &str, key: &str) -> &str {
        self.0.get(group).and_then(|group| group.get(id)?.get(key)?.as_str()).unwrap_or_default()
    }

    /// The text of a finding, in its own wording if there is one, with its holes filled.
    #[must_use]
    pub fn finding(&self, group: &str, id: &str, finding: &Finding, key: &str) -> String {
        let own = match finding.case {
            "" => "",
            case => self.of(group, &format!("{id}/{case}"), key),
        };
        let text = if own.is_empty() { self.of(group, id, key) } else { own };
        fill(text, &finding.params)
    }

    /// The name of a piece of evidence.
    #[must_use]
    pub fn evidence(&self, group: &str, evidence: &Evidence) -> String {
        let mut params = Map::new();
        params.insert("of".into(), evidence.of.clone().into());
        fill(self.of(group, "what", evidence.what), &params)
    }
}

/// Puts values into the holes `{name}`; a hole without a value stays as it is.
#[must_use]
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
#[path = "words_tests.rs"]
pub(crate) mod tests;
