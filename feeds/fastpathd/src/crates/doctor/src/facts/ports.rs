// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the ports: which network devices are ports, their driver, ethtool's settings, and missed
//! frames.

use super::{Known, folder, number};
use crate::machine::{Ethtool, Machine};

/// Where devices are.
pub(crate) const DEVICES: &str = "/sys/class/net";

/// One port.
#[derive(Debug, Clone, Default)]
pub(crate) struct Port {
    /// Its name.
    pub name: String,
    /// Its driver; empty: unknown.
    pub driver: String,
    /// Offloads, rings, queues.
    pub ethtool: Known<Ethtool>,
    /// Frames lost since its ring was full.
    pub missed: u64,
}

/// All ports.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// By name.
    pub all: Known<Vec<Port>>,
    /// CPUs that are online.
    pub cpus: u32,
}

/// Reads them.
pub(crate) fn read(machine: &dyn Machine) -> Ports {
    let all = folder(machine, DEVICES)
        .map(|names| names.iter().filter_map(|name| port(machine, name)).collect());
    let stat = machine.read("/proc/stat").unwrap_or_default();
    let cpus = stat.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1);
    Ports { all: Known(all), cpus: u32::try_from(cpus).unwrap_or(u32::MAX).max(1) }
}

/// A device that stands on hardware, or is a port of a switch.
fn port(machine: &dyn Machine, name: &str) -> Option<Port> {
    let folder = format!("{DEVICES}/{name}");
    let uevent = machine.read(&format!("{folder}/uevent")).unwrap_or_default();
    let driver = machine.link(&format!("{folder}/device/driver"));
    // Wireless ones (DEVTYPE=wlan) have offloads of another kind.
    let switch = uevent.lines().any(|line| line == "DEVTYPE=dsa");
    if driver.is_err() && !switch || uevent.contains("DEVTYPE=wlan") {
        return None;
    }
    let count = |file: &str| number(machine, &format!("{folder}/{file}")).get().copied();
    Some(Port {
        name: name.to_owned(),
        driver: driver.ok().and_then(|to| to.rsplit('/').next().map(str::to_owned))?,
        ethtool: Known::new(machine.ethtool(name)),
        missed: count("statistics/rx_missed_errors").unwrap_or_default()
            + count("statistics/rx_fifo_errors").unwrap_or_default(),
    })
}
