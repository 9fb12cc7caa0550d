// SPDX-License-Identifier: GPL-2.0-or-later
//! eBPF programs on devices: `fastpath-bpf` is run for what is done seldom, as nft is. The init
//! script has loaded them, which takes rights that the daemon does not have.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use ebpf::entry::Hook;
use ebpf::folder::{FOLDER, Folder};
use ebpf::pinned::{OpenError, Pinned};
use ebpf::programs::Dsa;
use serde_json::Value;
use tokio::process::Command;

use crate::ebpf_room::{Attached, Opened, Program};

const LOADER: &str = "/usr/libexec/fastpath-bpf";

/// Why devices have no programs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramsError {
    /// It is not installed, or cannot be started.
    #[error("starting {LOADER}")]
    Start(#[source] io::Error),
    /// It says why.
    #[error("{0}")]
    Refused(String),
    /// It has said something that is not understood.
    #[error("reading what {LOADER} said")]
    Answer(#[source] serde_json::Error),
    /// Programs are there, and their maps cannot be used.
    #[error(transparent)]
    Maps(#[from] OpenError),
}

/// Gives these devices programs, and takes them from all others.
pub(crate) async fn set(devices: &BTreeSet<String>) -> Result<Attached, ProgramsError> {
    // Nothing to take away, and perhaps nobody to do it.
    if devices.is_empty() && !Path::new(FOLDER).exists() {
        return Ok(Attached { programs: Vec::new(), opened: None });
    }
    let said = Command::new(LOADER).arg("set").args(devices).kill_on_drop(true).output().await;
    let said = said.map_err(ProgramsError::Start)?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        let line = text.lines().next().unwrap_or("it does not say why");
        return Err(ProgramsError::Refused(line.to_owned()));
    }
    let told: Value = serde_json::from_slice(&said.stdout).map_err(ProgramsError::Answer)?;
    let programs = programs(&told);
    let any = programs.iter().any(|program| program.hook.is_some());
    Ok(Attached { programs, opened: if any { Some(open()?) } else { None } })
}

fn open() -> Result<Opened, OpenError> {
    let maps = Pinned::open(&Folder::default(), Dsa::None)?;
    let (capacity, id) = (maps.capacity(), maps.id());
    Ok(Opened { maps: Box::new(maps), capacity, id })
}

/// What it tells of each device.
fn programs(told: &Value) -> Vec<Program> {
    let told = told.as_array().into_iter().flatten();
    told.map(|one| {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let (hook, word) = match text("hook") {
            "tcx" => (Some(Hook::Tc), "tcx"),
            "clsact" => (Some(Hook::Tc), "clsact"),
            "xdp" => (Some(Hook::Xdp), "xdp"),
            "xdp-generic" => (Some(Hook::Xdp), "xdp-generic"),
            _ => (None, ""),
        };
        let why = text(if hook.is_some() { "why" } else { "error" }).to_owned();
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
        let told = json!([
            {"device": "lan1", "ifindex": 3, "dsa": "none", "hook": "tcx",
             "why": "the driver of wan has no XDP"},
            {"device": "wan", "ifindex": 4, "dsa": "none", "hook": null, "why": null,
             "error": "attaching to device 4 at tcx: Operation not permitted"},
            {"device": "lan2", "ifindex": 5, "dsa": "none", "hook": "xdp", "why": null},
        ]);
        let programs = programs(&told);
        let hooks: Vec<_> = programs.iter().map(|p| (&*p.device, p.hook, p.word)).collect();
        let wanted =
            [("lan1", Some(Hook::Tc), "tcx"), ("wan", None, ""), ("lan2", Some(Hook::Xdp), "xdp")];
        assert_eq!(hooks, wanted);
        assert_eq!(programs[0].why, "the driver of wan has no XDP");
        assert!(programs[1].why.ends_with("not permitted"));
    }
}
