// SPDX-License-Identifier: GPL-2.0-or-later
//! Arguments of a call by type, the caller's session, and the form of a refusal: an object `error`
//! with `code`, `text` and `cause`.

use config::Cause;
use serde_json::{Value, json};

use crate::bus::{Bus, BusError};
use crate::map::Map;
use crate::reason::CallReason;

/// The argument that uhttpd adds to each call: the caller's session.
pub const SESSION: &str = "ubus_rpc_session";

/// How a call without a session reached this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From rpcd, for any user whom ubusd lets call the method. ubusd passes the name of that user
    /// on to rpcd, and rpcd not to its programs.
    Bus,
    /// The arguments are on the command line: the caller is this process's own user.
    CommandLine,
}

/// A call of a method. Reading an argument of a wrong type is refused as `argument`.
pub struct Call {
    args: Map,
    /// The caller of a request without a session.
    pub origin: Origin,
    /// The connection to other objects; made at the first use.
    pub bus: Bus,
}

/// Why a call is refused; `{"error": {"code": …, "text": …, "cause": …}}` on the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// A stable name of the kind of refusal, for programs.
    pub code: &'static str,
    /// The reason with its own code, for people: the operation, its object, the remedy.
    pub cause: Box<Cause>,
    /// Further fields of `error`.
    pub more: Map,
}

impl Refusal {
    /// A refusal without further fields.
    #[must_use]
    pub fn new(code: &'static str, cause: impl Into<Cause>) -> Self {
        Self { code, cause: Box::new(cause.into()), more: Map::new() }
    }

    /// With one more field.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.more.insert(field.to_owned(), value);
        self
    }

    /// As it is answered.
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
    /// A call with these arguments, from rpcd.
    #[must_use]
    pub fn new(args: Map, bus: Bus) -> Self {
        Self { args, origin: Origin::Bus, bus }
    }

    /// The caller's session; none if somebody on the router itself calls. Unless ubusd lets only
    /// root call the method, [`Call::origin`] says whether the caller is known.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.args.get(SESSION).and_then(Value::as_str)
    }

    /// An argument, unchanged; null is the same as none.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// # Errors
    /// The argument has another type.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        self.typed(name, "string", Value::as_str)
    }

    /// A number from 0.
    ///
    /// # Errors
    /// The argument has another type.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.typed(name, "number from 0", Value::as_u64)
    }

    /// A number in a range.
    ///
    /// # Errors
    /// The argument has another type, or is not in the range.
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

    /// A switch; false unless given.
    ///
    /// # Errors
    /// The argument has another type.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.typed(name, "boolean", Value::as_bool)?.unwrap_or(false))
    }

    /// A list.
    ///
    /// # Errors
    /// The argument has another type.
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
    fn arguments_have_types() {
        let call = call(json!({"name": "x", "size": -1, "deep": true, "none": null}));
        assert_eq!(call.text("name"), Ok(Some("x")));
        assert_eq!(call.text("none"), Ok(None));
        assert_eq!(call.flag("deep"), Ok(true));
        assert_eq!(call.flag("absent"), Ok(false));
        let error = call.number("size").err();
        assert_eq!(error.as_ref().map(|refusal| refusal.code), Some("argument"));
        assert_eq!(error.map(|r| r.more["argument"].clone()), Some(json!("size")));
    }

    /// Without a session it would be root on the router itself.
    #[test]
    fn a_session_that_is_none_is_no_call_of_the_router_itself() {
        assert_eq!(call(json!({})).session(), None);
        for id in ["", "0", "00000000000000000000000000000000"] {
            assert_eq!(call(json!({SESSION: id})).session(), Some(id));
        }
    }

    #[test]
    fn a_refusal_is_an_answer() {
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
