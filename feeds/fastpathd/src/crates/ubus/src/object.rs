// SPDX-License-Identifier: GPL-2.0-or-later
//! Published objects: methods, argument types, and which JSON values fit a type.

use serde_json::Value;

use crate::{Map, Status};

/// Type of an argument.
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
    /// Returns the number of the type in a signature.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns whether an argument may have this value. An integer fits every wider type, since
    /// JSON callers cannot choose its width on the wire.
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

/// Name and type of an argument.
pub type Argument = (&'static str, PolicyType);

#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub name: &'static str,
    /// All accepted arguments. uhttpd adds the string `ubus_rpc_session` to every call, so web
    /// clients can call only methods that list it.
    pub policy: &'static [Argument],
}

impl Method {
    /// Checks that each argument is known and has its type. All arguments are optional.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`], like an object of libubus.
    pub fn check(&self, args: &Map) -> Result<(), Status> {
        let known = |(name, value): (&String, &Value)| {
            self.policy.iter().any(|(known, kind)| known == name && kind.admits(value))
        };
        if args.iter().all(known) { Ok(()) } else { Err(Status::InvalidArgument) }
    }
}

#[derive(Clone, Debug)]
pub struct Object {
    /// Path of the object, such as `fastpath`.
    pub path: String,
    pub methods: &'static [Method],
}

impl Object {
    /// Returns the method table for ubusd: argument types by method and name.
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
