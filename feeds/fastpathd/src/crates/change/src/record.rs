// SPDX-License-Identifier: GPL-2.0-or-later
//! Stored forms of a change: [`Pending`] with the old files, [`Running`] with session and expiry,
//! and [`Record`] of an ended change.

use std::collections::BTreeMap;

use plugin::Map;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::draft::Draft;
use ::uci::Package;

config::named! {
    /// Outcome of a change.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        Confirmed = "confirmed",
        /// Rolled back by a user.
        Reverted = "reverted",
        /// Rolled back because no user confirmed the change in time.
        Expired = "expired",
        /// Rolled back at boot after a power cut, or before an upgrade.
        PowerCut = "power-cut",
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Number of the change on this router, from 1.
    pub id: u64,
    /// Unix time of the apply in milliseconds, by the router's clock.
    pub at_ms: u64,
    pub user: String,
    pub note: String,
}

/// Bytes of a file. libuci accepts any encoding, for example a comment in Latin-1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TextOrBytes", into = "TextOrBytes")]
pub(crate) struct FileText(pub Vec<u8>);

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

/// A pending change. Stored on the medium before the edits are applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    #[serde(flatten)]
    pub head: Head,
    /// Time to confirm, in seconds.
    pub seconds: u64,
    pub draft: Draft,
    /// Changed files, as they were before the change.
    pub files: BTreeMap<String, FileText>,
    /// Content of `/etc/openwrt_release` when the change was applied.
    #[serde(default)]
    pub system: Option<String>,
    /// After the confirmation, end connections that the change may forbid.
    #[serde(default)]
    pub end_connections: bool,
}

/// State of a pending change that is valid until the next boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub id: u64,
    /// Session that applied the change. rpcd accepts the confirmation only from this session.
    pub session: String,
    /// Time of expiry, in milliseconds since boot.
    pub until_up_ms: u64,
    /// Changed files, as rpcd wrote them. Empty before the apply.
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
    pub(crate) fn ended(self, state: State) -> Record {
        Record { head: self.head, state, draft: self.draft }
    }

    /// Returns whether a file has the content of the change, or is damaged. A power cut may leave
    /// NUL bytes in a file, which libuci accepts.
    pub(crate) fn wrote(&self, config: &str, text: &[u8]) -> bool {
        let Ok(Value::Object(values)) = config::parse_uci(text) else { return true };
        if text.contains(&0) {
            return true;
        }
        self.draft.after.get(config).is_some_and(|after| after.says(&Package::read(&values)))
    }
}
