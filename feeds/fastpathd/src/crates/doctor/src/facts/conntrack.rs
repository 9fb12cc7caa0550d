// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads settings, size and helpers of conntrack.

use super::{Known, number, text};
use crate::machine::Machine;

pub(crate) const SETTINGS: &str = "/proc/sys/net/netfilter";
pub(crate) const BUCKETS: &str = "/sys/module/nf_conntrack/parameters/hashsize";
/// Names of helper modules without the prefix `nf_conntrack_`.
const HELPERS: &[&str] =
    &["amanda", "ftp", "h323", "irc", "netbios_ns", "pptp", "sane", "sip", "snmp", "tftp"];

#[derive(Debug, Default)]
pub(crate) struct Conntrack {
    pub count: Known<u64>,
    pub limit: Known<u64>,
    pub buckets: Known<u64>,
    /// 1 if bytes and packets are counted.
    pub accounting: Known<u64>,
    /// Timeout of an established TCP connection, in seconds.
    pub established: Known<u64>,
    /// Helpers are assigned by port automatically (removed in Linux 6.0).
    pub automatic: bool,
    pub helpers: Known<Vec<String>>,
    /// Helpers with a loaded NAT module.
    pub translated: Vec<String>,
}

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
