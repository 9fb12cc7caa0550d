// SPDX-License-Identifier: GPL-2.0-or-later
//! What is kept beside the rules and told about them.

use serde::{Deserialize, Serialize};

/// How an update ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// New rules are in force.
    Updated,
    /// All is well, and the rules are the same as before.
    Unchanged,
    /// At least one source failed; what could be used is in force.
    Partly,
    /// The rules are what they were.
    #[default]
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
    /// It failed; what was good before is still in force.
    Kept,
    /// It failed, and nothing of it is in force.
    #[default]
    Failed,
}

/// One source in the state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceReport {
    /// Name in the settings; `fastpath` for our own rules.
    pub name: String,
    /// How it fared.
    pub state: SourceState,
    /// What failed, in words; empty if nothing did.
    pub message: String,
    /// Further faults, the first 20; for example more lines with errors.
    pub faults: Vec<String>,
    /// What a user should know, the first 20.
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
    /// The source's own version, if it tells one.
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
    pub outcome: Outcome,
    /// What failed, in words; empty if nothing did.
    pub message: String,
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
