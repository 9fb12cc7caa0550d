// SPDX-License-Identifier: GPL-2.0-or-later
//! Sessions for rpcd's object `uci`.
//!
//! Without a session, rpcd includes uncommitted changes of a shell (`uci set`, in `/tmp/.uci`). A
//! session has its own uncommitted changes, and rights only for the files of its creation.

use serde_json::{Value, json};
use ubus::Status;

use crate::bus::{Bus, BusError};
use crate::call::SESSION;
use crate::map::{Map, map};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Read,
    Write,
}

impl Rights {
    fn names(self) -> &'static [&'static str] {
        match self {
            Rights::Read => &["read"],
            Rights::Write => &["read", "write"],
        }
    }
}

pub struct UciSession {
    bus: Bus,
    id: String,
}

impl UciSession {
    /// Timeout in seconds of a session for a few calls. Applies if the program fails to close it.
    pub const BRIEF: u64 = 30;

    /// Creates a session that expires `seconds` after its last use.
    pub async fn open(
        bus: &Bus,
        configs: &[&str],
        rights: Rights,
        seconds: u64,
    ) -> Result<Self, BusError> {
        let made = bus.call("session", "create", &map([("timeout", json!(seconds))])).await?;
        let id = made.get(SESSION).and_then(Value::as_str).ok_or(BusError::NoSession)?.to_owned();
        let objects: Vec<Value> = configs
            .iter()
            .flat_map(|config| rights.names().iter().map(move |right| json!([config, right])))
            .collect();
        let args =
            map([(SESSION, json!(id)), ("scope", json!("uci")), ("objects", json!(objects))]);
        bus.call("session", "grant", &args).await?;
        Ok(Self { bus: bus.clone(), id })
    }

    #[must_use]
    pub fn of(bus: &Bus, id: &str) -> Self {
        Self { bus: bus.clone(), id: id.to_owned() }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub async fn call(&self, method: &str, mut args: Map) -> Result<Map, BusError> {
        args.insert(SESSION.to_owned(), json!(self.id));
        self.bus.call("uci", method, &args).await
    }

    /// Returns the `values` of a file, including edits of this session. `None` without the file.
    pub async fn values(&self, config: &str) -> Result<Option<Map>, BusError> {
        match self.call("get", map([("config", json!(config))])).await {
            Ok(mut answer) => match answer.remove("values") {
                Some(Value::Object(values)) => Ok(Some(values)),
                _ => Ok(Some(Map::new())),
            },
            Err(error) if error.status() == Status::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends the session and discards its edits. Ignores errors, because the session expires.
    pub async fn close(self) {
        let args = map([(SESSION, json!(self.id))]);
        let _ = self.bus.call("session", "destroy", &args).await;
    }
}
