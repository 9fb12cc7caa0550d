// SPDX-License-Identifier: GPL-2.0-or-later
//! The program `fastpath-rules` with its commands `update`, `serve`, `rollback` and `status`.
//! Progress and results are lines of JSON.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{Fetcher, Progress, Request, State, Store, UpdateContext, UpdateOutcome, UpdateReason};

const USAGE: &str = "usage: fastpath-rules update < REQUEST.json
       fastpath-rules serve SOCKET STORE RULES
       fastpath-rules rollback [STORE]
       fastpath-rules status [STORE]
STORE is a folder, /var/lib/fastpath/rules by default. RULES is the file of rules that an empty
STORE begins with.";

const STORE: &str = "/var/lib/fastpath/rules";
/// Maximum size of a request in bytes, far beyond requests with many sources.
const MAX_REQUEST: u64 = 4 * 1024 * 1024;

/// Runs the program; `args` begins with its name.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter().skip(1);
    let verb = args.next().unwrap_or_default();
    if verb == "serve" {
        return serve(&args.map(PathBuf::from).collect::<Vec<_>>());
    }
    let store = args.next().map_or_else(|| PathBuf::from(STORE), PathBuf::from);
    let done = match verb.to_str() {
        Some("update") => update(),
        Some("rollback") => rollback(&store),
        Some("status") => Ok(report(&crate::state(&store), "status")),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(4);
        }
    };
    match done {
        Ok(code) => code,
        Err(reason) => {
            print_json(&json!({
                "event": "result", "outcome": "failed",
                "message": reason.to_string(), "cause": reason.cause(),
            }));
            ExitCode::from(4)
        }
    }
}

fn update() -> Result<ExitCode, UpdateReason> {
    let refused = |error: &dyn Error| UpdateReason::Request { said: error.to_string() };
    let mut text = String::new();
    let read = io::stdin().take(MAX_REQUEST).read_to_string(&mut text);
    read.map_err(|error| refused(&error))?;
    let request = Request::parse(&text).map_err(|error| refused(&error))?;
    let store = match take(&request.store) {
        Ok(Some(store)) => store,
        Ok(None) => return Ok(busy(&request.store)),
        Err(reason) => return Ok(lock_failed(&request.store, &reason)),
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let fetcher = Fetcher::find(&path, Duration::from_secs(request.download_seconds));
    let mut context = UpdateContext {
        store: &store,
        fetcher: fetcher.as_ref(),
        now_ms: now_ms(),
        progress: &mut |Progress { source, step }| {
            print_json(&json!({"event": "progress", "source": source, "step": step}));
        },
    };
    let state = crate::update(&request, &mut context);
    Ok(report(&state, "result"))
}

fn serve(arguments: &[PathBuf]) -> ExitCode {
    let [socket, store, own] = arguments else {
        eprintln!("{USAGE}");
        return ExitCode::from(4);
    };
    match crate::serve::serve(socket, store, own) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fastpath-rules: {}: {error}", socket.display());
            ExitCode::from(4)
        }
    }
}

fn rollback(root: &Path) -> Result<ExitCode, UpdateReason> {
    let Some(store) = take(root)? else { return Ok(busy(root)) };
    let state = crate::restore(&store, root, now_ms())?;
    Ok(report(&state, "result"))
}

/// Locks the store; `None` if another process holds the lock.
fn take(root: &Path) -> Result<Option<Store>, UpdateReason> {
    match Store::take(root) {
        Ok(store) => Ok(Some(store)),
        Err(UpdateReason::Busy) => Ok(None),
        Err(other) => Err(other),
    }
}

fn busy(root: &Path) -> ExitCode {
    let mut state = State { outcome: UpdateOutcome::Busy, ..crate::state(root) };
    state.set_cause(UpdateReason::Busy.cause());
    report(&state, "result")
}

/// Reports a failure together with the state of the rules in force.
fn lock_failed(root: &Path, reason: &UpdateReason) -> ExitCode {
    let before = crate::state(root);
    let mut state = State { outcome: UpdateOutcome::Failed, finished_ms: now_ms(), ..before };
    state.set_cause(reason.cause());
    report(&state, "result")
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn report(state: &State, event: &str) -> ExitCode {
    let mut line = serde_json::to_value(state).unwrap_or_default();
    line["event"] = Value::from(event);
    print_json(&line);
    ExitCode::from(match (event, state.outcome) {
        ("status", _)
        | (_, UpdateOutcome::Updated | UpdateOutcome::Unchanged | UpdateOutcome::Restored) => 0,
        (_, UpdateOutcome::Partly) => 1,
        (_, UpdateOutcome::Failed) => 2,
        (_, UpdateOutcome::Busy) => 3,
    })
}

/// Prints one line of JSON, and ignores a closed pipe so that the update continues.
fn print_json(what: &Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{what}").and_then(|()| out.flush());
}
