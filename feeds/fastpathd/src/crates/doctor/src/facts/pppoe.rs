// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads PPPoE sessions with the MTUs of their devices, and counts ended sessions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ports::DEVICES;
use super::{Known, answer, list, number, word};
use crate::machine::Machine;

/// Interval in which ended sessions are counted, in ms.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_LOG_LINES: u64 = 5000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    pub device: String,
    pub lower: String,
    /// MTU of `device`. 0 if unknown.
    pub mtu: u64,
    /// MTU of `lower`. 0 if unknown.
    pub lower_mtu: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Pppoe {
    pub sessions: Known<Vec<Session>>,
    /// Number of sessions that ended within a day, from the system log.
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

/// Maximum time between a link loss and the end of the session by netifd, in ms.
const MAX_LINK_LOSS_MS: u64 = 10_000;

/// Counts sessions that ended within a day, by pppd's log lines. Excludes sessions that an
/// administrator ended, for which netifd terminates pppd (signal 15) without a link loss.
fn ended(machine: &dyn Machine) -> Known<u64> {
    let args = json!({"lines": MAX_LOG_LINES, "stream": false, "oneshot": true});
    let since = machine.now_ms().saturating_sub(DAY_MS);
    Known(answer(machine, "log", "read", &args).0.map(|log| faults(list(&log, "log"), since)))
}

fn faults(lines: &[Value], since: u64) -> u64 {
    // Interfaces without a link, and the time of the loss. The loss of an alias such as wan6 is a
    // consequence of the session's end, not its cause.
    let mut without_link: BTreeMap<&str, u64> = BTreeMap::new();
    // Interface of each pppd, by process name and id.
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
            if lost.is_none_or(|lost| at > lost + MAX_LINK_LOSS_MS) {
                terminated.push(process);
            }
        } else if said.contains("Connect time") {
            // Remove the process, because its id may be reused.
            match terminated.iter().position(|other| *other == process) {
                Some(place) => drop(terminated.swap_remove(place)),
                None => count += u64::from(at >= since),
            }
        }
    }
    count
}

/// Parses netifd's message about the link of an interface, such as `Interface 'wan' has link
/// connectivity loss`.
fn link<'a>(process: &str, said: &'a str) -> Option<(&'a str, bool)> {
    let (interface, state) =
        said.strip_prefix("Interface '")?.split_once("' has link connectivity")?;
    process.contains("netifd").then_some((interface, !state.contains("loss")))
}
