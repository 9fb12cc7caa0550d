// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is told: a look at the router sees what helps to break into it.

use serde_json::{Map, Value};

use crate::machine::Machine;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Somebody who may mend what is found.
    Writer,
    /// Somebody who may only look.
    Reader,
}

/// Why a reader is not told.
pub const WITHHELD: &str = "it is told only to those who may change settings";

impl Audience {
    /// Asks rpcd for the caller's right to `fix`. Without a session it is somebody on the router
    /// itself: ubusd lets only root call. Whoever cannot be asked about is a reader.
    #[must_use]
    pub fn of(machine: &dyn Machine, request: &Map<String, Value>) -> Self {
        let Some(session) = request.get(plugin::SESSION) else { return Self::Writer };
        let mut right = Map::new();
        right.insert(plugin::SESSION.into(), session.clone());
        for (name, value) in [("scope", "ubus"), ("object", "fastpath.doctor"), ("function", "fix")]
        {
            right.insert(name.into(), value.into());
        }
        let answer = session.as_str().and_then(|_| machine.call("session", "access", &right).ok());
        match answer {
            Some(answer) if answer.get("access") == Some(&Value::Bool(true)) => Self::Writer,
            _ => Self::Reader,
        }
    }
}
