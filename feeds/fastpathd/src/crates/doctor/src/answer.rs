// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods `run`, `last`, `fix`, `pmtu` and `ppe` of `fastpath.doctor`.

use std::time::Duration;

use plugin::{CallReason, Origin, Refusal};
use serde_json::{Map, Value};

use crate::audience::Audience;
use crate::checks::CHECKS;
use crate::fix::fix;
use crate::kept::{FILE, StoredReport};
use crate::machine::Machine;
use crate::pmtu::measure;
use crate::ppe_entries::find;
use crate::report::run;
use crate::texts::Texts;

/// Default time between two readings of a counter.
const DEFAULT_SAMPLE: Duration = Duration::from_secs(1);
/// Maximum time between two readings. rpcd kills a program after 30 s.
const MAX_SAMPLE: Duration = Duration::from_secs(10);

pub(crate) fn answer(
    machine: &dyn Machine,
    method: &str,
    args: &Map<String, Value>,
    origin: Origin,
) -> Result<Map<String, Value>, Refusal> {
    match method {
        "last" => {
            let audience = Audience::of(machine, args, Audience::without_session(origin));
            Ok(StoredReport::load(machine)?.answer(machine, audience))
        }
        "run" => run_checks(machine, args, Audience::without_session(origin)),
        "fix" => apply_fix(machine, args),
        "pmtu" => {
            let target = args.get("target").and_then(Value::as_str).unwrap_or_default();
            Ok(measure(machine, target)?)
        }
        "ppe" => find(machine, args),
        _ => {
            let (object, method) = (crate::OBJECT.name, method.escape_debug().to_string());
            Err(Refusal::new("method", CallReason::Method { object, method }))
        }
    }
}

fn invalid(reason: CallReason) -> Refusal {
    Refusal::new("argument", reason)
}

fn wrong_type(argument: &str, kind: &'static str) -> Refusal {
    invalid(CallReason::Type { argument: argument.to_owned(), kind })
}

fn run_checks(
    machine: &dyn Machine,
    args: &Map<String, Value>,
    without_session: Audience,
) -> Result<Map<String, Value>, Refusal> {
    let only = named(args)?;
    let sample = sample(args)?;
    let at_ms = machine.now_ms();
    let audience = Audience::of(machine, args, without_session);
    // A background run gathers all findings for the stored report. The answer omits private ones.
    let own = is_background(args)? && !args.contains_key(plugin::SESSION);
    let gathered = if own { Audience::Writer } else { audience };
    let report = run(machine, only.as_deref(), sample, gathered);
    let findings = report.findings(&Texts::english());
    let kept = StoredReport { at_ms, took_ms: machine.now_ms().saturating_sub(at_ms), findings };
    // Do not store a run without a sample, in which some checks have no result.
    if only.is_none() && !sample.is_zero() {
        let saved = kept.clone().save(machine, gathered);
        let failed = |error: std::io::Error| {
            let (path, said) = (FILE.to_owned(), error.to_string());
            Refusal::new("failed", CallReason::File { what: "writing", path, said })
        };
        // A full file system fails only a background run.
        saved.map_err(failed).or_else(|refusal| if own { Err(refusal) } else { Ok(()) })?;
    }
    Ok(kept.answer(machine, audience))
}

pub(crate) fn is_background(args: &Map<String, Value>) -> Result<bool, Refusal> {
    match args.get("background") {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| wrong_type("background", "boolean")),
    }
}

fn apply_fix(
    machine: &dyn Machine,
    args: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let id = args.get("id").and_then(Value::as_str).unwrap_or_default();
    if !is_check(id) {
        return Err(invalid(CallReason::value("id", id)));
    }
    // Without a session, ubusd admits only root to `fix`.
    let audience = Audience::of(machine, args, Audience::Writer);
    let report = run(machine, Some(&[id.to_owned()]), sample(args)?, audience);
    fix(machine, id, report.finding(id), args)
}

fn is_check(id: &str) -> bool {
    CHECKS.iter().flat_map(|group| *group).any(|check| check.id == id)
}

/// Returns the ids of the requested checks. `None` requests all checks.
fn named(args: &Map<String, Value>) -> Result<Option<Vec<String>>, Refusal> {
    let list = match args.get("checks") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(wrong_type("checks", "list")),
    };
    let ids: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match ids.iter().find(|id| !is_check(id)) {
        Some(id) => Err(invalid(CallReason::value("checks", id))),
        None => Ok(Some(ids).filter(|ids| !ids.is_empty())),
    }
}

fn sample(args: &Map<String, Value>) -> Result<Duration, Refusal> {
    match args.get("sample_ms") {
        None | Some(Value::Null) => Ok(DEFAULT_SAMPLE),
        Some(value) => {
            let ms = value.as_u64().ok_or_else(|| wrong_type("sample_ms", "number from 0"))?;
            let sample = Duration::from_millis(ms);
            let valid = (sample <= MAX_SAMPLE).then_some(sample);
            valid.ok_or_else(|| invalid(CallReason::value("sample_ms", &ms.to_string())))
        }
    }
}

#[cfg(test)]
mod tests;
