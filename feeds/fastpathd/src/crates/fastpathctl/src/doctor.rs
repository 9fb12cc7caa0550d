// SPDX-License-Identifier: GPL-2.0-or-later
//! Command `doctor`: runs checks over ubus or, without rpcd, by their program, repeats a call whose
//! answer was lost, applies fixes with rollback (seconds of the trial, time for the effect), exit
//! status. Findings are formatted in `examination.rs`.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ubus::{CallError, Connection, Handle, Map, Status};

use crate::examination::{self, Paint};
use crate::json::{list, number, text};
use crate::print;

/// The request to the doctor.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// Only these checks; empty: all.
    pub(crate) checks: Vec<String>,
    /// Checks whose findings are to be fixed; `all`: every finding with a fix.
    pub(crate) fixes: Vec<String>,
    /// Do not ask before a fix.
    pub(crate) yes: bool,
}

/// Why the checks could not run, or a fix failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    #[error("{object} is not on ubus and {path} does not exist: {cause}; is fastpathd installed?")]
    Absent { object: &'static str, path: String, cause: String },
    #[error("{object} {method}: {cause}")]
    Call { object: &'static str, method: &'static str, cause: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}: confirmation requires a terminal; use --yes to skip it")]
    Unasked(String),
}

/// Folder of the programs that rpcd runs for its objects; without rpcd they are run here.
const PLUGINS: &str = "/usr/libexec/rpcd";
/// rpcd ends a plugin after 30 s, the lab's after 120.
const PATIENCE: Duration = Duration::from_secs(120);
/// Seconds until an unconfirmed change is rolled back.
const TRIAL: u64 = 90;
/// How long a fix may take to show: the daemon reads its table every 20 s, and retries after 30.
const EFFECT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

const DOCTOR: &str = "fastpath.doctor";
const CHANGE: &str = "fastpath.change";

/// The connection to the objects.
struct Objects {
    /// With the connection, whose end would close the socket.
    bus: Option<(Handle, Connection)>,
}

impl Objects {
    async fn open(socket: &str) -> Self {
        let opened = Connection::open(Path::new(socket)).await.ok();
        Self { bus: opened.map(|connection| (connection.handle(), connection)) }
    }

    /// Over the bus; where the object is not there, by running its program.
    async fn ask(
        &self,
        object: &'static str,
        method: &'static str,
        args: &Value,
    ) -> Result<Value, DoctorError> {
        let answer = match &self.bus {
            Some((handle, _)) => match called(handle, object, method, args).await {
                Ok(answer) => Value::Object(answer),
                Err(error) if error.status() == Status::NotFound => run(object, method, args)?,
                Err(error) => {
                    let cause = error.to_string();
                    return Err(DoctorError::Call { object, method, cause });
                }
            },
            None => run(object, method, args)?,
        };
        match answer.get("error") {
            Some(error) => Err(DoctorError::Refused(refusal(error))),
            None => Ok(answer),
        }
    }

    async fn run(&self, request: &Value) -> Result<Value, DoctorError> {
        self.ask(DOCTOR, "run", request).await
    }
}

/// rpcd loses a program's answer now and then when two callers ask at once: since March 2026 it
/// closes the program's pipes twice. A run is requested again, a fix is not.
async fn called(
    handle: &Handle,
    object: &'static str,
    method: &'static str,
    args: &Value,
) -> Result<Map, CallError> {
    let call = || handle.call(object, method, args, PATIENCE);
    match call().await {
        Err(error) if lost(method, error.status()) => call().await,
        answer => answer,
    }
}

/// Whether a call that ended so is made again.
fn lost(method: &str, status: Status) -> bool {
    status == Status::NoData && method == "run"
}

/// Calls a method by running its program, as rpcd would.
fn run(object: &'static str, method: &'static str, args: &Value) -> Result<Value, DoctorError> {
    let path = format!("{PLUGINS}/{object}");
    let output = Command::new(&path)
        .args(["call", method, &args.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| DoctorError::Absent { object, path, cause: error.to_string() })?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let cause =
            format!("its program ended with {} without JSON output: {error}", output.status);
        DoctorError::Call { object, method, cause }
    })
}

/// The text of an error, with the details it lists.
fn refusal(error: &Value) -> String {
    let mut message = text(error, "text").to_owned();
    for key in ["problems", "cuts"] {
        for part in list(error, key) {
            message.push_str("\n  ");
            message.push_str(text(part, "text"));
        }
    }
    message
}

/// Runs the checks and the requested fixes. The exit status is the worst that remains: 0 nothing
/// above info, 1 advice or warnings, 2 errors, 3 a check that could not run.
pub(crate) async fn doctor(
    socket: &str,
    request: Request,
    json: bool,
) -> Result<ExitCode, DoctorError> {
    let objects = Objects::open(socket).await;
    let asked = json!({"checks": request.checks});
    let mut fixes = request.fixes.clone();
    if fixes.iter().any(|id| id == "all") {
        fixes = fixable(&objects.run(&asked).await?);
    }
    for id in fixes {
        fix(&objects, &id, &request).await?;
    }
    let answer = objects.run(&asked).await?;
    if json {
        print(&format!("{answer:#}\n"));
    } else {
        let coloured = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print(&examination::report(&answer, Paint(coloured)));
    }
    Ok(status(&answer["summary"]))
}

