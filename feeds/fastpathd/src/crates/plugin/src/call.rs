// SPDX-License-Identifier: GPL-2.0-or-later
//! Typed arguments of a call, the caller's session, and refusals.

use config::Cause;
use serde_json::{Value, json};

use crate::bus::{Bus, BusError};
use crate::map::Map;
use crate::reason::CallReason;

/// Argument with the caller's session, which uhttpd adds to each call.
pub const SESSION: &str = "ubus_rpc_session";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Called through rpcd, by any user that ubusd permits. rpcd does not forward the user's name.
    Bus,
    /// Called on the command line, by the user of this process.
    CommandLine,
}

/// A call of a method. Getters refuse an argument of another type with code `argument`.
pub struct Call {
    args: Map,
    pub origin: Origin,
    pub bus: Bus,
}

/// Refusal of a call: `{"error": {"code": …, "text": …, "cause": …}}` on the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Stable kind of the refusal, for programs.
    pub code: &'static str,
    /// The reason with its own code, for people.
    pub cause: Box<Cause>,
    pub more: Map,
}

impl Refusal {
    #[must_use]
    pub fn new(code: &'static str, cause: impl Into<Cause>) -> Self {
        Self { code, cause: Box::new(cause.into()), more: Map::new() }
    }

    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.more.insert(field.to_owned(), value);
        self
    }

    #[must_use]
    pub fn answer(self) -> Map {
        let mut error = self.more;
        error.insert("code".to_owned(), self.code.into());
        error.insert("cause".to_owned(), json!(self.cause));
        error.insert("text".to_owned(), self.cause.text.into());
        crate::map([("error", Value::Object(error))])
    }
}

impl From<BusError> for Refusal {
    fn from(error: BusError) -> Self {
        Refusal::new("bus", CallReason::Bus { said: error.to_string() })
    }
}

impl Call {
    #[must_use]
    pub fn new(args: Map, bus: Bus) -> Self {
        Self { args, origin: Origin::Bus, bus }
    }

    /// Returns the caller's session. `None` for a caller on the router, see [`Call::origin`].
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.args.get(SESSION).and_then(Value::as_str)
    }

    /// Returns an argument. A null counts as missing.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        self.typed(name, "string", Value::as_str)
    }

    /// Returns a non-negative integer argument.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.typed(name, "number from 0", Value::as_u64)
    }

    pub fn number_in(
        &self,
        name: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, Refusal> {
        let number = self.number(name)?;
        match number.filter(|number| !range.contains(number)) {
            None => Ok(number),
            Some(other) => {
                let reason = CallReason::value(name, &other.to_string());
                Err(Refusal::new("argument", reason).with("argument", json!(name)))
            }
        }
    }

    /// Returns a boolean argument. A missing argument is false.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.typed(name, "boolean", Value::as_bool)?.unwrap_or(false))
    }

    pub fn list(&self, name: &str) -> Result<Option<&Vec<Value>>, Refusal> {
        self.typed(name, "list", Value::as_array)
    }

    fn typed<'a, T>(
        &'a self,
        name: &str,
        kind: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.value(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| {
            let reason = CallReason::Type { argument: name.to_owned(), kind };
            Refusal::new("argument", reason).with("argument", json!(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: Value) -> Call {
        let Value::Object(args) = args else { unreachable!() };
        Call::new(args, Bus::default())
    }

    #[test]
    fn arguments_are_read_by_type() {
        let call = call(json!({"name": "x", "size": -1, "deep": true, "none": null}));
        assert_eq!(call.text("name"), Ok(Some("x")));
        assert_eq!(call.text("none"), Ok(None));
        assert_eq!(call.flag("deep"), Ok(true));
        assert_eq!(call.flag("absent"), Ok(false));
        let error = call.number("size").err();
        assert_eq!(error.as_ref().map(|refusal| refusal.code), Some("argument"));
        assert_eq!(error.map(|r| r.more["argument"].clone()), Some(json!("size")));
    }

    // A call without a session acts as root.
    #[test]
    fn an_invalid_session_does_not_count_as_missing() {
        assert_eq!(call(json!({})).session(), None);
        for id in ["", "0", "00000000000000000000000000000000"] {
            assert_eq!(call(json!({SESSION: id})).session(), Some(id));
        }
    }

    #[test]
    fn converts_a_refusal_to_an_answer() {
        let reason = CallReason::Missing { argument: "id" };
        let refusal = Refusal::new("argument", reason).with("user", json!("ann"));
        let cause = json!({"code": "argument-missing", "params": {"argument": "id"}});
        let text = "the argument 'id' is missing";
        let expected = json!({
            "error": {"code": "argument", "text": text, "cause": cause, "user": "ann"},
        });
        assert_eq!(Value::Object(refusal.answer()), expected);
    }
}
