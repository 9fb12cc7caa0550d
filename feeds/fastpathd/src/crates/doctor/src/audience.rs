// SPDX-License-Identifier: GPL-2.0-or-later
//! The audience of an answer, decided by rpcd's right to call `fix`. Readers do not get findings
//! about passwords and rights of accounts, which would help to break into the router.

use plugin::Origin;
use serde_json::{Map, Value};

use crate::machine::Machine;

/// The caller's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// May apply fixes.
    Writer,
    /// May only read.
    Reader,
}

/// Checks with findings for writers only.
pub(crate) const PRIVATE: &[&str] = &["system-password", "system-sessions"];

/// Replaces withheld values in a reader's answer.
pub(crate) const WITHHELD: &str = "visible to administrators only";

impl Audience {
    /// Returns the audience of `run` without a session. On the bus it is a reader, because ubusd
    /// also lets the daemon's user call, and rpcd does not report the user.
    pub(crate) fn without_session(origin: Origin) -> Self {
        match origin {
            Origin::Bus => Self::Reader,
            Origin::CommandLine => Self::Writer,
        }
    }

    /// Asks rpcd whether the caller's session may call `fix`. Without an answer the caller is a
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
