// SPDX-License-Identifier: GPL-2.0-or-later
//! Fields of `state.json` and of the report: outcomes of an update (updated to restored), the state
//! and counts of each source.

use config::{Cause, Params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How an update ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateOutcome {
    /// New rules are in force.
    Updated,
    /// All is well, and the rules are the same as before.
    Unchanged,
    /// At least one source failed; the usable rules are in force.
    Partly,
    /// The rules are the same as before.
    #[default]
    #[serde(alias = "")]
    Failed,
    /// Another update is running; nothing was done.
    Busy,
    /// The set before was brought back.
    Restored,
}

/// How a source fared in the last update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    /// Fetched, verified, and in force.
    Updated,
    /// The source has nothing new.
    Unchanged,
    /// It failed; the previous good rules are still in force.
    Kept,
    /// It failed, and nothing of it is in force.
    #[default]
    #[serde(alias = "")]
    Failed,
}

/// A reason as it is stored: the code and parameters of a [`Cause`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredCause {
    /// Its stable name; empty: there is none, as in a state of an earlier version.
    pub code: String,
    /// Values of its text.
    pub params: Params,
}

impl From<Cause> for StoredCause {
    fn from(Cause { code, params, text: _ }: Cause) -> Self {
        Self { code: code.to_owned(), params }
    }
}

/// One source in the state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceReport {
    /// Name in the settings; `fastpath` for our own rules.
    pub name: String,
    /// How it fared.
    pub state: SourceState,
    /// The failure; empty if there was none.
    pub message: String,
    /// Its code and parameters.
    pub cause: StoredCause,
    /// Further faults, the first 20; for example more lines with errors.
    pub faults: Vec<String>,
    /// Notes for the user, the first 20.
    pub notes: Vec<String>,
    /// Rules in force.
    pub rules: u32,
    /// Alerts made drops by the settings.
    pub converted: u32,
    /// Rules switched off by the settings.
    pub disabled: u32,
    /// Rules that the source has switched off itself.
    pub disabled_by_source: u32,
    /// Rules that cannot be used here.
    pub left_out: u32,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Bytes it unpacks to.
    pub unpacked: u64,
    /// SHA-256 of the archive.
    pub sha256: String,
    /// `sha256`, `signature` or `none`.
    pub verified: String,
    /// The source's own version, if it has one.
    pub version: String,
    /// When the archive in force was downloaded, Unix milliseconds; 0: never.
    pub fetched_ms: u64,
    /// When the source was last reached with success, Unix milliseconds; 0: never.
    pub checked_ms: u64,
}

/// `state.json`, and the result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// How the last update ended.
    pub outcome: UpdateOutcome,
    /// The failure; empty if there was none.
    pub message: String,
    /// Its code and parameters.
    pub cause: StoredCause,
    /// Version of the rules in force: 12 hexadecimal digits; empty: none are.
    pub version: String,
    /// When they came into force, Unix milliseconds.
    pub since_ms: u64,
    /// When the last update ended, Unix milliseconds.
    pub finished_ms: u64,
    /// Number of rules in force.
    pub rules: u32,
    /// How many of them drop or reject.
    pub stopping: u32,
    /// Rules left out because another with the same number was chosen.
    pub duplicates: u32,
    /// Version of `previous.rules`; empty: there is none.
    pub previous: String,
    /// Our own rules first, then the sources in the order of the settings.
    pub sources: Vec<SourceReport>,
}

/// Why a text is not a state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It has no fields at all.
    #[error("reading the state of the rules: it is not a JSON object")]
    NoObject,
    /// A field has another type or another word than it can have.
    #[error("reading the state of the rules: {0}")]
    Field(#[from] serde_json::Error),
}

impl SourceReport {
    /// Its failure, or none.
    pub fn set_cause(&mut self, cause: Cause) {
        self.message.clone_from(&cause.text);
        self.cause = cause.into();
    }
}

impl State {
    /// The failure, or none.
    pub fn set_cause(&mut self, cause: Cause) {
        self.message.clone_from(&cause.text);
        self.cause = cause.into();
    }

    /// Reads the format of its [`Serialize`]; missing fields are empty, unknown ones ignored.
    ///
    /// # Errors
    /// When a field is invalid.
    pub fn read(value: Value) -> Result<Self, StateError> {
        // A list would be taken for the fields in order.
        if !value.is_object() {
            return Err(StateError::NoObject);
        }
        Ok(serde_json::from_value(value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let source = SourceReport {
            name: "et".into(),
            state: SourceState::Kept,
            message: "moved".into(),
            cause: StoredCause { code: "server-error".into(), params: Params::new() },
            faults: vec!["line 7".into()],
            notes: vec!["old".into()],
            rules: 3,
            converted: 4,
            disabled: 5,
            disabled_by_source: 6,
            left_out: 7,
            bytes: 1 << 40,
            unpacked: 9,
            sha256: "ab".into(),
            verified: "none".into(),
            version: "11".into(),
            fetched_ms: 10,
            checked_ms: 12,
        };
        let state = State {
            outcome: UpdateOutcome::Partly,
            message: "half".into(),
            cause: StoredCause { code: "sources".into(), params: Params::new() },
            version: "0123".into(),
            since_ms: 1,
            finished_ms: 2,
            rules: 3,
            stopping: 4,
            duplicates: 5,
            previous: "4567".into(),
            sources: vec![source],
        };
        assert_eq!(State::read(serde_json::to_value(&state).unwrap()).unwrap(), state);
    }

    #[test]
    fn every_word_of_an_outcome_is_known() {
        use UpdateOutcome::{Busy, Failed, Partly, Restored, Unchanged, Updated};
        for outcome in [Updated, Unchanged, Partly, Failed, Busy, Restored] {
            let state = State { outcome, ..State::default() };
            assert_eq!(State::read(serde_json::to_value(&state).unwrap()).unwrap(), state);
        }
        for state in [SourceState::Updated, SourceState::Unchanged, SourceState::Failed] {
            let report = SourceReport { state, ..SourceReport::default() };
            let state = State { sources: vec![report], ..State::default() };
            assert_eq!(State::read(serde_json::to_value(&state).unwrap()).unwrap(), state);
        }
    }

    #[test]
    fn what_is_missing_is_empty_and_what_is_wrong_is_an_error() {
        assert_eq!(State::read(json!({"event": "result"})).unwrap(), State::default());
        assert!(matches!(State::read(json!([])), Err(StateError::NoObject)));
        for (field, wrong) in [
            ("outcome", json!("splendid")),
            ("message", json!(1)),
            ("rules", json!(1_u64 << 32)),
            ("since_ms", json!(-1)),
            ("sources", json!({})),
        ] {
            let read = State::read(json!({field: wrong}));
            assert!(matches!(read, Err(StateError::Field(_))), "{field}: {read:?}");
        }
        let inner = State::read(json!({"sources": [{"notes": [1]}]})).unwrap_err().to_string();
        assert!(inner.starts_with("reading the state of the rules: invalid type"), "{inner}");
    }
}
