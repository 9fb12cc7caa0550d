// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods `run`, `fix` and `pmtu` of `fastpath.doctor`: arguments, refusals, and the time between
//! two readings of a counter (default and limit).

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::audience::Audience;
use crate::checks::CHECKS;
use crate::fix::fix;
use crate::machine::Machine;
use crate::pmtu::measure;
use crate::report::run;
use crate::texts::Texts;

/// Time between two readings of a counter, unless the caller says otherwise.
const SAMPLE: Duration = Duration::from_secs(1);
/// As long as a caller may make it wait: rpcd ends a plugin after 120 s.
const LONGEST_SAMPLE: Duration = Duration::from_secs(10);

/// Answers a call. A refusal is an answer too, with `error`: `code` and `text`.
pub(crate) fn answer(machine: &dyn Machine, method: &str, args: &Map<String, Value>) -> Value {
    let answered = match method {
        "run" => ran(machine, args),
        "fix" => fixed(machine, args),
        "pmtu" => {
            let target = args.get("target").and_then(Value::as_str).unwrap_or_default();
            measure(machine, target).map_err(|error| refusal(error.code(), &error.to_string()))
        }
        _ => Err(refusal("method", &format!("unknown method {method} of fastpath.doctor"))),
    };
    answered.map_or_else(|refusal| refusal, Value::Object)
}

fn refusal(code: &str, text: &str) -> Value {
    json!({"error": {"code": code, "text": text}})
}

fn invalid(name: &str, what: &str) -> Value {
    refusal("invalid", &format!("argument '{name}' {what}"))
}

fn ran(machine: &dyn Machine, args: &Map<String, Value>) -> Result<Map<String, Value>, Value> {
    let only = named(args)?;
    let sample = sample(args)?;
    let began = machine.now_ms();
    let audience = Audience::of(machine, args);
    let mut answer = run(machine, only.as_deref(), sample, audience).answer(&Texts::english());
    answer.insert("at_ms".into(), began.into());
    answer.insert("took_ms".into(), machine.now_ms().saturating_sub(began).into());
    Ok(answer)
}

fn fixed(machine: &dyn Machine, args: &Map<String, Value>) -> Result<Map<String, Value>, Value> {
    let id = args.get("id").and_then(Value::as_str).unwrap_or_default();
    if !is_check(id) {
        return Err(invalid("id", "is not a known check; run lists all checks"));
    }
    let audience = Audience::of(machine, args);
    let report = run(machine, Some(&[id.to_owned()]), sample(args)?, audience);
    fix(machine, id, report.finding(id), args)
        .map_err(|error| refusal(error.code(), &error.to_string()))
}

fn is_check(id: &str) -> bool {
    CHECKS.iter().flat_map(|group| *group).any(|check| check.id == id)
}

/// The checks asked for; none: all. An empty list is all as well, since forms send such.
fn named(args: &Map<String, Value>) -> Result<Option<Vec<String>>, Value> {
    let list = match args.get("checks") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(invalid("checks", "is not a list")),
    };
    let ids: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match ids.iter().find(|id| !is_check(id)) {
        Some(id) => {
            Err(invalid("checks", &format!("contains the unknown check '{}'", id.escape_debug())))
        }
        None => Ok(Some(ids).filter(|ids| !ids.is_empty())),
    }
}

fn sample(args: &Map<String, Value>) -> Result<Duration, Value> {
    match args.get("sample_ms") {
        None | Some(Value::Null) => Ok(SAMPLE),
        Some(value) => value
            .as_u64()
            .map(|ms| Duration::from_millis(ms).min(LONGEST_SAMPLE))
            .ok_or_else(|| invalid("sample_ms", "is not a number of milliseconds")),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
