// SPDX-License-Identifier: GPL-2.0-or-later
//! The audience of an answer, determined by the right to call `fix`. Readers do not get findings
//! about passwords and rights of accounts, which would help an attacker.

use plugin::Origin;
use serde_json::{Map, Value};

use crate::machine::Machine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Writer,
    Reader,
}

/// Checks with findings for writers only.
pub(crate) const PRIVATE: &[&str] = &["system-password", "system-sessions"];

/// Replaces withheld values in a reader's answer.
pub(crate) const WITHHELD: &str = "visible to administrators only";

impl Audience {
    /// Returns the audience of a call without a session. Calls on the bus are readers, because
    /// ubusd also admits the daemon's user, and rpcd does not report the user.
    pub(crate) fn without_session(origin: Origin) -> Self {
        match origin {
            Origin::Bus => Self::Reader,
            Origin::CommandLine => Self::Writer,
        }
    }

    /// Returns the audience of a call. A caller is a reader unless rpcd permits its session to call
    /// `fix`.
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
