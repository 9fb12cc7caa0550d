// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `ips` of `/etc/config/fastpath`, with defaults and ranges.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use config::{Fault, Network, Package, Section, is_device_name, number_in, switch};
use model::{Action, FailPolicy, InspectionMode, Spread};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub enabled: bool,
    pub mode: InspectionMode,
    pub fail: FailPolicy,
    pub default: Action,
    /// Bytes of a connection, both directions, after which its inspection may end. 0 for no limit.
    pub budget_bytes: u64,
    /// Packets of a connection after which its inspection may end. 0 for no limit.
    pub budget_packets: u32,
    pub spread: Spread,
    pub queue_first: u16,
    pub queue_length: u32,
    /// Inspected bytes of each stream direction; 0 for all.
    pub depth: u32,
    /// Memory of all Suricata tables, MiB.
    pub memory: u32,
    /// `HOME_NET`. If empty, the daemon determines it.
    pub home: Vec<Network>,
    /// Networks that are never inspected, as source or destination.
    pub exempt: Vec<Network>,
    /// Ports to tap ([`InspectionMode::Ids`]) or to bridge ([`InspectionMode::Inline`]), in
    /// configured order.
    pub devices: Vec<String>,
    pub block: bool,
    pub block_time: Duration,
    /// Maximum number of blocked sources per address family.
    pub block_limit: u32,
    pub block_exempt: Vec<Network>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            mode: InspectionMode::default(),
            fail: FailPolicy::default(),
            default: Action::default(),
            budget_bytes: 1 << 20,
            budget_packets: 0,
            spread: Spread::default(),
            queue_first: 0,
            queue_length: 4096,
            depth: 1 << 20,
            memory: 128,
            home: Vec::new(),
            exempt: Vec::new(),
            devices: Vec::new(),
            block: false,
            block_time: Duration::from_secs(600),
            block_limit: 1024,
            block_exempt: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads section `ips` and records its problems in the package.
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        if let Some(mut section) = package.take_one("ips") {
            settings.read_section(&mut section);
            package.close(section);
        }
        settings
    }

    fn read_section(&mut self, section: &mut Section<'_>) {
        set(&mut self.enabled, section.value("enabled", switch));
        set(&mut self.mode, section.value("mode", InspectionMode::from_str));
        set(&mut self.fail, section.value("fail", FailPolicy::from_str));
        set(&mut self.default, section.value("default", Action::from_str));
        let bytes = section.value("budget_bytes", number_in(0..=u32::MAX));
        set(&mut self.budget_bytes, bytes.map(u64::from));
        set(&mut self.budget_packets, section.value("budget_packets", number_in(0..=u32::MAX)));
        set(&mut self.spread, section.value("spread", Spread::from_str));
        set(&mut self.queue_first, section.value("queue_first", queue_number));
        set(&mut self.queue_length, section.value("queue_length", number_in(64..=65_536)));
        set(&mut self.depth, section.value("depth", number_in(0..=u32::MAX)));
        set(&mut self.memory, section.value("memory", number_in(16..=65_536)));
        self.home = networks(section, "home");
        self.exempt = networks(section, "exempt");
        set(&mut self.block, section.value("block", switch));
        let seconds = section.value("block_time", number_in(1..=2_592_000));
        set(&mut self.block_time, seconds.map(|seconds| Duration::from_secs(seconds.into())));
        set(&mut self.block_limit, section.value("block_limit", number_in(1..=65_536)));
        self.block_exempt = networks(section, "block_exempt");
        self.read_devices(section);
    }

    fn read_devices(&mut self, section: &mut Section<'_>) {
        let mut seen = BTreeSet::new();
        for name in section.list("device") {
            if !is_device_name(name) {
                section.error("device", name, Fault::DeviceName);
            } else if !seen.insert(name) {
                section.error("device", name, Fault::Duplicate);
            } else {
                self.devices.push(name.to_owned());
            }
        }
        if !section.is_good() || !self.enabled {
            return;
        }
        let given = self.devices.join(" ");
        match self.mode {
            InspectionMode::Inline if self.devices.len() != 2 => {
                section.error("device", &given, Fault::InlinePorts);
            }
            InspectionMode::Ids if self.devices.is_empty() => {
                section.error("device", &given, Fault::IdsPorts);
            }
            InspectionMode::Ids if self.devices.len() > MAX_DEVICES => {
                section.error("device", &given, Fault::TooManyPorts { most: MAX_DEVICES });
            }
            _ => {}
        }
    }
}

/// Maximum number of taps, because each one needs memory for a packet ring.
const MAX_DEVICES: usize = 16;

fn set<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}

/// Parses the number of the first queue. The limit leaves numbers for one queue per CPU.
fn queue_number(text: &str) -> Result<u16, Fault> {
    const MAX_FIRST: u32 = 65_000;
    let number = number_in(0..=MAX_FIRST)(text)?;
    u16::try_from(number).map_err(|_| Fault::TooLarge)
}

fn networks(section: &mut Section<'_>, option: &'static str) -> Vec<Network> {
    let mut networks = Vec::new();
    for text in section.list(option) {
        match text.parse::<Network>() {
            Ok(network) if networks.contains(&network) => {}
            Ok(network) => networks.push(network),
            Err(fault) => section.error(option, text, fault),
        }
    }
    networks
}

#[cfg(test)]
mod tests;
