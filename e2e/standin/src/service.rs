// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `service` as packages use procd's: an event runs the triggers of init scripts.

use std::path::Path;

use ubus::{Map, Method, PolicyType, Status};

use crate::reload;
use crate::reply::{Answer, text};

/// The method of procd's object that packages call.
pub const METHODS: &[Method] = &[Method {
    name: "event",
    policy: &[("type", PolicyType::String), ("data", PolicyType::Table)],
}];

/// Answers a call by starting `command` with the event's type. Like procd, does not wait for the
/// triggers or report their failures.
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
    happened(command, kind);
    Ok(Map::new())
}

/// Starts `command TYPE` if there is a command.
pub(crate) fn happened(command: Option<&Path>, kind: &str) {
    if let Some(command) = command {
        reload::start(command, kind);
    }
}
