// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the configuration of programs that mark or shape forwarded packets (mwan3, pbr, sqm), and
//! finds programs that count traffic.

use config::sort::Collect;
use std::collections::BTreeSet;

use uci::Package;

use super::uci::package;
use super::{Known, exists, processes};
use crate::machine::Machine;

/// Other programs. A configuration is `None` if its program does not start at boot or has no file.
#[derive(Debug, Default)]
pub(crate) struct Others {
    pub mwan3: Known<Option<Package>>,
    pub pbr: Known<Option<Package>>,
    pub sqm: Known<Option<Package>>,
    /// Running programs that count traffic.
    pub counting: BTreeSet<&'static str>,
}

/// Program that reads conntrack's counters.
pub(crate) const BY_CONNTRACK: &str = "nlbwmon";
/// Programs that read counters of devices.
pub(crate) const BY_DEVICE: [&str; 2] = ["vnstatd", "collectd"];

pub(crate) fn read(machine: &dyn Machine) -> Others {
    let [mwan3, pbr, sqm] = ["mwan3", "pbr", "sqm"].map(|name| {
        let path = format!("/etc/config/{name}");
        if !starts(machine, name) || !exists(machine, &path) {
            return Known::from(None);
        }
        Known(package(machine, &path).map(Some))
    });
    Others { mwan3, pbr, sqm, counting: counting(machine) }
}

fn counting(machine: &dyn Machine) -> BTreeSet<&'static str> {
    let known = || BY_DEVICE.into_iter().chain([BY_CONNTRACK]);
    let name = |process: String| machine.read(&format!("/proc/{process}/comm")).ok();
    let running = processes(machine).filter_map(name);
    running.filter_map(|name| known().find(|known| *known == name.trim())).into_set()
}

/// Returns whether a program starts at boot, by a link such as `/etc/rc.d/S19mwan3`.
fn starts(machine: &dyn Machine, name: &str) -> bool {
    let is_it = |link: &String| {
        let order = link.strip_suffix(name).and_then(|rest| rest.strip_prefix('S'));
        order.is_some_and(|order| order.bytes().all(|byte| byte.is_ascii_digit()))
    };
    machine.list("/etc/rc.d").is_ok_and(|links| links.iter().any(is_it))
}
