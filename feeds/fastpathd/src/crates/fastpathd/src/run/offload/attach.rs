// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs `fastpath-bpf` to attach eBPF programs to devices, and parses its report. The init script
//! has already loaded the programs, because the daemon lacks the privileges.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use config::Cause;
use ebpf::entry_side::Hook;
use ebpf::folder::{FOLDER, Folder};
use ebpf::pinned::{OpenError, Pinned};
use ebpf::programs::Dsa;
use gateway::offload::ebpf::{AttachOutcome, AttachRequest, OpenMaps};
use gateway::offload::programs::{Program, ProgramsReason};
use gateway::sys::error::chain;
use serde_json::Value;

const LOADER: &str = "/usr/libexec/fastpath-bpf";
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum LoaderError {
    #[error("running {LOADER}: {0}")]
    Run(#[source] std::io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("it did not end within {0:?}")]
    Timeout(Duration),
    #[error("its answer: {0}")]
    Report(#[source] serde_json::Error),
}

fn loader_reason(error: &LoaderError) -> ProgramsReason {
    let loaded = Folder::default().map("devices").exists();
    if loaded { ProgramsReason::Loader { said: chain(error) } } else { ProgramsReason::NotLoaded }
}

fn maps_reason(error: &OpenError) -> ProgramsReason {
    ProgramsReason::Maps { said: chain(error) }
}

/// Attaches programs to these devices and detaches them from all others.
pub(crate) async fn set(request: &AttachRequest) -> Result<AttachOutcome, ProgramsReason> {
    let devices = &request.devices;
    // Nothing is attached, and the loader may not be installed.
    if devices.is_empty() && !Path::new(FOLDER).exists() {
        return Ok(AttachOutcome { programs: Vec::new(), opened: None });
    }
    if !Path::new(LOADER).exists() {
        return Err(ProgramsReason::Missing);
    }
    let mut arguments = vec!["set"];
    if let Some(hook) = request.hook {
        arguments.extend(["--hook", hook]);
    }
    arguments.extend(devices.iter().map(String::as_str));
    let report = report(LOADER, &arguments, TIMEOUT).await;
    let programs = programs(&report.map_err(|error| loader_reason(&error))?);
    let any = programs.iter().any(|program| program.hook.is_some());
    let opened = any.then(open).transpose().map_err(|error| maps_reason(&error))?;
    Ok(AttachOutcome { programs, opened })
}

async fn report(loader: &str, arguments: &[&str], limit: Duration) -> Result<Value, LoaderError> {
    let mut command = Command::new(loader);
    launch::with_net_admin(command.args(arguments));
    let mut command = tokio::process::Command::from(command);
    command.env("LC_ALL", "C").stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(limit, command.output()).await;
    let output = ended.map_err(|_| LoaderError::Timeout(limit))?.map_err(LoaderError::Run)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(LoaderError::Refused(launch::ended(output.status, &stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(LoaderError::Report)
}

pub(crate) async fn clear(limit: Duration) {
    if Path::new(FOLDER).exists()
        && let Err(error) = report(LOADER, &["set"], limit).await
    {
        log::error!("detaching the eBPF programs: {}", chain(&error));
    }
}

fn open() -> Result<OpenMaps, OpenError> {
    let maps = Pinned::open(&Folder::default(), Dsa::None)?;
    let (capacity, id) = (maps.capacity(), maps.id());
    Ok(OpenMaps { maps: Box::new(maps), capacity, id })
}

fn programs(report: &Value) -> Vec<Program> {
    let report = report.as_array().into_iter().flatten();
    let codes = ProgramsReason::all_codes();
    report
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default();
            let (hook, hook_name) = match text("hook") {
                "tcx" => (Some(Hook::Tc), "tcx"),
                "clsact" => (Some(Hook::Tc), "clsact"),
                "xdp" => (Some(Hook::Xdp), "xdp"),
                "xdp-generic" => (Some(Hook::Xdp), "xdp-generic"),
                _ => (None, ""),
            };
            let why = text(if hook.is_some() { "why" } else { "error" }).to_owned();
            let why = Cause::reported(&codes, &one["cause"], why);
            Program { device: text("device").to_owned(), hook, hook_name, why }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ebpf::devices::TcReason;
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_hook_and_cause_of_each_device() {
        let report = json!([
            {"device": "lan1", "ifindex": 3, "dsa": "none", "hook": "tcx",
             "why": "the driver of wan does not support XDP",
             "cause": {"code": "no-xdp", "params": {"device": "wan"}}},
            {"device": "wan", "ifindex": 4, "dsa": "none", "hook": null, "why": null,
             "error": "attaching to device 4 at tcx: Operation not permitted"},
            {"device": "lan2", "ifindex": 5, "dsa": "none", "hook": "xdp", "why": null},
        ]);
        let programs = programs(&report);
        let hooks: Vec<_> = programs.iter().map(|p| (&*p.device, p.hook, p.hook_name)).collect();
        let wanted =
            [("lan1", Some(Hook::Tc), "tcx"), ("wan", None, ""), ("lan2", Some(Hook::Xdp), "xdp")];
        assert_eq!(hooks, wanted);
        assert_eq!(programs[0].why, TcReason::NoXdp { device: "wan".to_owned() }.cause());
        // An older loader reports no code.
        assert_eq!(programs[1].why.code, "");
        assert!(programs[1].why.text.ends_with("not permitted"));
        assert_eq!(programs[2].why, Cause::default());
    }

    #[test]
    fn reports_why_a_loader_failed() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = |script| {
            let report = runtime.block_on(report("/bin/sh", &["-c", script], TIMEOUT));
            report.map_err(|error| chain(&error))
        };
        assert_eq!(run("echo '[]'"), Ok(json!([])));
        assert_eq!(run("echo no such device >&2; exit 1"), Err("no such device".to_owned()));
        assert_eq!(run("exit 3"), Err("exit status: 3".to_owned()));
        let killed = run("echo lan1: no program >&2; kill -KILL $$").unwrap_err();
        assert!(killed.contains("SIGKILL") && !killed.contains("lan1"), "{killed}");
        assert!(run("echo attached").is_err_and(|why| why.starts_with("its answer: ")));
        let missing = runtime.block_on(report("/nonexistent", &[], TIMEOUT)).unwrap_err();
        assert!(matches!(missing, LoaderError::Run(_)));
        let text = "running /usr/libexec/fastpath-bpf: No such file or directory (os error 2)";
        assert_eq!(chain(&missing), text);
    }
    #[test]
    fn kills_a_loader_that_hangs() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let limit = Duration::from_millis(20);
        let hangs = report("/bin/sh", &["-c", "exec sleep 600"], limit);
        let error = runtime.block_on(hangs).unwrap_err();
        assert_eq!(chain(&error), "it did not end within 20ms");
    }
}
