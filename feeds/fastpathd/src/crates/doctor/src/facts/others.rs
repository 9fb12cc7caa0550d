// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the configuration of programs that mark or shape what the fast path forwards: mwan3, pbr,
//! sqm. Which of them start at boot.

use uci::Package;

use super::uci::package;
use super::{Known, exists};
use crate::machine::Machine;

/// Their configuration, none where a program does not start at boot.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// `/etc/config/mwan3`.
    pub mwan3: Known<Option<Package>>,
    /// `/etc/config/pbr`.
    pub pbr: Known<Option<Package>>,
    /// `/etc/config/sqm`.
    pub sqm: Known<Option<Package>>,
}

/// Reads it.
pub(crate) fn read(machine: &dyn Machine) -> Others {
    let [mwan3, pbr, sqm] = ["mwan3", "pbr", "sqm"].map(|name| {
        let path = format!("/etc/config/{name}");
        if !starts(machine, name) || !exists(machine, &path) {
            return Known::from(None);
        }
        Known(package(machine, &path).map(Some))
    });
    Others { mwan3, pbr, sqm }
}

/// Whether procd starts a program at boot: `/etc/rc.d/S19mwan3`.
fn starts(machine: &dyn Machine, name: &str) -> bool {
    let is_it = |link: &String| {
        let order = link.strip_suffix(name).and_then(|rest| rest.strip_prefix('S'));
        order.is_some_and(|order| order.bytes().all(|byte| byte.is_ascii_digit()))
    };
    machine.list("/etc/rc.d").is_ok_and(|links| links.iter().any(is_it))
}
