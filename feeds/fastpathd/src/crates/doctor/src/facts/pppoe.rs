// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads PPPoE sessions with the MTUs of their devices, and counts sessions that ended within a
//! day.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ports::DEVICES;
use super::{Known, answer, list, number, word};
use crate::machine::Machine;

/// Interval in which reconnects are counted, in ms.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Number of log lines that are read.
const LINES: u64 = 5000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    /// The ppp device.
    pub device: String,
    /// The device below the session.
    pub lower: String,
    /// MTU of `device`; 0 if unknown.
    pub mtu: u64,
    /// MTU of `lower`; 0 if unknown.
    pub lower_mtu: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Pppoe {
    /// Sessions that the daemon reports.
    pub sessions: Known<Vec<Session>>,
    /// Sessions that ended within a day, counted in the system log; unknown without a log.
    pub ended: Known<u64>,
}

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

/// Maximum time in ms between the loss of the link and netifd's end of the session.
const CABLE_MS: u64 = 10_000;

/// Counts sessions that ended within a day, by a line that pppd logs for each. netifd terminates
/// pppd (signal 15) if the administrator ends a session, which does not count, and after a loss of
/// the link, which does.
fn ended(machine: &dyn Machine) -> Known<u64> {
    let args = json!({"lines": LINES, "stream": false, "oneshot": true});
    let since = machine.now_ms().saturating_sub(DAY_MS);
    Known(answer(machine, "log", "read", &args).0.map(|log| faults(list(&log, "log"), since)))
}

fn faults(lines: &[Value], since: u64) -> u64 {
    // Interfaces without a link, and since when. The loss of an interface on top of the session
    // (wan6) is a consequence of its end, not the cause.
    let mut without_link: BTreeMap<&str, u64> = BTreeMap::new();
    // Interface of each pppd, by name and id of the process.
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
            // Another process may get the id later.
            match terminated.iter().position(|other| *other == process) {
                Some(place) => drop(terminated.swap_remove(place)),
                None => count += u64::from(at >= since),
            }
        }
    }
    count
}

/// Parses netifd's message that an interface has or lost its link, such as `Interface 'wan' has
/// link connectivity loss`.
fn link<'a>(process: &str, said: &'a str) -> Option<(&'a str, bool)> {
    let (interface, state) =
        said.strip_prefix("Interface '")?.split_once("' has link connectivity")?;
    process.contains("netifd").then_some((interface, !state.contains("loss")))
}
