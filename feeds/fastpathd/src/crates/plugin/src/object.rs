// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects, methods and argument types, and the description of an object for rpcd's `list`.

use std::pin::Pin;

use serde_json::{Value, json};

use crate::call::{Call, Refusal, SESSION};
use crate::map::Map;

pub type Answer = Pin<Box<dyn Future<Output = Result<Map, Refusal>>>>;

/// Type of an argument. rpcd derives the type from a sample value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Text,
    /// A 32-bit number. rpcd reads the width from the sample value.
    Number,
    Flag,
    List,
    Table,
}

impl Sample {
    fn value(self) -> Value {
        match self {
            Sample::Text => json!(""),
            Sample::Number => json!(32),
            Sample::Flag => json!(true),
            Sample::List => json!([]),
            Sample::Table => json!({}),
        }
    }
}

/// A method and its arguments, which are all optional. Each method also accepts the session.
pub struct Method {
    pub name: &'static str,
    pub args: &'static [(&'static str, Sample)],
    pub run: fn(Call) -> Answer,
}

impl Method {
    pub(crate) fn takes(&self, name: &str) -> bool {
        name == SESSION || self.args.iter().any(|(arg, _)| *arg == name)
    }
}

/// Builds a [`Method`] from its name, function and arguments.
#[macro_export]
macro_rules! method {
    ($name:literal, $run:path $(, $arg:literal: $sample:ident)*) => {
        $crate::Method {
            name: $name,
            args: &[$(($arg, $crate::Sample::$sample)),*],
            run: |call| Box::pin(async move { $run(&call).await }),
        }
    };
}

pub struct Object {
    /// Name of the object and of the file that rpcd runs.
    pub name: &'static str,
    pub methods: &'static [Method],
}

impl Object {
    /// Returns sample arguments by method and name, in the form that rpcd expects.
    #[must_use]
    pub fn signature(&self) -> Map {
        let table = |method: &Method| {
            let mut args: Map =
                method.args.iter().map(|(name, of)| ((*name).to_owned(), of.value())).collect();
            args.insert(SESSION.to_owned(), Sample::Text.value());
            (method.name.to_owned(), Value::Object(args))
        };
        self.methods.iter().map(table).collect()
    }

    pub(crate) fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|method| method.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: Object = Object {
        name: "thing",
        methods: &[Method {
            name: "make",
            args: &[("size", Sample::Number), ("parts", Sample::List)],
            run: |_| Box::pin(async { Ok(Map::new()) }),
        }],
    };

    #[test]
    fn every_method_accepts_the_session() {
        let expected = json!({"make": {"size": 32, "parts": [], "ubus_rpc_session": ""}});
        assert_eq!(Value::Object(OBJECT.signature()), expected);
    }

    #[test]
    fn finds_only_methods_of_the_object() {
        assert!(OBJECT.method("make").is_some());
        assert!(OBJECT.method("break").is_none());
    }
}
