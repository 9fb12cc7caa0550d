// SPDX-License-Identifier: GPL-2.0-or-later
//! Who reads the answer, by rpcd's right to call `fix`. A reader without it does not get findings
//! that would help to break into the router: neither passwords nor rights of accounts are checked
//! then.

use plugin::Origin;
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

/// Checks whose findings a reader does not get.
pub(crate) const PRIVATE: &[&str] = &["system-password", "system-sessions"];

/// Replaces withheld values for a reader.
pub(crate) const WITHHELD: &str = "visible to administrators only";

impl Audience {
    /// Who calls `run` without a session: ubusd lets the daemon's user do so, too, and rpcd does
    /// not say which user it was.
    pub(crate) fn without_session(origin: Origin) -> Self {
        match origin {
            Origin::Bus => Self::Reader,
            Origin::CommandLine => Self::Writer,
        }
    }

    /// Asks rpcd for the right to `fix` of the caller's session. If rpcd does not answer, it is a
    /// reader.
    pub(crate) fn of(
        machine: &dyn Machine,
        request: &Map<String, Value>,
        without_session: Self,
    ) -> Self {
        let Some(session) = request.get(plugin::SESSION) else { return without_session };
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
