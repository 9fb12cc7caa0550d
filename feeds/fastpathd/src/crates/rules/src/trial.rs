// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs Suricata's test of a rule file, and maps each error in its output to source, file and line.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use launch::Stopped;

use crate::fetch::readable;
use crate::merge::Merged;
use crate::process;
use crate::reason::UpdateReason;

const MAX_FAULTS: usize = 100;
const MAX_OUTPUT: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub part: usize,
    pub file: String,
    /// Line of `file`, from 1.
    pub line: u32,
    /// Suricata's message, such as `unknown rule keyword 'foo'.`
    pub said: String,
}

/// Runs `test` with `{rules}` and `{dir}` replaced by the rule file and a writable folder. Returns
/// the rules that Suricata rejects.
pub(crate) fn trial(
    test: &[String],
    rules: &Path,
    dir: &Path,
    merged: &Merged<'_>,
    time: Duration,
) -> Result<Vec<Fault>, UpdateReason> {
    let fill = |word: &String| {
        word.replace("{rules}", &rules.to_string_lossy()).replace("{dir}", &dir.to_string_lossy())
    };
    let mut arguments = test.iter().map(fill);
    let mut command = Command::new(arguments.next().unwrap_or_default());
    command.args(arguments);
    let mut output = Vec::new();
    let take = |bytes: &[u8]| -> Result<(), Infallible> {
        let capacity = MAX_OUTPUT.saturating_sub(output.len());
        output.extend_from_slice(&bytes[..bytes.len().min(capacity)]);
        Ok(())
    };
    let ended = process::run(&mut command, b"", time, take).map_err(|stopped| {
        let program = command.get_program().to_string_lossy().into_owned();
        match stopped {
            Stopped::Start(error) => UpdateReason::TestStart { program, said: error.to_string() },
            Stopped::Wait(error) => UpdateReason::TestWait { program, said: error.to_string() },
            Stopped::Late => UpdateReason::TestLate { program, seconds: time.as_secs() },
            Stopped::Refused(never) => match never {},
        }
    })?;
    if ended.status.success() {
        return Ok(Vec::new());
    }
    output.extend_from_slice(b"\n");
    output.extend_from_slice(&ended.stderr);
    let said = String::from_utf8_lossy(&output);
    // An interrupted test has not reported all faults.
    let cut = launch::killed(ended.status)
        .or_else(|| launch::no_memory(&said).map(|_| launch::ended(ended.status, &said)));
    let faults = faults(&said, &rules.to_string_lossy(), merged);
    if cut.is_none() && !faults.is_empty() {
        return Ok(faults);
    }
    let last = || said.lines().map(message).rfind(|line| !line.is_empty()).unwrap_or_default();
    let said = cut.unwrap_or_else(|| launch::ended(ended.status, &readable(last())));
    Err(UpdateReason::TestFailed { said: readable(&said) })
}

/// Finds lines with a position in the rule file. Suricata prints the cause on the preceding line.
fn faults(said: &str, rules: &str, merged: &Merged<'_>) -> Vec<Fault> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut cause = String::new();
    for line in said.lines() {
        let Some(at) = place(line, rules) else {
            if !message(line).is_empty() {
                cause = readable(message(line));
            }
            continue;
        };
        let why = std::mem::take(&mut cause);
        let why = if why.is_empty() { readable(message(line)) } else { why };
        let Some(source) = merged.source(at) else { continue };
        if seen.insert(at) && found.len() < MAX_FAULTS {
            let file = source.file.to_string();
            found.push(Fault { part: source.part, file, line: source.line, said: why });
        }
    }
    found
}

/// Returns the N of `… from file RULES at line N`. Uses the last match, because the source controls
/// the signature text before it.
fn place(line: &str, rules: &str) -> Option<usize> {
    let (_, after) = line.rsplit_once(" from file ")?;
    let number = after.strip_prefix(rules)?.strip_prefix(" at line ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the message of a log line without level and module: `E: detect-parse: text` or `[9 -
/// Suricata-Main] 2026-… Error: detect-parse: text`.
fn message(line: &str) -> &str {
    const LEVELS: [&str; 8] =
        ["E: ", "W: ", "i: ", "Notice: ", "Error: ", "Warning: ", "Info: ", "Perf: "];
    let short = LEVELS.iter().find_map(|level| line.strip_prefix(level));
    let long = || {
        let starts = LEVELS[3..].iter().filter_map(|level| Some((line.find(level)?, level.len())));
        starts.min().map(|(at, length)| &line[at + length..])
    };
    let message = short.or_else(long).unwrap_or(line).trim();
    match message.split_once(": ") {
        Some((module, text)) if !module.contains(' ') => text,
        _ => message,
    }
}

#[cfg(test)]
mod tests;
