// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `service`, as far as packages use procd's: an event runs the commands of the
//! init scripts' triggers.

use std::path::Path;

use ubus::{Map, Method, PolicyType, Status};

use crate::reload;
use crate::reply::{Answer, text};

/// procd's method that a package calls.
pub const METHODS: &[Method] = &[Method {
    name: "event",
    policy: &[("type", PolicyType::String), ("data", PolicyType::Table)],
}];

/// Answers one call: `command` is started with the event's type. Like procd, nobody waits for the
/// triggers, and their defects are not reported.
///
/// # Errors
/// The status that the caller gets.
pub fn answer(command: Option<&Path>, called: (&str, &Map)) -> Answer {
    if called.0 != "event" {
        return Err(Status::MethodNotFound);
    }
    let kind = text(called.1, "type").ok_or(Status::InvalidArgument)?;
    if !called.1.get("data").is_some_and(serde_json::Value::is_object) {
        return Err(Status::InvalidArgument);
    }
    happened(command, kind);
    Ok(Map::new())
}

/// Starts `command TYPE`, where there is one.
pub(crate) fn happened(command: Option<&Path>, kind: &str) {
    if let Some(command) = command {
        reload::start(command, kind);
    }
}
