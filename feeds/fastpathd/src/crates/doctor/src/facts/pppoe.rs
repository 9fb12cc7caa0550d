// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads PPPoE sessions with the MTUs of their devices, and counts the sessions that ended within a
//! day: which lines of the system log count as a fault.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ports::DEVICES;
use super::{Known, answer, list, number, word};
use crate::machine::Machine;

/// Time in which reconnects are counted, ms.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Number of log lines that are read.
const LINES: u64 = 5000;

/// One session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    /// Its ppp device.
    pub device: String,
    /// The device it runs over.
    pub lower: String,
    /// MTU of its device; 0: unknown.
    pub mtu: u64,
    /// MTU of the device it runs over; 0: unknown.
    pub lower_mtu: u64,
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Pppoe {
    /// As the daemon reports them.
    pub sessions: Known<Vec<Session>>,
    /// Sessions that ended within a day, by the system's log; unknown without a log.
    pub ended: Known<u64>,
}

/// Reads them.
pub(crate) fn read(machine: &dyn Machine, topology: &Known<Value>) -> Pppoe {
    let sessions = topology
        .get()
        .map(|topology| list(topology, "pppoe").iter().map(|row| session(machine, row)).collect());
    Pppoe { sessions: Known(sessions), ended: ended(machine) }
}

fn session(machine: &dyn Machine, row: &Value) -> Session {
    let mtu =
        |device: &str| *number(machine, &format!("{DEVICES}/{device}/mtu")).get().unwrap_or(&0);
    let (device, lower) = (word(row, "device").to_owned(), word(row, "lower").to_owned());
    Session { mtu: mtu(&device), lower_mtu: mtu(&lower), device, lower }
}

/// A cable that is out has netifd end the session within this time, ms.
const CABLE_MS: u64 = 10_000;

/// Sessions of a day that ended, by a line that pppd logs once for each, unless the owner ended
/// them: with `ifdown`, a restart or changed settings netifd ends pppd (signal 15). It does the
/// same when the port has lost its link, which is a fault of the line.
fn ended(machine: &dyn Machine) -> Known<u64> {
    let args = json!({"lines": LINES, "stream": false, "oneshot": true});
    let since = machine.now_ms().saturating_sub(DAY_MS);
    Known(answer(machine, "log", "read", &args).0.map(|log| faults(list(&log, "log"), since)))
}

fn faults(lines: &[Value], since: u64) -> u64 {
    // Interfaces whose port has no link, and since when. The loss of an interface upon the session
    // (wan6) is a consequence of its end, not the reason.
    let mut without_link: BTreeMap<&str, u64> = BTreeMap::new();
    // Interface of each pppd, by name and number of the process.
    let mut sessions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut terminated: Vec<&str> = Vec::new();
    let mut count = 0;
    for line in lines {
        let at = line["time"].as_u64().unwrap_or(0);
        let Some((process, said)) = word(line, "msg").split_once(": ") else { continue };
        if let Some((interface, linked)) = link(process, said) {
            if linked {
                without_link.remove(interface);
            } else {
                without_link.insert(interface, at);
            }
        }
        if !process.contains("pppd") {
            continue;
        }
        if let Some(interface) = said.strip_prefix("Using interface pppoe-") {
            sessions.insert(process, interface);
        } else if said.contains("Terminating on signal") {
            let lost = sessions.get(process).and_then(|of| without_link.get(of));
            if lost.is_none_or(|lost| at > lost + CABLE_MS) {
                terminated.push(process);
            }
        } else if said.contains("Connect time") {
            // Another process may get the number later.
            match terminated.iter().position(|other| *other == process) {
                Some(place) => drop(terminated.swap_remove(place)),
                None => count += u64::from(at >= since),
            }
        }
    }
    count
}

/// Which interface netifd says has, or has lost, its link: `Interface 'wan' has link connectivity
/// loss`.
fn link<'a>(process: &str, said: &'a str) -> Option<(&'a str, bool)> {
    let (interface, state) =
        said.strip_prefix("Interface '")?.split_once("' has link connectivity")?;
    process.contains("netifd").then_some((interface, !state.contains("loss")))
}
