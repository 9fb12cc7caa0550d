// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons for refusals that are common to all objects.

config::coded! {
    /// Reason for a refusal. `said` is a message of another program or of the operating system.
    pub enum CallReason {
        Bus { said: String } = "bus", "{said}";
        File { what: &'static str, path: String, said: String } = "file", "{what} {path}: {said}";
        Start { said: String } = "start", "starting: {said}";
        Method { object: &'static str, method: String } = "method",
            "{object} has no method '{method}'";
        NotJson { said: String } = "not-json", "the arguments are not JSON: {said}";
        NotObject = "not-an-object", "the arguments are not a JSON object";
        Missing { argument: &'static str } = "argument-missing",
            "the argument '{argument}' is missing";
        Unknown { argument: String } = "argument-unknown",
            "there is no argument '{argument}'";
        Type { argument: String, kind: &'static str } = "argument-type",
            "the argument '{argument}' is not a {kind}";
        Value { argument: &'static str, value: String } = "argument-value",
            "the argument '{argument}' has the invalid value '{value}'";
    }
}

impl CallReason {
    /// Reports an invalid value of an argument. Escapes the value for logs.
    #[must_use]
    pub fn value(argument: &'static str, value: &str) -> Self {
        Self::Value { argument, value: value.escape_debug().to_string() }
    }
}
