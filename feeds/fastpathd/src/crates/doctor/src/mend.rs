// SPDX-License-Identifier: GPL-2.0-or-later
//! One click: a finding's fix, carried out.

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::finding::{Finding, Fix, Step};
use crate::machine::Machine;

/// Why nothing was mended, or not all.
#[derive(Debug, Error)]
pub enum MendError {
    /// The check finds nothing wrong (any more).
    #[error("{0} does not report a problem any more")]
    Nothing(String),
    /// The finding has no fix that one click could do.
    #[error("{0} has no automatic fix; see its remedy")]
    NoFix(String),
    /// A step failed; those before it were done.
    #[error("{step}: {why}")]
    Step {
        /// What was attempted.
        step: String,
        /// What came of it.
        why: String,
    },
    /// The transaction could not be asked for.
    #[error("applying the change: {0}")]
    Change(String),
}

impl MendError {
    /// Its name in the API.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "nothing",
            Self::NoFix(_) => "no-fix",
            Self::Step { .. } | Self::Change(_) => "failed",
        }
    }
}

/// Carries out the fix of `id`'s finding. A change of settings becomes one transaction of
/// `fastpath.change`, in the name of `session`, with `seconds` to confirm.
///
/// # Errors
/// See [`MendError`].
pub fn mend(
    machine: &dyn Machine,
    id: &str,
    finding: Option<&Finding>,
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, MendError> {
    let finding = finding.ok_or_else(|| MendError::Nothing(id.to_owned()))?;
    match &finding.fix {
        None => Err(MendError::NoFix(id.to_owned())),
        Some(Fix::Change(edits)) => change(machine, id, edits, request),
        Some(Fix::Steps(steps)) => {
            let mut said = Vec::new();
            for step in steps {
                said.push(perform(machine, step)?);
            }
            let mut answer = Map::new();
            answer.insert("done".into(), true.into());
            answer.insert("said".into(), said.join("\n").into());
            Ok(answer)
        }
    }
}

/// What of a request goes on to `fastpath.change apply`.
const PASSED_ON: &[&str] = &["seconds", "via", "cut_ok", "ubus_rpc_session"];

fn change(
    machine: &dyn Machine,
    id: &str,
    edits: &[Value],
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, MendError> {
    let mut args = Map::new();
    args.insert("edits".into(), json!(edits));
    args.insert("note".into(), format!("doctor: {id}").into());
    for name in PASSED_ON {
        if let Some(value) = request.get(*name) {
            args.insert((*name).to_owned(), value.clone());
        }
    }
    machine.call("fastpath.change", "apply", &args).map_err(MendError::Change)
}

fn perform(machine: &dyn Machine, step: &Step) -> Result<String, MendError> {
    let (text, outcome) = match step {
        Step::Write { path, text } => {
            let outcome = machine.write(path, text).map_err(|error| error.to_string());
            (format!("writing {text} to {path}"), outcome)
        }
        Step::Run { program, args } => {
            let words: Vec<&str> = args.iter().map(String::as_str).collect();
            let outcome = machine.run(program, &words).map(drop);
            (format!("{program} {}", words.join(" ")), outcome)
        }
        Step::Feature { device, feature, on } => {
            let to = if *on { "on" } else { "off" };
            let outcome = machine.set_feature(device, feature, *on);
            (format!("turning {feature} of {device} {to}"), outcome)
        }
        Step::Call { object, method, args } => {
            let outcome = machine.call(object, method, args).map(drop);
            (format!("calling {object} {method}"), outcome)
        }
    };
    match outcome {
        Ok(()) => Ok(text),
        Err(why) => Err(MendError::Step { step: text, why }),
    }
}

#[cfg(test)]
#[path = "mend_tests.rs"]
mod tests;
