// SPDX-License-Identifier: GPL-2.0-or-later
//! Command `doctor`: runs checks and applies fixes, with rollback.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use plugin::process::{self, Limits, RunError};
use serde_json::{Value, json};
use ubus::{Connection, Handle, Status};

use crate::examination::{self, Paint};
use crate::json::{list, number, text};
use crate::print;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// Ids of checks. Empty for all.
    pub(crate) checks: Vec<String>,
    /// Ids of checks. `all` for every finding with a fix.
    pub(crate) fixes: Vec<String>,
    pub(crate) yes: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    #[error("{path} cannot be run: {cause}; is fastpathd installed?")]
    Absent { path: String, cause: String },
    #[error("{object} {method}: {cause}")]
    Call { object: &'static str, method: &'static str, cause: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}: confirmation requires a terminal; use --yes to skip it")]
    Unasked(String),
}

const PLUGINS: &str = "/usr/libexec/rpcd";
/// Timeout of a call. rpcd kills a program after 30 s, in the lab after 120 s.
const TIMEOUT: Duration = Duration::from_secs(120);
const CONFIRM_TIMEOUT_S: u64 = 90;
/// Maximum length of an answer, bytes: the limit of a ubus message.
const MAX_ANSWER_LEN: usize = 1 << 20;
/// Timeout for a finding to disappear. The daemon reads tables every 20 s and retries after 30 s.
const FIX_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

const DOCTOR: &str = "fastpath.doctor";
const CHANGE: &str = "fastpath.change";

struct Objects {
    /// Handle and connection. The connection keeps the socket open.
    bus: Option<(Handle, Connection)>,
    socket: String,
}

impl Objects {
    async fn open(socket: &str) -> Self {
        let opened = Connection::open(Path::new(socket)).await.ok();
        let bus = opened.map(|connection| (connection.handle(), connection));
        Self { bus, socket: socket.to_owned() }
    }

    /// Calls a method over the bus, or runs the object's program if the object is missing.
    async fn ask(
        &self,
        object: &'static str,
        method: &'static str,
        args: &Value,
    ) -> Result<Value, DoctorError> {
        let answer = match &self.bus {
            Some((handle, _)) => match handle.call(object, method, args, TIMEOUT).await {
                Ok(answer) => Value::Object(answer),
                Err(error) if error.status() == Status::NotFound => {
                    self.run_program(object, method, args)?
                }
                Err(error) => {
                    let cause = error.to_string();
                    return Err(DoctorError::Call { object, method, cause });
                }
            },
            None => self.run_program(object, method, args)?,
        };
        check_refusal(answer)
    }

    /// Runs the checks by their program. Over ubus, findings about accounts would be omitted,
    /// because the caller is not known to be root.
    fn run(&self, request: &Value) -> Result<Value, DoctorError> {
        check_refusal(self.run_program(DOCTOR, "run", request)?)
    }

    fn run_program(
        &self,
        object: &'static str,
        method: &'static str,
        args: &Value,
    ) -> Result<Value, DoctorError> {
        let path = format!("{PLUGINS}/{object}");
        let mut command = Command::new(&path);
        command.args(["call", method, &args.to_string()]).env("UBUS_SOCKET", &self.socket);
        answer_of(&mut command, limits(method)).map_err(|cause| match cause {
            ProgramError::Run(RunError::System(cause)) => {
                DoctorError::Absent { path, cause: cause.to_string() }
            }
            cause => DoctorError::Call { object, method, cause: cause.to_string() },
        })
    }
}

fn check_refusal(answer: Value) -> Result<Value, DoctorError> {
    match answer.get("error") {
        Some(error) => Err(DoctorError::Refused(refusal(error))),
        None => Ok(answer),
    }
}

#[derive(Debug, thiserror::Error)]
enum ProgramError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("its program ended with {end} without JSON output: {cause}")]
    Output { end: String, cause: serde_json::Error },
}

fn limits(method: &str) -> Limits {
    // Services that other methods start would inherit limits of memory and CPU time.
    Limits { time: TIMEOUT, output: MAX_ANSWER_LEN, resources: matches!(method, "run" | "check") }
}

fn answer_of(command: &mut Command, limits: Limits) -> Result<Value, ProgramError> {
    let output = process::run(command, b"", limits)?;
    let _ = std::io::stderr().write_all(&output.stderr);
    let end = || process::killed(output.status).unwrap_or_else(|| output.status.to_string());
    serde_json::from_slice(&output.stdout)
        .map_err(|cause| ProgramError::Output { end: end(), cause })
}

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

