// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads ports with driver, ethtool settings and missed frames.

use super::{Known, folder, number};
use crate::machine::{Ethtool, Machine};

pub(crate) const DEVICES: &str = "/sys/class/net";

#[derive(Debug, Clone, Default)]
pub(crate) struct Port {
    pub name: String,
    pub driver: String,
    pub ethtool: Known<Ethtool>,
    /// Frames lost because the ring was full.
    pub missed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Ports {
    pub all: Known<Vec<Port>>,
    /// Number of CPUs online.
    pub cpus: u32,
}

pub(crate) fn read(machine: &dyn Machine) -> Ports {
    let all = folder(machine, DEVICES)
        .map(|names| names.iter().filter_map(|name| port(machine, name)).collect());
    let stat = machine.read("/proc/stat").unwrap_or_default();
    let cpus = stat.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1);
    Ports { all: Known(all), cpus: u32::try_from(cpus).unwrap_or(u32::MAX).max(1) }
}

/// Reads a port. `None` for a device without a driver, and for a wireless device.
fn port(machine: &dyn Machine, name: &str) -> Option<Port> {
    let folder = format!("{DEVICES}/{name}");
    let uevent = machine.read(&format!("{folder}/uevent")).unwrap_or_default();
    let driver = machine.link(&format!("{folder}/device/driver")).ok()?;
    if uevent.contains("DEVTYPE=wlan") {
        return None;
    }
    let count = |file: &str| number(machine, &format!("{folder}/{file}")).get().copied();
    Some(Port {
        name: name.to_owned(),
        driver: driver.rsplit('/').next()?.to_owned(),
        ethtool: Known::new(machine.ethtool(name)),
        missed: count("statistics/rx_missed_errors").unwrap_or_default()
            + count("statistics/rx_fifo_errors").unwrap_or_default(),
    })
}
