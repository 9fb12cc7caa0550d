// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the kernel's state from `/proc`, host names from leases and `/etc/hosts`, modification
//! times of the doctor's inputs, and clocks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ebpf::connection::Timeouts;
use flows::Now;
use gateway::doctor::{Mark, Marks};
use gateway::sys::kernel::{Facts, Machine, Readings, parse_offset};
use rustix::time::{ClockId, clock_gettime};

use crate::sys::clock;

/// The doctor's report, which only root can read.
const REPORT: &str = "/var/run/fastpath-doctor.json";
/// odhcpd's option `leasefile` on `OpenWrt`.
const ODHCPD_LEASES: &str = "/tmp/odhcpd.leases";
const SETTINGS: &str = "/etc/config";
/// Folder that is not empty while a change is pending.
const CHANGE: &str = "/var/run/fastpath-change";

pub(crate) fn read(started: Now, own_rules: &Path) -> Machine {
    let word = |path| text(path).trim().to_owned();
    Machine {
        kernel: word("/proc/sys/kernel/osrelease"),
        ipsec: Path::new("/proc/sys/net/core/xfrm_larval_drop").exists(),
        memory: memory(&text("/proc/meminfo")),
        started,
        own_rules: own_rules.to_owned(),
    }
}

/// Returns the size of the main memory in bytes; 0 if `meminfo` lacks it.
fn memory(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse().ok());
    kib.unwrap_or(0_u64).saturating_mul(1024)
}

pub(crate) fn readings(leases: &Path, offset_s: i64) -> Readings {
    Readings {
        hostname: text("/proc/sys/kernel/hostname").trim().to_owned(),
        stat: text("/proc/stat"),
        net_dev: text("/proc/net/dev"),
        leases: text(leases) + &text(ODHCPD_LEASES),
        hosts: text("/etc/hosts"),
        offset_s,
        tz: text("/etc/TZ"),
        clock_is_set: Path::new("/dev/rtc0").exists() || clock::is_synchronised(),
        facts: Facts {
            accounting: switch("/proc/sys/net/netfilter/nf_conntrack_acct"),
            forwarding: switch("/proc/sys/net/ipv4/ip_forward"),
            conntrack_max: number("/proc/sys/net/netfilter/nf_conntrack_max").unwrap_or(0),
            conntrack_count: number("/proc/sys/net/netfilter/nf_conntrack_count"),
            refused: refused(&text("/proc/net/stat/nf_conntrack")),
            timeouts: timeouts(),
        },
        mtu6: mtu6(Path::new("/proc/sys/net/ipv6/conf")),
        doctor: marks(),
    }
}

fn marks() -> Marks {
    Marks { report: mark(REPORT), settings: mark(SETTINGS), change: mark(CHANGE) }
}

fn mark(path: &str) -> Mark {
    fs::metadata(path).ok().map(|of| (of.mtime(), of.mtime_nsec()))
}

fn mtu6(devices: &Path) -> Vec<(String, u32)> {
    let mtu = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let mtu = text(entry.path().join("mtu")).trim().parse().ok()?;
        Some((name, mtu))
    };
    fs::read_dir(devices).into_iter().flatten().flatten().filter_map(mtu).collect()
}

/// Sums the hexadecimal columns `drop` and `early_drop` over all CPUs.
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
    let default = Timeouts::default();
    Timeouts {
        tcp: seconds("tcp_timeout_established").unwrap_or(default.tcp),
        udp: seconds("udp_timeout_stream").unwrap_or(default.udp),
    }
}

fn number(path: &str) -> Option<u64> {
    text(path).trim().parse().ok()
}

/// Reads a file. Returns an empty text on failure, because all files read here are optional.
fn text(path: impl AsRef<Path>) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn switch(path: &str) -> Option<bool> {
    match text(path).trim() {
        "" => None,
        word => Some(word != "0"),
    }
}

/// Returns the seconds that local time is ahead of UTC, from `date`.
pub(crate) fn offset_s() -> i64 {
    let output = launch::without_capabilities(&mut Command::new("date")).arg("+%z").output();
    output
        .ok()
        .and_then(|output| parse_offset(&String::from_utf8_lossy(&output.stdout)))
        .unwrap_or(0)
}

pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_size_of_the_memory() {
        assert_eq!(memory("MemTotal:         512 kB\nMemFree:  1 kB\n"), 512 * 1024);
        assert_eq!(memory(""), 0);
    }

    #[test]
    fn sums_dropped_and_early_dropped_connections_of_all_cpus() {
        let stat = "entries  clashres found drop early_drop icmp_error\n\
                    0000ffff  00000001 00000002 00000010 00008177 00000005\n\
                    0000ffff  00000000 00000000 00000001 00000002 00000000\n";
        assert_eq!(refused(stat), 0x10 + 0x8177 + 1 + 2);
        assert_eq!(refused(""), 0, "a kernel without the file");
    }
}