fn status(summary: &Value) -> ExitCode {
    let any = |name: &str| number(summary, name) > 0;
    ExitCode::from(match () {
        () if any("error") => 2,
        () if any("warning") || any("advice") => 1,
        () if any("unknown") => 3,
        () => 0,
    })
}

/// The findings above info that have a fix, in the doctor's order.
fn fixable(answer: &Value) -> Vec<String> {
    let bad =
        |finding: &&Value| matches!(text(finding, "severity"), "error" | "warning" | "advice");
    let found = list(answer, "findings").filter(bad).filter(|found| !found["fix"].is_null());
    found.map(|finding| text(finding, "id").to_owned()).collect()
}

/// The finding of a check; none: it finds nothing any more.
async fn finding(objects: &Objects, id: &str) -> Result<Option<Value>, DoctorError> {
    let mut answer = objects.run(&json!({"checks": [id]})).await?;
    let found = answer["findings"].as_array_mut().and_then(Vec::pop);
    Ok(found.filter(|found| !matches!(text(found, "severity"), "ok" | "info")))
}

async fn fix(objects: &Objects, id: &str, request: &Request) -> Result<(), DoctorError> {
    let Some(found) = finding(objects, id).await? else {
        print(&format!("{id}: nothing to fix\n"));
        return Ok(());
    };
    let fix = &found["fix"];
    if fix.is_null() {
        let message = format!("{id}: no automatic fix. {}", text(&found, "remedy"));
        return Err(DoctorError::Refused(message));
    }
    print(&format!("{id}: {}\n", text(fix, "label")));
    let mut fields = json!({"id": id, "seconds": TRIAL});
    if text(fix, "kind") == "change" {
        let checked = objects.ask(CHANGE, "check", &json!({"edits": fix["edits"]})).await?;
        print(&examination::diff(&checked));
        fields["cut_ok"] = true.into();
    }
    agree(id, request.yes)?;
    let answer = objects.ask(DOCTOR, "fix", &fields).await?;
    let gone = gone(objects, id).await;
    if answer.get("done").is_some() {
        print(&format!("{}\n", text(&answer, "said")));
        return if gone? { Ok(()) } else { Err(still(id, "")) };
    }
    let change = json!({"id": answer["id"]});
    if matches!(gone, Ok(true)) {
        objects.ask(CHANGE, "confirm", &change).await?;
        print(&format!("{id}: fixed and confirmed\n"));
        return Ok(());
    }
    // Without it the router rolls back when the change expires.
    objects.ask(CHANGE, "revert", &change).await?;
    gone?;
    Err(still(id, "; the change was rolled back"))
}

fn still(id: &str, end: &str) -> DoctorError {
    DoctorError::Refused(format!("{id}: the problem remains after the fix{end}"))
}

fn agree(id: &str, yes: bool) -> Result<(), DoctorError> {
    if yes {
        return Ok(());
    }
    let mut line = String::new();
    if !std::io::stdin().is_terminal() {
        return Err(DoctorError::Unasked(id.to_owned()));
    }
    print("Apply? [y/N] ");
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().lock().read_line(&mut line);
    if matches!(line.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(DoctorError::Refused(format!("{id}: not applied")))
}

/// Whether the finding goes away in time. A router that does not answer for a moment is one whose
/// services are restarting.
async fn gone(objects: &Objects, id: &str) -> Result<bool, DoctorError> {
    let began = Instant::now();
    loop {
        let last = finding(objects, id).await;
        let over = began.elapsed() > EFFECT;
        match last {
            Ok(None) => return Ok(true),
            Ok(Some(_)) if over => return Ok(false),
            Err(error) if over => return Err(error),
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_is_that_of_the_worst() {
        let of = |summary: Value| format!("{:?}", status(&summary));
        let code = |n: u8| format!("{:?}", ExitCode::from(n));
        assert_eq!(of(json!({"ok": 9, "info": 2})), code(0));
        assert_eq!(of(json!({"unknown": 1})), code(3));
        assert_eq!(of(json!({"advice": 1, "unknown": 1})), code(1));
        assert_eq!(of(json!({"warning": 1})), code(1));
        assert_eq!(of(json!({"warning": 1, "error": 1})), code(2));
    }

    #[test]
    fn a_lost_run_is_requested_again_and_a_fix_is_not() {
        assert!(lost("run", Status::NoData));
        assert!(!lost("fix", Status::NoData));
        assert!(!lost("run", Status::Timeout));
    }

    #[test]
    fn all_are_the_findings_with_a_fix() {
        let found = |id: &str, of: &str, fix: Value| json!({"id": id, "severity": of, "fix": fix});
        let answer = json!({"findings": [
            found("a", "error", json!({"kind": "step"})), found("b", "warning", Value::Null),
            found("c", "info", json!({"kind": "step"})), found("d", "advice", json!({})),
        ]});
        assert_eq!(fixable(&answer), ["a", "d"]);
    }

    #[test]
    fn a_refusal_lists_what_is_wrong() {
        let error = json!({"code": "invalid", "text": "not applied",
            "problems": [{"text": "VLAN 0 is invalid"}]});
        assert_eq!(refusal(&error), "not applied\n  VLAN 0 is invalid");
    }
}
