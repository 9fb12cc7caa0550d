// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies fixes: a change with rollback, or steps in order.

use config::Cause;
use plugin::{CallReason, Refusal};
use serde_json::{Map, Value, json};

use crate::finding::{Finding, Fix, Step};
use crate::machine::Machine;
use crate::reason::DoctorReason;

/// Applies the fix of a finding. Edits become one change with the session and the confirmation time
/// of `request`.
pub(crate) fn fix(
    machine: &dyn Machine,
    id: &str,
    finding: Option<&Finding>,
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let check = id.to_owned();
    let Some(finding) = finding else { return Err(DoctorReason::Nothing { check }.into()) };
    match &finding.fix {
        None => Err(DoctorReason::NoFix { check }.into()),
        Some(Fix::Change(edits)) => change(machine, id, edits, request),
        Some(Fix::Steps(steps)) => {
            let mut done = Vec::new();
            for step in steps {
                done.push(perform(machine, step)?);
            }
            let said: Vec<&str> = done.iter().map(|step| &*step.text).collect();
            let said = said.join("\n").into();
            Ok(plugin::map([("done", true.into()), ("said", said), ("steps", json!(done))]))
        }
    }
}

/// Arguments that are forwarded to `fastpath.change apply`.
const FORWARDED: &[&str] = &["seconds", "via", "cut_ok", "ubus_rpc_session"];

fn change(
    machine: &dyn Machine,
    id: &str,
    edits: &[Value],
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let mut args = plugin::map([("edits", json!(edits)), ("note", format!("doctor: {id}").into())]);
    for name in FORWARDED {
        if let Some(value) = request.get(*name) {
            args.insert((*name).to_owned(), value.clone());
        }
    }
    let answer = machine.call("fastpath.change", "apply", &args);
    answer.map_err(|said| Refusal::new("failed", CallReason::Bus { said }))
}

fn perform(machine: &dyn Machine, step: &Step) -> Result<Cause, Refusal> {
    let (reason, outcome) = match step {
        Step::Write { path, text } => {
            let outcome = machine.write(path, text).map_err(|error| error.to_string());
            (DoctorReason::Write { text: text.clone(), path: path.clone() }, outcome)
        }
        Step::Run { program, args } => {
            let arguments: Vec<&str> = args.iter().map(String::as_str).collect();
            let outcome = machine.run(program, &arguments).map(drop);
            (DoctorReason::Run { program, args: arguments.join(" ") }, outcome)
        }
        Step::Feature { device, feature, on } => {
            let outcome = machine.set_feature(device, feature, *on);
            let device = device.clone();
            let reason = if *on {
                DoctorReason::On { feature, device }
            } else {
                DoctorReason::Off { feature, device }
            };
            (reason, outcome)
        }
        Step::Call { object, method, args } => {
            let outcome = machine.call(object, method, args).map(drop);
            (DoctorReason::Call { object, method }, outcome)
        }
    };
    let done = reason.cause();
    match outcome {
        Ok(()) => Ok(done),
        Err(said) => {
            let failed = DoctorReason::Failed { step: done.text.clone(), said };
            Err(Refusal::new("failed", failed.cause().around(done)))
        }
    }
}

#[cfg(test)]
mod tests;
