// SPDX-License-Identifier: GPL-2.0-or-later
//! An object that a program registers on ubus: its methods, the types of their arguments, and which
//! JSON values fit a type.

use serde_json::Value;

use crate::{Map, Status};

/// Type of one argument of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are blobmsg's own")]
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
    /// The number of the type in a signature.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether an argument may have this value. A whole number fits every wider number, because a
    /// JSON caller has no say in the width its number gets on the wire.
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

/// A method of a published object and the arguments it takes.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Name of the method.
    pub name: &'static str,
    /// Every argument it knows. uhttpd adds `ubus_rpc_session` (a string) to every call: a method
    /// that does not list it cannot be called from the web.
    pub policy: &'static [Argument],
}

impl Method {
    /// Checks the arguments: each one known and of its type. All are optional.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`], as an object behind libubus answers.
    pub fn check(&self, args: &Map) -> Result<(), Status> {
        let known = |(name, value): (&String, &Value)| {
            self.policy.iter().any(|(known, kind)| known == name && kind.admits(value))
        };
        if args.iter().all(known) { Ok(()) } else { Err(Status::InvalidArgument) }
    }
}

/// An object to publish.
#[derive(Clone, Debug)]
pub struct Object {
    /// Path under which callers find it, such as `fastpath`.
    pub path: String,
    /// Its methods.
    pub methods: &'static [Method],
}

impl Object {
    /// The method table as ubusd shows it to callers: argument types by method and name.
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
