// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `service` as packages use procd's: an event runs the triggers of init scripts.

use std::path::Path;

use ubus::{Map, Method, PolicyType, Status};

use crate::reload;
use crate::reply::{Answer, text};

pub const METHODS: &[Method] = &[Method {
    name: "event",
    policy: &[("type", PolicyType::String), ("data", PolicyType::Table)],
}];

/// Answers a call by starting `command` with the event's type. Like procd, neither waits for
/// triggers nor reports their failures.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(command: Option<&Path>, called: (&str, &Map)) -> Answer {
    if called.0 != "event" {
        return Err(Status::MethodNotFound);
    }
    let kind = text(called.1, "type").ok_or(Status::InvalidArgument)?;
    if !called.1.get("data").is_some_and(serde_json::Value::is_object) {
        return Err(Status::InvalidArgument);
    }
    send(command, kind);
    Ok(Map::new())
}

pub(crate) fn send(command: Option<&Path>, kind: &str) {
    if let Some(command) = command {
        reload::start(command, kind);
    }
}
