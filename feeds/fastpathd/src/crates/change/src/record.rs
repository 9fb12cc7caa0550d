// SPDX-License-Identifier: GPL-2.0-or-later
//! Stored forms of a change: pending with the old texts of its files, running with session and
//! expiry, or ended with a [`State`].

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
        /// Confirmed by a user in time.
        Confirmed = "confirmed",
        /// Rolled back by a user.
        Reverted = "reverted",
        /// Rolled back because it was not confirmed in time.
        Expired = "expired",
        /// Rolled back at boot after a power cut, or before an upgrade.
        PowerCut = "power-cut",
    }
}

/// Author, time and note of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Number of the change on this router, from 1.
    pub id: u64,
    /// When the change was applied, Unix milliseconds by the router's clock.
    pub at_ms: u64,
    /// User who applied the change.
    pub user: String,
    pub note: String,
}

/// Bytes of a file. libuci accepts every encoding, so a comment may be in Latin-1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TextOrBytes", into = "TextOrBytes")]
pub(crate) struct FileText(pub Vec<u8>);

/// Form of a [`FileText`] in a record.
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
    #[serde(flatten)]
    pub head: Head,
    /// Time to confirm, seconds.
    pub seconds: u64,
    pub draft: Draft,
    /// Texts of the changed files from before the change.
    pub files: BTreeMap<String, FileText>,
    /// Text of `/etc/openwrt_release` when the change was applied.
    #[serde(default)]
    pub system: Option<String>,
    /// Ends connections that the change may forbid when it is confirmed.
    #[serde(default)]
    pub end_connections: bool,
}

/// State of a pending change that ends with this boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub id: u64,
    /// Session of rpcd that applied the change and can confirm it.
    pub session: String,
    /// When the change expires, milliseconds since boot.
    pub until_up_ms: u64,
    /// Texts of the files as the change wrote them; empty until then.
    pub applied: BTreeMap<String, FileText>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    #[serde(flatten)]
    pub head: Head,
    pub state: State,
    pub draft: Draft,
}

impl Head {
    /// Returns the fields of an answer, with more fields added.
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
    /// Turns the change into a record of its end.
    pub(crate) fn ended(self, state: State) -> Record {
        Record { head: self.head, state, draft: self.draft }
    }

    /// Reports whether a file has the content that the change wrote, or is damaged. A power cut may
    /// have filled the file with NUL bytes, where libuci ends a line.
    pub(crate) fn wrote(&self, config: &str, text: &[u8]) -> bool {
        let Ok(Value::Object(values)) = config::parse_uci(text) else { return true };
        if text.contains(&0) {
            return true;
        }
        self.draft.after.get(config).is_some_and(|after| after.says(&Package::read(&values)))
    }
}
