// SPDX-License-Identifier: GPL-2.0-or-later
//! Who reads the answer, by rpcd's right to call `fix`. A reader without it does not get findings
//! that would help to break into the router: neither passwords nor rights of accounts are checked
//! then.

use serde_json::{Map, Value};

use crate::machine::Machine;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// May apply fixes.
    Writer,
    /// May only read.
    Reader,
}

/// Replaces withheld values for a reader.
pub(crate) const WITHHELD: &str = "visible to administrators only";

impl Audience {
    /// Asks rpcd for the caller's right to `fix`. A call without a session comes from the
    /// router itself: ubusd lets only root call. If rpcd does not answer, it is a reader.
    pub(crate) fn of(machine: &dyn Machine, request: &Map<String, Value>) -> Self {
        let Some(session) = request.get(plugin::SESSION) else { return Self::Writer };
        let right = plugin::map([
            (plugin::SESSION, session.clone()),
            ("scope", "ubus".into()),
            ("object", "fastpath.doctor".into()),
            ("function", "fix".into()),
        ]);
        let answer = session.as_str().and_then(|_| machine.call("session", "access", &right).ok());
        match answer {
            Some(answer) if answer.get("access") == Some(&Value::Bool(true)) => Self::Writer,
            _ => Self::Reader,
        }
    }
}
