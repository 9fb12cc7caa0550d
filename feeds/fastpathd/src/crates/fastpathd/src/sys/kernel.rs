// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that the daemon reads once a second or at its start, most of them in `/proc`: accounting,
//! forwarding, conntrack's limit and timeouts, host name, leases. Also the offset of local time,
//! and the CPU time of this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ebpf::connection::Timeouts;
use flows::Now;
use rustix::time::{ClockId, clock_gettime};

use crate::doctor;

/// Switches and limits of the running kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `net.netfilter.nf_conntrack_acct`; none: no conntrack.
    pub(crate) accounting: Option<bool>,
    /// `net.ipv4.ip_forward`.
    pub(crate) forwarding: Option<bool>,
    /// `net.netfilter.nf_conntrack_max`; 0: unknown.
    pub(crate) conntrack_max: u64,
    /// `net.netfilter.nf_conntrack_count`; none: unknown.
    pub(crate) conntrack_count: Option<u64>,
    /// Connections that conntrack refused or ended early because its table was full.
    pub(crate) refused: u64,
    /// How long conntrack keeps connections.
    pub(crate) timeouts: Timeouts,
}

/// Facts that do not change while the daemon runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) kernel: String,
    /// It can encrypt packets by policy (`CONFIG_XFRM`).
    pub(crate) ipsec: bool,
    /// When the daemon did.
    pub(crate) started: Now,
    /// Rules that are installed with the daemon.
    pub(crate) own_rules: PathBuf,
}

/// Files that change all the time, read once a second.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    pub(crate) hostname: String,
    pub(crate) stat: String,
    pub(crate) net_dev: String,
    pub(crate) leases: String,
    pub(crate) hosts: String,
    /// Seconds that local time is ahead of UTC.
    pub(crate) offset_s: i64,
    pub(crate) facts: Facts,
    /// Device, and its MTU for IPv6.
    pub(crate) mtu6: Vec<(String, u32)>,
    pub(crate) doctor: doctor::Marks,
}

/// Reads facts that do not change while the daemon runs.
pub(crate) fn read(started: Now, own_rules: &Path) -> Machine {
    let word = |path| text(path).trim().to_owned();
    Machine {
        kernel: word("/proc/sys/kernel/osrelease"),
        ipsec: Path::new("/proc/sys/net/core/xfrm_larval_drop").exists(),
        started,
        own_rules: own_rules.to_owned(),
    }
}

/// Reads files that change all the time.
pub(crate) fn readings(leases: &Path, offset_s: i64) -> Readings {
    Readings {
        hostname: text("/proc/sys/kernel/hostname").trim().to_owned(),
        stat: text("/proc/stat"),
        net_dev: text("/proc/net/dev"),
        leases: text(leases),
        hosts: text("/etc/hosts"),
        offset_s,
        facts: Facts {
            accounting: switch("/proc/sys/net/netfilter/nf_conntrack_acct"),
            forwarding: switch("/proc/sys/net/ipv4/ip_forward"),
            conntrack_max: number("/proc/sys/net/netfilter/nf_conntrack_max").unwrap_or(0),
            conntrack_count: number("/proc/sys/net/netfilter/nf_conntrack_count"),
            refused: refused(&text("/proc/net/stat/nf_conntrack")),
            timeouts: timeouts(),
        },
        mtu6: mtu6(Path::new("/proc/sys/net/ipv6/conf")),
        doctor: doctor::run::marks(),
    }
}

fn mtu6(devices: &Path) -> Vec<(String, u32)> {
    let mtu = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let mtu = text(entry.path().join("mtu")).trim().parse().ok()?;
        Some((name, mtu))
    };
    fs::read_dir(devices).into_iter().flatten().flatten().filter_map(mtu).collect()
}

/// The sum of `drop` and `early_drop` over the lines of the CPUs, all hexadecimal.
fn refused(stat: &str) -> u64 {
    let mut lines = stat.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let full = |name: &str| matches!(name, "drop" | "early_drop");
    let of_cpu = |line: &str| -> u64 {
        let counts = names.iter().zip(line.split_whitespace()).filter(|(name, _)| full(name));
        counts.filter_map(|(_, count)| u64::from_str_radix(count, 16).ok()).sum()
    };
    lines.map(of_cpu).sum()
}

fn timeouts() -> Timeouts {
    let seconds = |name: &str| {
        number(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}")).map(Duration::from_secs)
    };
    let usual = Timeouts::default();
    Timeouts {
        tcp: seconds("tcp_timeout_established").unwrap_or(usual.tcp),
        udp: seconds("udp_timeout_stream").unwrap_or(usual.udp),
    }
}

fn number(path: &str) -> Option<u64> {
    text(path).trim().parse().ok()
}

/// A file that cannot be read is as good as an empty one: these are all optional.
fn text(path: impl AsRef<Path>) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn switch(path: &str) -> Option<bool> {
    match text(path).trim() {
        "" => None,
        word => Some(word != "0"),
    }
}

/// Seconds that local time is ahead of UTC, as `date` of this system knows it.
pub(crate) fn offset_s() -> i64 {
    let said = launch::without_capabilities(&mut Command::new("date")).arg("+%z").output();
    said.ok().and_then(|said| parse_offset(&String::from_utf8_lossy(&said.stdout))).unwrap_or(0)
}

/// `+0130` and the like.
pub(crate) fn parse_offset(text: &str) -> Option<i64> {
    let number = i64::from(text.trim().parse::<i32>().ok()?);
    Some(number / 100 * 3600 + number % 100 * 60)
}

/// CPU time that this process has used, in the kernel on its behalf included.
pub(crate) fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_a_sign_and_minutes() {
        assert_eq!(parse_offset("+0130\n"), Some(5400));
        assert_eq!(parse_offset("-0930"), Some(-34_200));
        assert_eq!(parse_offset("+0000"), Some(0));
        assert_eq!(parse_offset("UTC"), None);
        assert_eq!(parse_offset("9223372036854775807"), None);
    }

    #[test]
    fn refused_connections_are_the_sum_of_two_columns_of_all_cpus() {
        let stat = "entries  clashres found drop early_drop icmp_error\n\
                    0000ffff  00000001 00000002 00000010 00008177 00000005\n\
                    0000ffff  00000000 00000000 00000001 00000002 00000000\n";
        assert_eq!(refused(stat), 0x10 + 0x8177 + 1 + 2);
        assert_eq!(refused(""), 0, "a kernel without it");
    }
}
