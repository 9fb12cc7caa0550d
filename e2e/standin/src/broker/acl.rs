// SPDX-License-Identifier: GPL-2.0-or-later
//! Rights on the bus of clients that are not root: `/usr/share/acl.d/*.json`, one file a user
//! or group, as ubusd reads them.

use std::path::Path;

use serde_json::Value;
use ubus::Map;

/// Whom a socket belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Numeric user.
    pub uid: u32,
    /// Name of the user, or the number if it has none.
    pub user: String,
    /// Name of the group, or the number if it has none.
    pub group: String,
}

/// Something a client wants to do with an object or an event.
#[derive(Clone, Copy, Debug)]
pub enum Deed<'a> {
    /// Call this method.
    Call(&'a str),
    /// Publish an object.
    Publish,
    /// Subscribe to its notifications.
    Subscribe,
    /// Listen for an event.
    Listen,
    /// Send an event.
    Send,
}

/// The rights of everybody but root.
#[derive(Clone, Debug, Default)]
pub struct Acl {
    files: Vec<Map>,
}

impl Acl {
    /// Reads every `*.json` in `folder`. A file that does not parse grants nothing and is
    /// complained about; a missing folder grants nothing.
    #[must_use]
    pub fn read(folder: &Path) -> Acl {
        Acl { files: crate::json::objects_in(folder).into_iter().map(|(_, map)| map).collect() }
    }

    /// Whether `peer` may do `deed` with the object or event named `name`.
    #[must_use]
    pub fn allows(&self, peer: &Peer, name: &str, deed: Deed<'_>) -> bool {
        peer.uid == 0
            || self.files.iter().any(|file| is_for(file, peer) && grants(file, name, deed))
    }
}

fn is_for(file: &Map, peer: &Peer) -> bool {
    let is = |key: &str, name: &str| file.get(key).and_then(Value::as_str) == Some(name);
    is("user", &peer.user) || is("group", &peer.group)
}

fn grants(file: &Map, name: &str, deed: Deed<'_>) -> bool {
    let Deed::Call(method) = deed else {
        let key = match deed {
            Deed::Publish => "publish",
            Deed::Subscribe => "subscribe",
            Deed::Listen => "listen",
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
