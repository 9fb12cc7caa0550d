// SPDX-License-Identifier: GPL-2.0-or-later
//! The record of a change: while it is pending, and when it has ended.

use std::collections::BTreeMap;

use plugin::Map;
use serde_json::{Value, json};

use crate::draft::Draft;
use crate::store::number;

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Kept.
    Confirmed,
    /// Rolled back by a user.
    Reverted,
    /// Rolled back because nobody confirmed it in time.
    Expired,
    /// Rolled back at boot, because the power failed before anybody confirmed it.
    PowerCut,
}

const STATES: [(State, &str); 4] = [
    (State::Confirmed, "confirmed"),
    (State::Reverted, "reverted"),
    (State::Expired, "expired"),
    (State::PowerCut, "power-cut"),
];

impl State {
    /// Its name in answers.
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }

    fn read(word: &str) -> Option<Self> {
        STATES.iter().find(|(_, of)| *of == word).map(|(state, _)| *state)
    }
}

/// Who changed what, and when.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Its number on this router, from 1.
    pub id: u64,
    /// When it was applied, Unix milliseconds by the router's clock.
    pub at_ms: u64,
    /// Who applied it.
    pub user: String,
    /// What they said of it.
    pub note: String,
}

/// A change that waits to be confirmed. It is on the medium before anything is applied.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// Who and when.
    pub head: Head,
    /// Time to confirm it, seconds.
    pub seconds: u64,
    /// The change.
    pub draft: Draft,
    /// The texts of the files it changes, as they were.
    pub files: BTreeMap<String, String>,
}

/// What of it ends with this boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// The change.
    pub id: u64,
    /// The session of rpcd's that applied it and can confirm it.
    pub session: String,
    /// When it expires, milliseconds since boot.
    pub until_up_ms: u64,
    /// The texts of the files as it wrote them; empty until it has.
    pub applied: BTreeMap<String, String>,
}

/// A change that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The same number as in `head`.
    pub id: u64,
    /// Who and when.
    pub head: Head,
    /// How it ended.
    pub state: State,
    /// The change.
    pub draft: Draft,
}

impl Head {
    fn fields(&self) -> Map {
        plugin::map([
            ("id", json!(self.id)),
            ("at_ms", json!(self.at_ms)),
            ("user", json!(self.user)),
            ("note", json!(self.note)),
        ])
    }

    fn read(map: &Map) -> Option<Self> {
        let text = |field: &str| map.get(field)?.as_str().map(str::to_owned);
        Some(Self {
            id: number(map, "id")?,
            at_ms: number(map, "at_ms")?,
            user: text("user")?,
            note: text("note")?,
        })
    }

    /// As it is answered.
    #[must_use]
    pub(crate) fn answer(&self) -> Map {
        self.fields()
    }
}

fn texts(value: &Value) -> Option<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for (name, text) in value.as_object()? {
        texts.insert(name.clone(), text.as_str()?.to_owned());
    }
    Some(texts)
}

impl Pending {
    pub(crate) fn value(&self) -> Value {
        let mut map = self.head.fields();
        map.insert("seconds".into(), json!(self.seconds));
        map.insert("draft".into(), self.draft.value());
        map.insert("files".into(), json!(self.files));
        Value::Object(map)
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let files = texts(map.get("files")?)?;
        let seconds = number(map, "seconds")?;
        Some(Self {
            head: Head::read(map)?,
            seconds,
            draft: Draft::read(map.get("draft")?)?,
            files,
        })
    }

    /// The same, ended.
    #[must_use]
    pub(crate) fn ended(self, state: State) -> Record {
        Record { id: self.head.id, head: self.head, state, draft: self.draft }
    }
}

impl Running {
    pub(crate) fn value(&self) -> Value {
        json!({
            "id": self.id, "session": self.session, "until_up_ms": self.until_up_ms,
            "applied": self.applied,
        })
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let session = map.get("session")?.as_str()?.to_owned();
        let applied = texts(map.get("applied")?)?;
        Some(Self {
            id: number(map, "id")?,
            session,
            until_up_ms: number(map, "until_up_ms")?,
            applied,
        })
    }
}

impl Record {
    pub(crate) fn value(&self) -> Value {
        let mut map = self.head.fields();
        map.insert("state".into(), json!(self.state.word()));
        map.insert("draft".into(), self.draft.value());
        Value::Object(map)
    }

    pub(crate) fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let head = Head::read(map)?;
        let state = State::read(map.get("state")?.as_str()?)?;
        Some(Self { id: head.id, head, state, draft: Draft::read(map.get("draft")?)? })
    }
}