/// Applies fixes and runs the checks. The exit status is that of the worst finding that is not
/// accepted: 0 none or notes, 1 advice or warnings, 2 errors, 3 a check that could not run.
pub(crate) async fn doctor(
    socket: &str,
    request: Request,
    json: bool,
) -> Result<ExitCode, DoctorError> {
    let objects = Objects::open(socket).await;
    let selection = json!({"checks": request.checks});
    let mut fixes = request.fixes.clone();
    if fixes.iter().any(|id| id == "all") {
        fixes = fixable(&objects.run(&selection)?);
    }
    for id in fixes {
        fix(&objects, &id, &request).await?;
    }
    let answer = objects.run(&selection)?;
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

/// Returns the ids of fixable findings that are neither notes nor accepted.
fn fixable(answer: &Value) -> Vec<String> {
    let bad =
        |finding: &&Value| matches!(text(finding, "severity"), "error" | "warning" | "advice");
    let found = list(answer, "findings")
        .filter(bad)
        .filter(|found| !found["fix"].is_null() && !examination::is_accepted(found));
    found.map(|finding| text(finding, "id").to_owned()).collect()
}

/// Returns the finding of a check. `None` if the check passes or reports only a note.
fn finding(objects: &Objects, id: &str) -> Result<Option<Value>, DoctorError> {
    let mut answer = objects.run(&json!({"checks": [id]}))?;
    let found = answer["findings"].as_array_mut().and_then(Vec::pop);
    Ok(found.filter(|found| !matches!(text(found, "severity"), "ok" | "info")))
}

async fn fix(objects: &Objects, id: &str, request: &Request) -> Result<(), DoctorError> {
    let Some(found) = finding(objects, id)? else {
        print(&format!("{id}: nothing to fix\n"));
        return Ok(());
    };
    let fix = &found["fix"];
    if fix.is_null() {
        let message = format!("{id}: no automatic fix. {}", text(&found, "remedy"));
        return Err(DoctorError::Refused(message));
    }
    print(&format!("{id}: {}\n", text(fix, "label")));
    let mut fields = json!({"id": id, "seconds": CONFIRM_TIMEOUT_S});
    if text(fix, "kind") == "change" {
        let checked = objects.ask(CHANGE, "check", &json!({"edits": fix["edits"]})).await?;
        print(&examination::diff(&checked));
        fields["cut_ok"] = true.into();
    }
    confirm(id, request.yes)?;
    let answer = objects.ask(DOCTOR, "fix", &fields).await?;
    let resolved = resolved(objects, id).await;
    if answer.get("done").is_some() {
        print(&format!("{}\n", text(&answer, "said")));
        return if resolved? { Ok(()) } else { Err(unfixed(id, "")) };
    }
    let change = json!({"id": answer["id"]});
    if matches!(resolved, Ok(true)) {
        objects.ask(CHANGE, "confirm", &change).await?;
        print(&format!("{id}: fixed and confirmed\n"));
        return Ok(());
    }
    // Without this call the change is rolled back only when it expires.
    objects.ask(CHANGE, "revert", &change).await?;
    resolved?;
    Err(unfixed(id, "; the change was rolled back"))
}

fn unfixed(id: &str, end: &str) -> DoctorError {
    DoctorError::Refused(format!("{id}: the problem remains after the fix{end}"))
}

fn confirm(id: &str, yes: bool) -> Result<(), DoctorError> {
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

/// Returns whether the finding disappears in time. Ignores errors until then, because services may
/// be restarting.
async fn resolved(objects: &Objects, id: &str) -> Result<bool, DoctorError> {
    let began = Instant::now();
    loop {
        let last = finding(objects, id);
        let over = began.elapsed() > FIX_TIMEOUT;
        match last {
            Ok(None) => return Ok(true),
            Ok(Some(_)) if over => return Ok(false),
            Err(error) if over => return Err(error),
            _ => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_status_reflects_the_worst_finding() {
        let of = |summary: Value| format!("{:?}", status(&summary));
        let code = |n: u8| format!("{:?}", ExitCode::from(n));
        assert_eq!(of(json!({"ok": 9, "info": 2})), code(0));
        assert_eq!(of(json!({"unknown": 1})), code(3));
        assert_eq!(of(json!({"advice": 1, "unknown": 1})), code(1));
        assert_eq!(of(json!({"warning": 1})), code(1));
        assert_eq!(of(json!({"warning": 1, "error": 1})), code(2));
    }

    fn shell(script: &str, limits: Limits) -> Result<Value, ProgramError> {
        answer_of(Command::new("/bin/sh").args(["-c", script]), limits)
    }

    #[test]
    fn a_program_has_limits_of_time_and_output() {
        let began = Instant::now();
        let brief = Limits { time: Duration::from_millis(200), ..limits("run") };
        let late = shell("sleep 60", brief);
        assert!(matches!(late, Err(ProgramError::Run(RunError::Late(_)))), "{late:?}");
        assert!(began.elapsed() < Duration::from_secs(30), "the program is killed in time");
        let loud =
            shell("while :; do echo 0123456789012345678901234567890123456789; done", limits("run"));
        assert!(matches!(loud, Err(ProgramError::Run(RunError::Loud(MAX_ANSWER_LEN)))), "{loud:?}");
    }

    #[test]
    fn programs_that_start_services_have_no_resource_limits() {
        for (method, limited) in [("run", true), ("check", true), ("fix", false), ("apply", false)]
        {
            assert_eq!(limits(method).resources, limited, "{method}");
        }
    }

    #[test]
    fn parses_the_json_answer_of_a_program() {
        assert_eq!(shell("echo '{\"a\": 1}'; echo x >&2", limits("run")).unwrap(), json!({"a": 1}));
        let error = shell("echo no; exit 3", limits("run")).unwrap_err().to_string();
        assert!(error.contains("exit status: 3 without JSON output"), "{error}");
    }

    #[test]
    fn fixes_all_fixable_findings_unless_accepted() {
        let found = |id: &str, of: &str, fix: Value| json!({"id": id, "severity": of, "fix": fix});
        let answer = json!({"findings": [
            found("a", "error", json!({"kind": "step"})), found("b", "warning", Value::Null),
            found("c", "info", json!({"kind": "step"})), found("d", "advice", json!({})),
            json!({"id": "e", "severity": "error", "fix": {}, "accepted": ["cfg01"]}),
        ]});
        assert_eq!(fixable(&answer), ["a", "d"]);
    }

    #[test]
    fn a_refusal_lists_its_problems() {
        let error = json!({"code": "invalid", "text": "not applied",
            "problems": [{"text": "VLAN 0 is invalid"}]});
        assert_eq!(refusal(&error), "not applied\n  VLAN 0 is invalid");
    }
}
