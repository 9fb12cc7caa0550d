// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::Value;

use super::{CommandError, nonsense};
use crate::health::RuleCounts;
use crate::text::bounded;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRule {
    pub file: String,
    /// Line in the file. 0 if unknown.
    pub line: u64,
    /// At most 256 bytes.
    pub rule: String,
    pub error: String,
}

/// Returns the message of an answer.
pub fn read_answer(command: &'static str, line: &[u8]) -> Result<Value, CommandError> {
    let answer = serde_json::from_slice(line);
    let Ok(Value::Object(mut answer)) = answer else {
        return Err(nonsense(command, "is not a JSON object"));
    };
    let message = answer.remove("message").unwrap_or_default();
    match answer.get("return").and_then(Value::as_str) {
        Some("OK") => Ok(message),
        Some("NOK") => {
            let text = match message {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Err(CommandError::Refused { command, message: bounded(text, 256) })
        }
        _ => Err(nonsense(command, "says neither OK nor NOK")),
    }
}

/// Parses an answer to `ruleset-stats` and sums the entries of all tenants.
#[must_use]
pub fn read_rules(message: &Value) -> Option<RuleCounts> {
    let mut rules = RuleCounts::default();
    for engine in message.as_array()? {
        let number = |name| engine.get(name)?.as_u64();
        rules.loaded = rules.loaded.saturating_add(number("rules_loaded")?);
        rules.failed = rules.failed.saturating_add(number("rules_failed")?);
    }
    Some(rules)
}

#[must_use]
pub fn read_failed_rules(message: &Value) -> Option<Vec<FailedRule>> {
    const MAX: usize = 32;
    let text = |rule: &Value, name: &str| {
        let text = rule.get(name).and_then(Value::as_str).unwrap_or_default();
        bounded(text.to_owned(), 256)
    };
    let rules = message.as_array()?.iter().take(MAX).map(|rule| FailedRule {
        file: text(rule, "filename"),
        line: rule.get("line").and_then(Value::as_u64).unwrap_or_default(),
        rule: text(rule, "rule"),
        error: text(rule, "error"),
    });
    Some(rules.collect())
}
