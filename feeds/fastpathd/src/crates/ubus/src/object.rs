// SPDX-License-Identifier: GPL-2.0-or-later
//! Published objects: methods, argument types, and which JSON values fit a type.

use serde_json::Value;

use crate::{Map, Status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyType {
    Any = 0,
    Array = 1,
    Table = 2,
    String = 3,
    Int64 = 4,
    Int32 = 5,
    Bool = 7,
    Double = 8,
}

impl PolicyType {
    /// Returns the type number that a signature has on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns whether an argument may have this value. An integer fits every wider type, because
    /// JSON has only one integer type.
    #[must_use]
    pub fn admits(self, value: &Value) -> bool {
        match self {
            PolicyType::Any => true,
            PolicyType::Array => value.is_array(),
            PolicyType::Table => value.is_object(),
            PolicyType::String => value.is_string(),
            PolicyType::Int64 => value.is_i64(),
            PolicyType::Int32 => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            PolicyType::Bool => value.is_boolean(),
            PolicyType::Double => value.is_number(),
        }
    }
}

pub type Argument = (&'static str, PolicyType);

#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub name: &'static str,
    /// Accepted arguments. A method for web clients must list `ubus_rpc_session`, which uhttpd adds
    /// to each of their calls.
    pub policy: &'static [Argument],
}

impl Method {
    /// Checks names and types of the arguments like libubus. All arguments are optional.
    pub fn check(&self, args: &Map) -> Result<(), Status> {
        let known = |(name, value): (&String, &Value)| {
            self.policy.iter().any(|(known, kind)| known == name && kind.admits(value))
        };
        if args.iter().all(known) { Ok(()) } else { Err(Status::InvalidArgument) }
    }
}

#[derive(Clone, Debug)]
pub struct Object {
    pub path: String,
    pub methods: &'static [Method],
}

impl Object {
    /// Returns argument types by method and argument, for ubusd.
    #[must_use]
    pub fn signature(&self) -> Map {
        let table = |method: &Method| {
            method
                .policy
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), kind.code().into()))
                .collect::<Map>()
        };
        self.methods.iter().map(|m| (m.name.to_owned(), Value::Object(table(m)))).collect()
    }
}
