// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads tables of packet processing engines, devices of Wi-Fi offload (WED), and flows in hardware
//! that no table holds.

use std::time::Duration;

use config::Cause;
use plugin::CallReason;
use serde_json::{Value, json};

use super::flowtable::rows;
use super::{Known, Unknown, answer, word};
use crate::machine::Machine;
use crate::ppe::{Bound, Flow, counts};
use crate::reason::DoctorReason;

const DEBUGFS: &str = "/sys/kernel/debug";
const MAX_FLOWS: u64 = 500;
/// Maximum flows that are read again.
const MAX_SUSPECTS: usize = 20;
/// Time between two readings of a suspect. Drivers report counters every 4 s, and the daemon judges
/// the packets of the last 3 s.
const INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Ppe {
    /// Number, bound and unbound entries of each engine, or the reason for none.
    pub engines: Result<Vec<(String, usize, usize)>, Cause>,
    /// Number of each WED, and whether a Wi-Fi device is attached.
    pub wed: Vec<(String, bool)>,
    /// Active flows that the daemon reports in hardware, but that no table holds.
    pub lost: Known<Vec<String>>,
}

impl Default for Ppe {
    fn default() -> Self {
        Self { engines: Ok(Vec::new()), wed: Vec::new(), lost: Known::default() }
    }
}

pub(crate) struct Table {
    /// Name of the folder, such as `ppe0`.
    pub name: String,
    pub text: String,
}

fn unread(what: &'static str, path: &str, error: &std::io::Error) -> Cause {
    CallReason::File { what, path: path.to_owned(), said: error.to_string() }.into()
}

/// Returns the numbers of folders such as `ppe0`. `ppe` has an empty number.
fn numbered<'a>(names: &'a [String], kind: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let number = move |name: &'a String| Some((name, name.strip_prefix(kind)?));
    names.iter().filter_map(number).filter(|(_, of)| of.bytes().all(|byte| byte.is_ascii_digit()))
}

fn debugfs(machine: &dyn Machine) -> Result<Vec<String>, Cause> {
    match machine.list(DEBUGFS) {
        Ok(names) if !names.is_empty() => Ok(names),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unread("listing", DEBUGFS, &error))
        }
        // The kernel creates the folder and puts files into each mounted debugfs.
        Ok(_) | Err(_) => Err(DoctorReason::NoDebugfs.into()),
    }
}

/// Reads a file of each table: `entries`, or `bind` for bound entries only. Each reading also reads
/// hardware counters, so do not call this regularly.
pub(crate) fn tables(machine: &dyn Machine, file: &str) -> Result<Vec<Table>, Cause> {
    let names = debugfs(machine)?;
    let mut tables = Vec::new();
    for (name, _) in numbered(&names, "ppe") {
        let folder = format!("{DEBUGFS}/{name}");
        // Another driver's folder of this name has other files.
        if !machine.list(&folder).is_ok_and(|files| files.iter().any(|found| found == file)) {
            continue;
        }
        let path = format!("{folder}/{file}");
        let text = machine.read(&path).map_err(|error| unread("reading", &path, &error))?;
        tables.push(Table { name: name.clone(), text });
    }
    if tables.is_empty() { Err(DoctorReason::NoTable.into()) } else { Ok(tables) }
}

pub(crate) fn read(machine: &dyn Machine, status: &Known<Value>, sample: Duration) -> Ppe {
    // Read no counters of hardware that is not used.
    let engine = |key| status.at("engine").is_ok_and(|of| word(of, key) == "flowtable-hw");
    if !engine("wanted") {
        return Ppe { lost: Vec::new().into(), ..Ppe::default() };
    }
    let tables = tables(machine, "entries");
    let lost = match &tables {
        _ if !engine("active") => Ok(Vec::new()),
        Ok(tables) => lost(machine, tables, sample),
        Err(cause) => Err(Unknown(cause.text.clone())),
    };
    let count = |table: Table| {
        let (bound, unbound) = counts(&table.text);
        (table.name.trim_start_matches("ppe").to_owned(), bound, unbound)
    };
    let names = debugfs(machine).unwrap_or_default();
    // The file is empty without a device, otherwise it has registers.
    let attached = |(name, number): (&String, &str)| {
        let text = machine.read(&format!("{DEBUGFS}/{name}/txinfo")).ok()?;
        Some((number.to_owned(), !text.trim().is_empty()))
    };
    Ppe {
        engines: tables.map(|tables| tables.into_iter().map(count).collect()),
        wed: numbered(&names, "wed").filter_map(attached).collect(),
        lost: Known(lost),
    }
}

struct Suspect {
    id: u64,
    flow: Flow,
    bytes: u64,
}

/// Returns flows with new bytes that no table holds in three readings, while the CPU receives none
/// of their packets. Idle flows lose their entry, and ended flows report bytes late.
fn lost(machine: &dyn Machine, tables: &[Table], sample: Duration) -> Result<Vec<String>, Unknown> {
    let args = json!({"filter": {"path": ["hardware"]}, "sort": "bytes", "limit": MAX_FLOWS});
    let page = answer(machine, "fastpath", "flows", &args).0?;
    let bound = bound(tables);
    let mut suspects: Vec<Suspect> = rows(&page)
        .filter_map(suspect)
        .filter(|suspect| !bound.holds(&suspect.flow))
        .take(MAX_SUSPECTS)
        .collect();
    for _ in 0..2 {
        if suspects.is_empty() {
            break;
        }
        if sample.is_zero() {
            return Err(Unknown("the table is not read again (sample_ms is 0)".to_owned()));
        }
        machine.pause(INTERVAL);
        suspects.retain_mut(|suspect| is_active(machine, suspect));
        let again = self::tables(machine, "bind").map_err(|cause| Unknown(cause.text))?;
        let bound = self::bound(&again);
        suspects.retain(|suspect| !bound.holds(&suspect.flow));
    }
    Ok(suspects.iter().map(|suspect| suspect.flow.to_string()).collect())
}

fn suspect<'a>(row: impl Fn(&str) -> &'a Value) -> Option<Suspect> {
    let flow = Flow::read(&row).ok()?;
    let bytes = bytes(|name| row(name));
    Some(Suspect { id: row("id").as_u64()?, flow, bytes })
}

fn bytes<'a>(field: impl Fn(&str) -> &'a Value) -> u64 {
    ["up_bytes", "down_bytes"].iter().filter_map(|name| field(name).as_u64()).sum()
}

fn bound(tables: &[Table]) -> Bound {
    let mut bound = Bound::default();
    for table in tables {
        bound.add(&table.text);
    }
    bound
}

/// Returns whether the daemon has counted new bytes of a flow that is in hardware in both
/// directions.
fn is_active(machine: &dyn Machine, suspect: &mut Suspect) -> bool {
    let detail = answer(machine, "fastpath", "flow", &json!({"id": suspect.id})).0;
    let detail = detail.unwrap_or_default();
    let before = std::mem::replace(&mut suspect.bytes, bytes(|name| &detail["flow"][name]));
    detail["hardware"] == "both" && suspect.bytes > before
}

#[cfg(test)]
mod tests;
