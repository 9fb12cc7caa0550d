// SPDX-License-Identifier: GPL-2.0-or-later
//! `state.json` and the result of an update.

use config::{Cause, Params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateOutcome {
    Updated,
    /// No source failed; the rules are unchanged.
    Unchanged,
    /// At least one source failed; the usable rules are in force.
    Partly,
    /// The update failed; the rules are unchanged.
    #[default]
    #[serde(alias = "")]
    Failed,
    Busy,
    Restored,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    /// The archive was downloaded and verified, and its rules are in force.
    Updated,
    /// The source has nothing new.
    Unchanged,
    /// The source failed; its previous rules are in force.
    Kept,
    /// The source failed and has no rules in force.
    #[default]
    #[serde(alias = "")]
    Failed,
}

/// Code and parameters of a [`Cause`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredCause {
    /// Stable; empty without a reason, and in states of earlier versions.
    pub code: String,
    pub params: Params,
}

impl From<Cause> for StoredCause {
    fn from(Cause { code, params, text: _ }: Cause) -> Self {
        Self { code: code.to_owned(), params }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceReport {
    /// Name in the settings; `fastpath` for fastpath's own rules.
    pub name: String,
    pub state: SourceState,
    /// Text of the failure; empty if there was none.
    pub message: String,
    pub cause: StoredCause,
    /// Further faults, such as lines with errors; at most 20.
    pub faults: Vec<String>,
    /// Notes for the user; at most 20.
    pub notes: Vec<String>,
    /// Number of rules in force.
    pub rules: u32,
    /// Number of alerts converted to drops.
    pub converted: u32,
    pub disabled: u32,
    /// Number of rules that the source has disabled in comments.
    pub disabled_by_source: u32,
    pub left_out: u32,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// Size of the unpacked archive in bytes.
    pub unpacked: u64,
    pub sha256: String,
    /// `sha256`, `signature` or `none`.
    pub verified: String,
    /// Version according to the source; may be empty.
    pub version: String,
    /// Download time of the archive in force, Unix milliseconds; 0 for never.
    pub fetched_ms: u64,
    /// Last successful contact with the source, Unix milliseconds; 0 for never.
    pub checked_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub outcome: UpdateOutcome,
    /// Text of the failure; empty if there was none.
    pub message: String,
    pub cause: StoredCause,
    /// Version of the rules in force, 12 hexadecimal digits; empty without rules.
    pub version: String,
    /// Time at which the rules came into force, Unix milliseconds.
    pub since_ms: u64,
    /// End time of the last update, Unix milliseconds.
    pub finished_ms: u64,
    /// Number of rules in force.
    pub rules: u32,
    /// Number of rules that drop or reject.
    pub stopping: u32,
    /// Number of rules omitted because of a duplicate number.
    pub duplicates: u32,
    /// Version of `previous.rules`; empty without such a file.
    pub previous: String,
    /// fastpath's own rules first, then the sources in the order of the settings.
    pub sources: Vec<SourceReport>,
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("reading the state of the rules: it is not a JSON object")]
    NoObject,
    #[error("reading the state of the rules: {0}")]
    Field(#[from] serde_json::Error),
}

impl SourceReport {
    /// Sets the failure as text, code and parameters.
    pub fn set_cause(&mut self, cause: Cause) {
        self.message.clone_from(&cause.text);
        self.cause = cause.into();
    }
}

impl State {
    pub fn set_cause(&mut self, cause: Cause) {
        self.message.clone_from(&cause.text);
        self.cause = cause.into();
    }

    /// Parses a serialized state. Missing fields are empty; unknown fields are ignored.
    pub fn read(value: Value) -> Result<Self, StateError> {
        // Serde also accepts a JSON array of the fields.
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
    fn reads_a_written_state() {
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
    fn reads_every_outcome() {
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
    fn missing_fields_are_empty_and_invalid_fields_are_errors() {
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
