// SPDX-License-Identifier: GPL-2.0-or-later
//! eBPF programs on devices: `fastpath-bpf` attaches them, as nft loads rules. The init script has
//! loaded them, which needs privileges that the daemon does not have.

use std::path::Path;
use std::process::Command;

use config::Cause;
use ebpf::attach::AttachReason;
use ebpf::devices::NotNative;
use ebpf::entry::Hook;
use ebpf::folder::{FOLDER, Folder};
use ebpf::pinned::{OpenError, Pinned};
use ebpf::programs::Dsa;
use ruleset::{NftCommand, NftError};
use serde_json::Value;

use crate::offload::ebpf::{AttachOutcome, AttachRequest, OpenMaps, Program};
use crate::sys::error::chain;

const LOADER: &str = "/usr/libexec/fastpath-bpf";

config::coded! {
    /// Why devices have no programs. `said` is of the loader or the kernel.
    pub(crate) enum ProgramsReason {
        Missing = "not-installed", "the package fastpathd-ebpf is not installed";
        NotLoaded = "not-loaded",
            "the eBPF programs are not in the kernel: loading them failed, see the system log";
        // The loader could not be run, or has failed.
        Loader { said: String } = "loader", "{said}";
        // Programs are attached, and their maps cannot be used.
        Maps { said: String } = "maps", "{said}";
        Device { device: String, why: String } = "device", "{device}: {why}";
    }
}

impl ProgramsReason {
    /// These, and those of a device.
    pub(crate) fn all_codes() -> Vec<&'static str> {
        [&Self::CODES[..], &NotNative::CODES, &AttachReason::CODES].concat()
    }

    /// With the first line of each message.
    pub(crate) fn brief(self) -> Self {
        let first = |said: String| said.lines().next().unwrap_or_default().to_owned();
        match self {
            Self::Loader { said } => Self::Loader { said: first(said) },
            Self::Maps { said } => Self::Maps { said: first(said) },
            Self::Missing | Self::NotLoaded | Self::Device { .. } => self,
        }
    }

    /// Why `device` has no program: `why`, which has the device's reason.
    pub(crate) fn of(device: &str, why: &Cause) -> Cause {
        let reason = Self::Device { device: device.to_owned(), why: why.text.clone() };
        let mut cause = reason.cause().around(why.clone());
        cause.params.insert("device".to_owned(), device.into());
        cause
    }

    fn of_loader(error: &NftError) -> Self {
        let loaded = Folder::default().map("devices").exists();
        if loaded { Self::Loader { said: chain(error) } } else { Self::NotLoaded }
    }

    fn of_maps(error: &OpenError) -> Self {
        Self::Maps { said: chain(error) }
    }
}

/// Attaches programs to these devices, and detaches them from all others.
pub(crate) async fn set(request: &AttachRequest) -> Result<AttachOutcome, ProgramsReason> {
    let devices = &request.devices;
    // There is nothing to detach, and the loader may not be installed.
    if devices.is_empty() && !Path::new(FOLDER).exists() {
        return Ok(AttachOutcome { programs: Vec::new(), opened: None });
    }
    if !Path::new(LOADER).exists() {
        return Err(ProgramsReason::Missing);
    }
    let loader = NftCommand { program: LOADER.into(), ..NftCommand::default() };
    let mut arguments = vec!["set"];
    if let Some(hook) = request.hook {
        arguments.extend(["--hook", hook]);
    }
    arguments.extend(devices.iter().map(String::as_str));
    let report = loader.ask(&arguments).await.map_err(|error| ProgramsReason::of_loader(&error))?;
    let programs = programs(&report);
    let any = programs.iter().any(|program| program.hook.is_some());
    let opened = any.then(open).transpose().map_err(|error| ProgramsReason::of_maps(&error))?;
    Ok(AttachOutcome { programs, opened })
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
    let codes = ProgramsReason::all_codes();
    report
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default();
            let (hook, word) = match text("hook") {
                "tcx" => (Some(Hook::Tc), "tcx"),
                "clsact" => (Some(Hook::Tc), "clsact"),
                "xdp" => (Some(Hook::Xdp), "xdp"),
                "xdp-generic" => (Some(Hook::Xdp), "xdp-generic"),
                _ => (None, ""),
            };
            let why = text(if hook.is_some() { "why" } else { "error" }).to_owned();
            let why = Cause::reported(&codes, &one["cause"], why);
            Program { device: text("device").to_owned(), hook, word, why }
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
             "why": "the driver of wan does not support XDP",
             "cause": {"code": "no-xdp", "params": {"device": "wan"}}},
            {"device": "wan", "ifindex": 4, "dsa": "none", "hook": null, "why": null,
             "error": "attaching to device 4 at tcx: Operation not permitted"},
            {"device": "lan2", "ifindex": 5, "dsa": "none", "hook": "xdp", "why": null},
        ]);
        let programs = programs(&report);
        let hooks: Vec<_> = programs.iter().map(|p| (&*p.device, p.hook, p.word)).collect();
        let wanted =
            [("lan1", Some(Hook::Tc), "tcx"), ("wan", None, ""), ("lan2", Some(Hook::Xdp), "xdp")];
        assert_eq!(hooks, wanted);
        assert_eq!(programs[0].why, NotNative::NoXdp { device: "wan".to_owned() }.cause());
        // Of an older loader.
        assert_eq!(programs[1].why.code, "");
        assert!(programs[1].why.text.ends_with("not permitted"));
        assert_eq!(programs[2].why, Cause::default());
    }
}
