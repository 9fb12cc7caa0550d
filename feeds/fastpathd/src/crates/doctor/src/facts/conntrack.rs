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
    pub helpers: Known<Vec<String>>,
}

pub(crate) fn read(machine: &dyn Machine) -> Conntrack {
    let of = |name: &str| number(machine, &format!("{SETTINGS}/{name}"));
    let modules = text(machine, "/proc/modules");
    let named = |modules: &String| {
        let names = modules.lines().filter_map(|line| line.split(' ').next());
        let short = names.filter_map(|name| name.strip_prefix("nf_conntrack_"));
        short.filter(|name| HELPERS.contains(name)).map(str::to_owned).collect()
    };
    let helpers = modules.get().map(named);
    Conntrack {
        count: of("nf_conntrack_count"),
        limit: of("nf_conntrack_max"),
        buckets: of("nf_conntrack_buckets"),
        accounting: of("nf_conntrack_acct"),
        established: of("nf_conntrack_tcp_timeout_established"),
        helpers: Known(helpers),
    }
}
