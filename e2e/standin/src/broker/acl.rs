// SPDX-License-Identifier: GPL-2.0-or-later
//! Rights of bus clients other than root. ubusd's format: one file per user or group in
//! `/usr/share/acl.d/*.json`.

use std::path::Path;

use serde_json::Value;
use ubus::Map;

/// Process that has connected to the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    /// User name, or the id if it has none.
    pub user: String,
    /// Group name, or the id if it has none.
    pub group: String,
}

/// An operation of a client on an object or event.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    Call(&'a str),
    Publish,
    /// Subscribe to an object's notifications.
    Subscribe,
    /// Listen for an event.
    Listen,
    Send,
}

#[derive(Clone, Debug, Default)]
pub struct Acl {
    files: Vec<Map>,
}

impl Acl {
    /// Reads every `*.json` in `folder`. Files that do not parse are logged and grant nothing; a
    /// missing folder grants nothing.
    #[must_use]
    pub fn read(folder: &Path) -> Acl {
        Acl { files: crate::json::objects_in(folder).into_iter().map(|(_, map)| map).collect() }
    }

    /// Returns whether `peer` may perform `operation` on the object or event `name`.
    #[must_use]
    pub fn allows(&self, peer: &Peer, name: &str, operation: Operation<'_>) -> bool {
        peer.uid == 0
            || self.files.iter().any(|file| is_for(file, peer) && grants(file, name, operation))
    }
}

fn is_for(file: &Map, peer: &Peer) -> bool {
    let is = |key: &str, name: &str| file.get(key).and_then(Value::as_str) == Some(name);
    is("user", &peer.user) || is("group", &peer.group)
}

fn grants(file: &Map, name: &str, operation: Operation<'_>) -> bool {
    let Operation::Call(method) = operation else {
        let key = match operation {
            Operation::Publish => "publish",
            Operation::Subscribe => "subscribe",
            Operation::Listen => "listen",
            _ => "send",
        };
        let patterns = file.get(key).and_then(Value::as_array);
        let named = |pattern: &Value| pattern.as_str().is_some_and(|text| matches(text, name));
        return patterns.is_some_and(|patterns| patterns.iter().any(named));
    };
    let objects = file.get("access").and_then(Value::as_object);
    let may_call = |(pattern, rights): (&String, &Value)| {
        let methods = rights.get("methods").and_then(Value::as_array);
        let called = |right: &Value| right.as_str().is_some_and(|m| m == method || m == "*");
        matches(pattern, name) && methods.is_some_and(|methods| methods.iter().any(called))
    };
    objects.is_some_and(|objects| objects.iter().any(may_call))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}
