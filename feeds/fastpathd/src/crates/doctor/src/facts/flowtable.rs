// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the flowtable module, the flowtables in force, answers of the daemon, and reasons of flows
//! on the slow path.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::conntrack::SETTINGS;
use super::{Known, Unknown, answer, file, list, number};
use crate::machine::Machine;

const MODULES: &str = "/lib/modules";
const MAX_FLOWS: u64 = 500;

/// Maximum idle time of an entry before it counts as stale, in seconds. The kernel's timeout is 30.
pub(crate) const STALE: u64 = 120;

#[derive(Debug, Default)]
pub(crate) struct Flowtable {
    pub module: Known<Module>,
    /// All flowtables. Parsed from nft's text output, because its JSON lacks flags (nft 1.1.3).
    pub listed: Known<Vec<Listed>>,
    pub status: Known<Value>,
    pub topology: Known<Value>,
    /// Flows and bytes on the slow path by reason, for the busiest flows.
    pub reasons: Known<BTreeMap<String, (u64, u64)>>,
    /// Number of stale flows in the flowtable, see [`STALE`].
    pub stale: Known<u64>,
    /// Timeouts by protocol, in seconds.
    pub timeouts: Vec<(&'static str, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    /// Loaded or built in.
    There,
    Loadable,
    Missing,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Family and name of the table.
    pub table: String,
    pub name: String,
    pub devices: Vec<String>,
    pub counter: bool,
    /// The flag `offload` is set.
    pub hardware: bool,
}

pub(crate) fn read(machine: &dyn Machine) -> Flowtable {
    let flows = |path: &str, sort: &str| {
        let args = json!({"filter": {"path": [path]}, "sort": sort, "limit": MAX_FLOWS});
        answer(machine, "fastpath", "flows", &args).0
    };
    Flowtable {
        module: Known(module(machine)),
        listed: Known::new(machine.run("nft", &["list", "flowtables"]).map(|text| listed(&text))),
        status: answer(machine, "fastpath", "status", &json!({})),
        topology: answer(machine, "fastpath", "topology", &json!({})),
        reasons: Known(flows("slow", "bytes").map(|page| reasons(&page))),
        stale: Known(flows("flowtable", "idle_s").map(|page| stale(&page))),
        timeouts: ["tcp", "udp"].into_iter().filter_map(|of| timeout(machine, of)).collect(),
    }
}

fn module(machine: &dyn Machine) -> Result<Module, Unknown> {
    let modules = file(machine, "/proc/modules")?;
    if modules.lines().any(|line| line.split(' ').next() == Some("nft_flow_offload")) {
        return Ok(Module::There);
    }
    let release = machine.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let folder = format!("{MODULES}/{}", release.trim());
    let names = |file: &str| machine.read(&format!("{folder}/{file}")).unwrap_or_default();
    // OpenWrt has no modules.dep, and all modules in one folder.
    let files = machine.list(&folder).unwrap_or_default();
    let names_it = |text: &str| text.contains("/nft_flow_offload.ko");
    let loadable =
        names_it(&names("modules.dep")) || files.iter().any(|f| f == "nft_flow_offload.ko");
    let there = names_it(&names("modules.builtin"));
    let missing = if loadable { Module::Loadable } else { Module::Missing };
    Ok(if there { Module::There } else { missing })
}

fn listed(text: &str) -> Vec<Listed> {
    let mut found: Vec<Listed> = Vec::new();
    let mut table = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("table ") {
            name.trim_end_matches(" {").clone_into(&mut table);
        } else if let Some(name) = line.strip_prefix("flowtable ") {
            let name = name.trim_end_matches(" {").to_owned();
            found.push(Listed { table: table.clone(), name, ..Listed::default() });
        } else if let Some(last) = found.last_mut() {
            last.counter |= line == "counter";
            last.hardware |= line == "flags offload";
            if let Some(devices) = line.strip_prefix("devices = {") {
                let names = devices.trim_end_matches('}').split(',').map(str::trim);
                last.devices = names.map(|name| name.trim_matches('"').to_owned()).collect();
            }
        }
    }
    found
}

/// Returns the rows of a page as functions from column name to value.
pub(super) fn rows<'a>(page: &'a Value) -> impl Iterator<Item = impl Fn(&str) -> &'a Value> {
    let column = move |name: &str| list(page, "cols").iter().position(|col| col == name);
    list(page, "rows")
        .iter()
        .map(move |row| move |name: &str| column(name).map_or(&Value::Null, |at| &row[at]))
}

fn reasons(page: &Value) -> BTreeMap<String, (u64, u64)> {
    let mut found = BTreeMap::new();
    for row in rows(page) {
        let bytes = |name| row(name).as_u64().unwrap_or_default();
        let reason = row("reason").as_str().unwrap_or_default();
        let of: &mut (u64, u64) = found.entry(reason.to_owned()).or_default();
        *of = (of.0 + 1, of.1 + bytes("up_bytes") + bytes("down_bytes"));
    }
    found
}

fn stale(page: &Value) -> u64 {
    rows(page).filter(|row| row("idle_s").as_u64() > Some(STALE)).count() as u64
}

fn timeout(machine: &dyn Machine, of: &'static str) -> Option<(&'static str, u64)> {
    let path = format!("{SETTINGS}/nf_flowtable_{of}_timeout");
    number(machine, &path).get().ok().map(|seconds| (of, *seconds))
}
