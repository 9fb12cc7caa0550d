// SPDX-License-Identifier: GPL-2.0-or-later
//! eBPF programs on devices: `fastpath-bpf` is run for what is done seldom, as nft is. The init
//! script has loaded them, which takes rights that the daemon does not have.

use std::collections::{BTreeMap, BTreeSet};
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
    #[error("reading what {LOADER} {0} said")]
    Answer(&'static str, #[source] serde_json::Error),
    /// Programs are there, and their maps cannot be used.
    #[error(transparent)]
    Maps(#[from] OpenError),
}

/// Gives these devices programs, and takes them from all others.
pub(crate) async fn attach(devices: &BTreeSet<String>) -> Result<Attached, ProgramsError> {
    let none = Attached { programs: BTreeMap::new(), opened: None };
    // Nothing to take away, and perhaps nobody to do it.
    if devices.is_empty() && !Path::new(FOLDER).exists() {
        return Ok(none);
    }
    let others = others(&run("show", &[]).await?, devices);
    if !others.is_empty() {
        run("detach", &others).await?;
    }
    if devices.is_empty() {
        return Ok(none);
    }
    let names: Vec<String> = devices.iter().cloned().collect();
    let programs = programs(&run("attach", &names).await?);
    let any = programs.values().any(|program| program.hook.is_some());
    let opened = if any { Some(open()?) } else { None };
    Ok(Attached { programs, opened })
}

fn open() -> Result<Opened, OpenError> {
    let maps = Pinned::open(&Folder::default(), Dsa::None)?;
    let (capacity, id) = (maps.capacity(), maps.id());
    Ok(Opened { maps: Box::new(maps), capacity, id })
}

async fn run(command: &'static str, words: &[String]) -> Result<Value, ProgramsError> {
    let said = Command::new(LOADER).arg(command).args(words).kill_on_drop(true).output().await;
    let said = said.map_err(ProgramsError::Start)?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        let line = text.lines().next().unwrap_or("it does not say why");
        return Err(ProgramsError::Refused(line.to_owned()));
    }
    serde_json::from_slice(&said.stdout).map_err(|error| ProgramsError::Answer(command, error))
}

/// Numbers of the devices that have a program and shall have none.
fn others(shown: &Value, devices: &BTreeSet<String>) -> Vec<String> {
    let shown = shown.as_array().into_iter().flatten();
    let others = shown.filter(|one| one["device"].as_str().is_none_or(|d| !devices.contains(d)));
    others.filter_map(|one| Some(one["ifindex"].as_u64()?.to_string())).collect()
}

/// What `attach` tells of each device.
fn programs(told: &Value) -> BTreeMap<String, Program> {
    let mut programs = BTreeMap::new();
    for one in told.as_array().into_iter().flatten() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let (hook, word) = match text("hook") {
            "tcx" => (Some(Hook::Tc), "tcx"),
            "clsact" => (Some(Hook::Tc), "clsact"),
            "xdp" => (Some(Hook::Xdp), "xdp"),
            "xdp-generic" => (Some(Hook::Xdp), "xdp-generic"),
            _ => (None, ""),
        };
        let why = if hook.is_some() { text("why") } else { text("error") };
        programs.insert(text("device").to_owned(), Program { hook, word, why: why.to_owned() });
    }
    programs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_attached_elsewhere_goes() {
        let shown = json!([
            {"device": "lan1", "ifindex": 3, "hook": "tcx", "dsa": "none"},
            {"device": "old", "ifindex": 4, "hook": "xdp", "dsa": "none"},
            {"device": null, "ifindex": 5, "hook": "tcx", "dsa": "none"},
        ]);
        assert_eq!(others(&shown, &BTreeSet::from(["lan1".to_owned()])), ["4", "5"]);
        assert!(others(&json!([]), &BTreeSet::new()).is_empty());
    }

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
        let hooks: Vec<_> = programs.values().map(|p| (p.hook, p.word)).collect();
        let wanted = [(Some(Hook::Tc), "tcx"), (Some(Hook::Xdp), "xdp"), (None, "")];
        assert_eq!(hooks, wanted);
        assert_eq!(programs["lan1"].why, "the driver of wan has no XDP");
        assert!(programs["wan"].why.ends_with("not permitted"));
    }
}
