// SPDX-License-Identifier: GPL-2.0-or-later
//! The forms of stored changes: pending with the old texts of its files, running with session and
//! expiry, ended with one of the states `confirmed`, `reverted`, `expired`, `power-cut`.

use std::collections::BTreeMap;

use plugin::Map;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::draft::Draft;
use ::uci::Package;

config::named! {
    /// How a change ended.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        /// Kept.
        Confirmed = "confirmed",
        /// Rolled back by a user.
        Reverted = "reverted",
        /// Rolled back because nobody confirmed it in time.
        Expired = "expired",
        /// Rolled back at boot, because the power failed before anybody confirmed it, or before an
        /// upgrade.
        PowerCut = "power-cut",
    }
}

/// Author, time and note of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Its number on this router, from 1.
    pub id: u64,
    /// When it was applied, Unix milliseconds by the router's clock.
    pub at_ms: u64,
    /// Who applied it.
    pub user: String,
    /// Their note.
    pub note: String,
}

/// The bytes of a file. libuci takes every encoding, so a comment may be in Latin-1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TextOrBytes", into = "TextOrBytes")]
pub(crate) struct FileText(pub Vec<u8>);

/// The form of a [`FileText`] in a record.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<TextOrBytes> for FileText {
    fn from(form: TextOrBytes) -> Self {
        match form {
            TextOrBytes::Text(text) => Self(text.into_bytes()),
            TextOrBytes::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<FileText> for TextOrBytes {
    fn from(FileText(bytes): FileText) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

/// A change that waits to be confirmed. It is on the medium before anything is applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// Author, time and note.
    #[serde(flatten)]
    pub head: Head,
    /// Time to confirm it, seconds.
    pub seconds: u64,
    /// The change.
    pub draft: Draft,
    /// The texts of the files it changes, as they were.
    pub files: BTreeMap<String, FileText>,
    /// The text of `/etc/openwrt_release` of the system on which it was applied.
    #[serde(default)]
    pub system: Option<String>,
    /// Connections that it may forbid end when it is confirmed.
    #[serde(default)]
    pub end_connections: bool,
}

/// The part of its state that ends with this boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The change.
    pub id: u64,
    /// The session of rpcd's that applied it and can confirm it.
    pub session: String,
    /// When it expires, milliseconds since boot.
    pub until_up_ms: u64,
    /// The texts of the files as it wrote them; empty until it has.
    pub applied: BTreeMap<String, FileText>,
}

/// A change that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Author, time and note.
    #[serde(flatten)]
    pub head: Head,
    /// How it ended.
    pub state: State,
    /// The change.
    pub draft: Draft,
}

impl Head {
    /// As it is answered, with more fields.
    pub(crate) fn answer<const N: usize>(&self, more: [(&str, Value); N]) -> Map {
        let Self { id, at_ms, user, note } = self;
        let head = [
            ("id", json!(id)),
            ("at_ms", json!(at_ms)),
            ("user", json!(user)),
            ("note", json!(note)),
        ];
        let mut answer = plugin::map(head);
        answer.extend(plugin::map(more));
        answer
    }
}

impl Pending {
    /// The same, ended.
    pub(crate) fn ended(self, state: State) -> Record {
        Record { head: self.head, state, draft: self.draft }
    }

    /// Whether a file of it says what the change made of it, or is damaged. libuci ends a line at a
    /// NUL byte, with which a power cut may have filled the file.
    pub(crate) fn wrote(&self, config: &str, text: &[u8]) -> bool {
        let Ok(Value::Object(values)) = config::parse_uci(text) else { return true };
        if text.contains(&0) {
            return true;
        }
        self.draft.after.get(config).is_some_and(|after| after.says(&Package::read(&values)))
    }
}
