// SPDX-License-Identifier: GPL-2.0-or-later
//! Readings of the machine: settings and counters of the kernel, and contents of files.

use std::path::PathBuf;

use ebpf::connection::Timeouts;
use flows::Now;

use crate::doctor;

/// Settings, limits and counters of the running kernel, read once a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// `net.netfilter.nf_conntrack_acct`; `None` without conntrack.
    pub accounting: Option<bool>,
    /// `net.ipv4.ip_forward`.
    pub forwarding: Option<bool>,
    /// `net.netfilter.nf_conntrack_max`; 0 if unknown.
    pub conntrack_max: u64,
    /// `net.netfilter.nf_conntrack_count`; `None` if unknown.
    pub conntrack_count: Option<u64>,
    /// Connections that conntrack refused or ended early because its table was full.
    pub refused: u64,
    /// Conntrack's timeouts of established TCP and two-way UDP connections.
    pub timeouts: Timeouts,
}

/// Facts that do not change while the daemon runs.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    pub kernel: String,
    /// The kernel supports `IPsec` policies (`CONFIG_XFRM`).
    pub ipsec: bool,
    /// Size of the main memory in bytes; 0 if unknown.
    pub memory: u64,
    pub started: Now,
    /// File of the Suricata rules that are installed with the daemon.
    pub own_rules: PathBuf,
}

/// Contents of files that change at run time, read once a second.
#[derive(Debug, Default)]
pub struct Readings {
    pub hostname: String,
    pub stat: String,
    pub net_dev: String,
    pub leases: String,
    pub hosts: String,
    /// Seconds that local time is ahead of UTC.
    pub offset_s: i64,
    /// Time zone of POSIX; empty if the system has none.
    pub tz: String,
    /// The kernel calls the clock synchronised, or the machine has a real-time clock.
    pub clock_is_set: bool,
    pub facts: Facts,
    /// Names of devices and their IPv6 MTUs.
    pub mtu6: Vec<(String, u32)>,
    pub doctor: doctor::Marks,
}

/// Parses an offset such as `+0130` into seconds.
#[must_use]
pub fn parse_offset(text: &str) -> Option<i64> {
    let number = i64::from(text.trim().parse::<i32>().ok()?);
    Some(number / 100 * 3600 + number % 100 * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_utc_offset_with_sign_and_minutes() {
        assert_eq!(parse_offset("+0130\n"), Some(5400));
        assert_eq!(parse_offset("-0930"), Some(-34_200));
        assert_eq!(parse_offset("+0000"), Some(0));
        assert_eq!(parse_offset("UTC"), None);
        assert_eq!(parse_offset("9223372036854775807"), None);
    }
}
