// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel tells in /proc.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::core::{Machine, Readings};
use crate::health::Facts;

/// What does not change while the daemon runs.
pub(crate) fn read(started_ms: u64) -> Machine {
    let word = |path| text(path).trim().to_owned();
    Machine {
        kernel: word("/proc/sys/kernel/osrelease"),
        hostname: word("/proc/sys/kernel/hostname"),
        started_ms,
    }
}

/// What changes all the time.
pub(crate) fn readings(leases: &Path) -> Readings {
    Readings {
        stat: text("/proc/stat"),
        net_dev: text("/proc/net/dev"),
        leases: text(leases),
        hosts: text("/etc/hosts"),
        facts: Facts {
            accounting: switch("/proc/sys/net/netfilter/nf_conntrack_acct"),
            forwarding: switch("/proc/sys/net/ipv4/ip_forward"),
            conntrack_max: text("/proc/sys/net/netfilter/nf_conntrack_max")
                .trim()
                .parse()
                .unwrap_or(0),
        },
    }
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

/// CPU time that this process has used, in the kernel on its behalf included.
pub(crate) fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
