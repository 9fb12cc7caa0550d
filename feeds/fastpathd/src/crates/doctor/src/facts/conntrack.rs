// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads connection tracking: entries, limit, hash, timeouts, accounting, and the loaded helpers by
//! a list of modules.

use super::{Known, number, text};
use crate::machine::Machine;

/// Where its settings are.
pub(crate) const SETTINGS: &str = "/proc/sys/net/netfilter";
/// Where the size of its hash is.
pub(crate) const BUCKETS: &str = "/sys/module/nf_conntrack/parameters/hashsize";
/// Names of the helpers' modules, without `nf_conntrack_`.
const HELPERS: &[&str] =
    &["amanda", "ftp", "h323", "irc", "netbios_ns", "pptp", "sane", "sip", "snmp", "tftp"];

/// Its settings and its fill level.
#[derive(Debug, Default)]
pub(crate) struct Conntrack {
    /// Connections known.
    pub count: Known<u64>,
    /// As many as there may be.
    pub limit: Known<u64>,
    /// Buckets of the hash.
    pub buckets: Known<u64>,
    /// Whether bytes and packets are counted.
    pub accounting: Known<u64>,
    /// Seconds an established TCP connection is kept without packets.
    pub established: Known<u64>,
    /// Whether helpers inspect all connections by port (gone with Linux 6.0).
    pub automatic: bool,
    /// Modules of helpers that are loaded, by the kernel's name of the helper.
    pub helpers: Known<Vec<String>>,
    /// Those of them with a module for address translation loaded, which depends on them.
    pub translated: Vec<String>,
}

/// Reads it.
pub(crate) fn read(machine: &dyn Machine) -> Conntrack {
    let of = |name: &str| number(machine, &format!("{SETTINGS}/{name}"));
    let modules = text(machine, "/proc/modules");
    let named = |modules: &String, prefix: &str| {
        let names = modules.lines().filter_map(|line| line.split(' ').next());
        let short = names.filter_map(|name| name.strip_prefix(prefix));
        short.filter(|name| HELPERS.contains(name)).map(str::to_owned).collect::<Vec<_>>()
    };
    let helpers = modules.get().map(|modules| named(modules, "nf_conntrack_"));
    let translated = modules.get().map(|modules| named(modules, "nf_nat_"));
    Conntrack {
        count: of("nf_conntrack_count"),
        limit: of("nf_conntrack_max"),
        buckets: of("nf_conntrack_buckets"),
        accounting: of("nf_conntrack_acct"),
        established: of("nf_conntrack_tcp_timeout_established"),
        automatic: of("nf_conntrack_helper").get() == Ok(&1),
        helpers: Known(helpers),
        translated: translated.unwrap_or_default(),
    }
}
