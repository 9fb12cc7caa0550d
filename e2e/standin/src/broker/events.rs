// SPDX-License-Identifier: GPL-2.0-or-later
//! ubusd's event object: `register` and `send`, and the events about objects.

use std::collections::BTreeSet;

use serde_json::Value;
use ubus::{Attribute, Blobmsg, Frame, Kind, Map, Status};

use super::acl::Operation;
use super::core::{Broker, FIRST_FREE_ID};

pub(super) const EVENT_OBJECT: u32 = 1;

/// An object's event subscription: a name, or a prefix if `partial`.
pub(super) struct Pattern {
    pub(super) object: u32,
    text: String,
    partial: bool,
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        if self.partial { name.starts_with(&self.text) } else { name == self.text }
    }
}

impl Broker {
    pub(super) fn event_request(
        &mut self,
        client: u32,
        method: &str,
        data: Option<&Blobmsg>,
    ) -> Status {
        let Some(args) = data.and_then(|data| data.decode().ok()) else {
            return Status::InvalidArgument;
        };
        match method {
            "register" => self.register(client, &args),
            "send" => self.send(client, &args),
            _ => Status::InvalidCommand,
        }
    }

    fn register(&mut self, client: u32, args: &Map) -> Status {
        let object = args.get("object").and_then(Value::as_i64);
        let pattern = args.get("pattern").and_then(Value::as_str);
        let (Some(object), Some(pattern)) = (object, pattern) else {
            return Status::InvalidArgument;
        };
        // Ids are unsigned 32-bit numbers; blobmsg transmits them as int32.
        let Ok(object) = i32::try_from(object).map(i32::cast_unsigned) else {
            return Status::InvalidArgument;
        };
        if object < FIRST_FREE_ID || pattern.is_empty() {
            return Status::PermissionDenied;
        }
        match self.objects.get(&object) {
            None => return Status::NotFound,
            Some(known) if known.owner != client => return Status::PermissionDenied,
            Some(_) => {}
        }
        let text = pattern.strip_suffix('*').unwrap_or(pattern);
        if !self.allows(client, text, Operation::Listen) {
            return Status::PermissionDenied;
        }
        let partial = text.len() < pattern.len();
        self.patterns.push(Pattern { object, text: text.to_owned(), partial });
        Status::Ok
    }

    fn send(&mut self, client: u32, args: &Map) -> Status {
        let id = args.get("id").and_then(Value::as_str);
        let data = args.get("data").and_then(Value::as_object);
        let (Some(id), Some(data)) = (id, data) else { return Status::InvalidArgument };
        if id.starts_with("ubus.") || !self.allows(client, id, Operation::Send) {
            return Status::PermissionDenied;
        }
        self.broadcast(Some(client), id, data);
        Status::Ok
    }

    pub(super) fn object_event(&mut self, name: &str, id: u32, path: &str) {
        let mut data = Map::new();
        data.insert("id".to_owned(), id.cast_signed().into());
        data.insert("path".to_owned(), path.into());
        self.broadcast(None, name, &data);
    }

    /// Sends an event once to each matching object, except to objects of the sender.
    fn broadcast(&mut self, from: Option<u32>, name: &str, data: &Map) {
        let Ok(data) = Blobmsg::encode(data) else { return };
        let wanting = self.patterns.iter().filter(|pattern| pattern.matches(name));
        let objects: BTreeSet<u32> = wanting.map(|pattern| pattern.object).collect();
        for object in objects {
            let Some(owner) = self.objects.get(&object).map(|o| o.owner) else { continue };
            if Some(owner) == from {
                continue;
            }
            let attributes = vec![
                Attribute::ObjectId(object),
                Attribute::Method(name.to_owned()),
                Attribute::Data(data.clone()),
            ];
            let seq = self.next_seq(object);
            self.post(owner, Frame { kind: Kind::Invoke, seq, peer: 0, attributes });
        }
    }
}
