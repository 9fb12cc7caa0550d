// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries out a finding's fix: edits as a change with rollback, or its steps one by one, and the
//! refusals. Which fix a finding has is decided by its check.

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::finding::{Finding, Fix, Step};
use crate::machine::Machine;

/// Why a fix failed, or failed in part.
#[derive(Debug, Error)]
pub(crate) enum FixError {
    /// The check finds nothing wrong (any more).
    #[error("{0} does not report a problem any more")]
    Nothing(String),
    /// The finding has no fix that one click could do.
    #[error("{0} has no automatic fix; see its remedy")]
    NoFix(String),
    /// A step failed; those before it were done.
    #[error("{step}: {why}")]
    Step {
        /// The attempted step.
        step: String,
        /// The error.
        why: String,
    },
    /// The transaction could not be asked for.
    #[error("applying the change: {0}")]
    Change(String),
}

impl FixError {
    /// Its name in the API.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "nothing",
            Self::NoFix(_) => "no-fix",
            Self::Step { .. } | Self::Change(_) => "failed",
        }
    }
}

/// Carries out the fix of `id`'s finding. A change of settings becomes one transaction of
/// `fastpath.change`, in the name of `session`, with `seconds` to confirm.
pub(crate) fn fix(
    machine: &dyn Machine,
    id: &str,
    finding: Option<&Finding>,
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, FixError> {
    let finding = finding.ok_or_else(|| FixError::Nothing(id.to_owned()))?;
    match &finding.fix {
        None => Err(FixError::NoFix(id.to_owned())),
        Some(Fix::Change(edits)) => change(machine, id, edits, request),
        Some(Fix::Steps(steps)) => {
            let mut said = Vec::new();
            for step in steps {
                said.push(perform(machine, step)?);
            }
            Ok(plugin::map([("done", true.into()), ("said", said.join("\n").into())]))
        }
    }
}

/// The arguments passed on to `fastpath.change apply`.
const PASSED_ON: &[&str] = &["seconds", "via", "cut_ok", "ubus_rpc_session"];

fn change(
    machine: &dyn Machine,
    id: &str,
    edits: &[Value],
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, FixError> {
    let mut args = plugin::map([("edits", json!(edits)), ("note", format!("doctor: {id}").into())]);
    for name in PASSED_ON {
        if let Some(value) = request.get(*name) {
            args.insert((*name).to_owned(), value.clone());
        }
    }
    machine.call("fastpath.change", "apply", &args).map_err(FixError::Change)
}

fn perform(machine: &dyn Machine, step: &Step) -> Result<String, FixError> {
    let (text, outcome) = match step {
        Step::Write { path, text } => {
            let outcome = machine.write(path, text).map_err(|error| error.to_string());
            (format!("writing {text} to {path}"), outcome)
        }
        Step::Run { program, args } => {
            let arguments: Vec<&str> = args.iter().map(String::as_str).collect();
            let outcome = machine.run(program, &arguments).map(drop);
            (format!("{program} {}", arguments.join(" ")), outcome)
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
        Err(why) => Err(FixError::Step { step: text, why }),
    }
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
