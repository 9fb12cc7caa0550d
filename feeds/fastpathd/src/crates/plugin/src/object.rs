// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods of an object with the types of their arguments, and the description that rpcd gets for
//! `list`.

use std::pin::Pin;

use serde_json::{Value, json};

use crate::call::{Call, Refusal, SESSION};
use crate::map::Map;

/// A method at work.
pub type Answer = Pin<Box<dyn Future<Output = Result<Map, Refusal>>>>;

/// Type of an argument. rpcd takes a value's type for the argument's, and of a number the value
/// for its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON's own")]
pub enum Sample {
    Text,
    /// 32 bits.
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

/// A method, its arguments (all optional; the session is added) and the function that answers it.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Names and types.
    pub args: &'static [(&'static str, Sample)],
    /// Begins the work.
    pub run: fn(Call) -> Answer,
}

impl Method {
    /// Whether it has an argument of this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        name == SESSION || self.args.iter().any(|(arg, _)| *arg == name)
    }
}

/// A method: its name, the function that answers it, and names and types of its arguments.
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

/// An object on the bus.
pub struct Object {
    /// Its name, which is the name of the file that rpcd runs.
    pub name: &'static str,
    /// Its methods.
    pub methods: &'static [Method],
}

impl Object {
    /// The description that rpcd expects: sample arguments by method and name.
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
    fn every_method_takes_the_session() {
        let expected = json!({"make": {"size": 32, "parts": [], "ubus_rpc_session": ""}});
        assert_eq!(Value::Object(OBJECT.signature()), expected);
    }

    #[test]
    fn only_its_own_methods_are_found() {
        assert!(OBJECT.method("make").is_some());
        assert!(OBJECT.method("break").is_none());
    }
}
