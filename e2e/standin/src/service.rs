// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `service` as packages use procd's: an event runs the triggers of init scripts.

use std::path::Path;

use ubus::{Map, Method, PolicyType, Status};

use crate::objects::Procd;
use crate::reload;
use crate::reply::{Answer, text};

pub const METHODS: &[Method] = &[Method {
    name: "event",
    policy: &[("type", PolicyType::String), ("data", PolicyType::Table)],
}];

/// Answers a call by starting the command for the event's type, or for its changed configuration.
/// Like procd, neither waits for triggers nor reports their failures.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(procd: &Procd, called: (&str, &Map)) -> Answer {
    if called.0 != "event" {
        return Err(Status::MethodNotFound);
    }
    let kind = text(called.1, "type").ok_or(Status::InvalidArgument)?;
    let data = called.1.get("data").and_then(serde_json::Value::as_object);
    let data = data.ok_or(Status::InvalidArgument)?;
    match data.get("package").and_then(serde_json::Value::as_str) {
        Some(package) if kind == "config.change" => send(procd.reload.as_deref(), package),
        _ => send(procd.event.as_deref(), kind),
    }
    Ok(Map::new())
}

pub(crate) fn send(command: Option<&Path>, word: &str) {
    if let Some(command) = command {
        reload::start(command, word);
    }
}
