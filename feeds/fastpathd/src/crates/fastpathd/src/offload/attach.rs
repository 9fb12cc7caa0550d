// SPDX-License-Identifier: GPL-2.0-or-later
//! eBPF programs on devices: `fastpath-bpf` attaches them, as nft loads rules. The init script has
//! loaded them, which needs privileges that the daemon does not have.

use std::path::Path;
use std::process::Command;

use ebpf::entry_side::Hook;
use ebpf::folder::{FOLDER, Folder};
use ebpf::pinned::{OpenError, Pinned};
use ebpf::programs::Dsa;
use ruleset::{NftCommand, NftError};
use serde_json::Value;

use crate::offload::Program;
use crate::offload::ebpf::{AttachOutcome, AttachRequest, OpenMaps};

const LOADER: &str = "/usr/libexec/fastpath-bpf";

/// Why devices have no programs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramsError {
    /// They are a package of their own.
    #[error("the package fastpathd-ebpf is not installed")]
    Missing,
    /// It could not be run, or it says why.
    #[error(transparent)]
    Refused(#[from] NftError),
    /// Programs are there, and their maps cannot be used.
    #[error(transparent)]
    Maps(#[from] OpenError),
}

/// Attaches programs to these devices, and detaches them from all others.
pub(crate) async fn set(request: &AttachRequest) -> Result<AttachOutcome, ProgramsError> {
    let devices = &request.devices;
    // There is nothing to detach, and the loader may not be installed.
    if devices.is_empty() && !Path::new(FOLDER).exists() {
        return Ok(AttachOutcome { programs: Vec::new(), opened: None });
    }
    if !Path::new(LOADER).exists() {
        return Err(ProgramsError::Missing);
    }
    let loader = NftCommand { program: LOADER.into(), ..NftCommand::default() };
    let mut arguments = vec!["set"];
    if let Some(hook) = request.hook {
        arguments.extend(["--hook", hook]);
    }
    arguments.extend(devices.iter().map(String::as_str));
    let programs = programs(&loader.ask(&arguments).await?);
    let any = programs.iter().any(|program| program.hook.is_some());
    Ok(AttachOutcome { programs, opened: if any { Some(open()?) } else { None } })
}

/// Detaches all programs, and waits for it.
pub(crate) fn clear() {
    if Path::new(FOLDER).exists()
        && let Err(error) = Command::new(LOADER).arg("set").output()
    {
        log::error!("detaching the eBPF programs: {error}");
    }
}

fn open() -> Result<OpenMaps, OpenError> {
    let maps = Pinned::open(&Folder::default(), Dsa::None)?;
    let (capacity, id) = (maps.capacity(), maps.id());
    Ok(OpenMaps { maps: Box::new(maps), capacity, id })
}

/// What the loader reports for each device.
fn programs(report: &Value) -> Vec<Program> {
    let report = report.as_array().into_iter().flatten();
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
            Program { device: text("device").to_owned(), hook, hook_name, why }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_device_says_what_it_has() {
        let report = json!([
            {"device": "lan1", "ifindex": 3, "dsa": "none", "hook": "tcx",
             "why": "the driver of wan has no XDP"},
            {"device": "wan", "ifindex": 4, "dsa": "none", "hook": null, "why": null,
             "error": "attaching to device 4 at tcx: Operation not permitted"},
            {"device": "lan2", "ifindex": 5, "dsa": "none", "hook": "xdp", "why": null},
        ]);
        let programs = programs(&report);
        let hooks: Vec<_> = programs.iter().map(|p| (&*p.device, p.hook, p.hook_name)).collect();
        let wanted =
            [("lan1", Some(Hook::Tc), "tcx"), ("wan", None, ""), ("lan2", Some(Hook::Xdp), "xdp")];
        assert_eq!(hooks, wanted);
        assert_eq!(programs[0].why, "the driver of wan has no XDP");
        assert!(programs[1].why.ends_with("not permitted"));
    }
}
