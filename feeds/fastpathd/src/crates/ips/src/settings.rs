// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads section `ips` of `/etc/config/fastpath`, with defaults and ranges.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use config::{Fault, Network, Package, Section, is_device_name, number_in, switch};
use model::{Action, FailPolicy, InspectionMode, Spread};

/// Checked section `ips 'ips'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub enabled: bool,
    /// How packets reach Suricata.
    pub mode: InspectionMode,
    /// Policy while Suricata does not work.
    pub fail: FailPolicy,
    /// Action for connections that match no policy.
    pub default: Action,
    /// Bytes of a connection, both directions, after which its inspection may end; 0 for no limit.
    pub budget_bytes: u64,
    /// Packets of a connection after which its inspection may end; 0 for no limit.
    pub budget_packets: u32,
    /// How the kernel chooses a queue.
    pub spread: Spread,
    pub queue_first: u16,
    /// Maximum number of packets that wait in one queue.
    pub queue_length: u32,
    /// Bytes of each stream direction that Suricata inspects; 0 for all.
    pub depth: u32,
    /// MiB for all of Suricata's tables together.
    pub memory: u32,
    /// `HOME_NET`; the daemon determines it if empty.
    pub home: Vec<Network>,
    /// Networks that are never inspected, as source or destination.
    pub exempt: Vec<Network>,
    /// Ports to tap ([`InspectionMode::Ids`]) or to bridge ([`InspectionMode::Inline`]), in the
    /// configured order.
    pub devices: Vec<String>,
    /// Blocks sources that trigger a drop rule.
    pub block: bool,
    /// Duration of a block.
    pub block_time: Duration,
    /// Maximum number of blocked sources of each address family.
    pub block_limit: u32,
    /// Networks that are never blocked.
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
    /// Takes section `ips` from the package and records its problems there.
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
        take(&mut self.enabled, section.value("enabled", switch));
        take(&mut self.mode, section.value("mode", InspectionMode::from_str));
        take(&mut self.fail, section.value("fail", FailPolicy::from_str));
        take(&mut self.default, section.value("default", Action::from_str));
        let bytes = section.value("budget_bytes", number_in(0..=u32::MAX));
        take(&mut self.budget_bytes, bytes.map(u64::from));
        take(&mut self.budget_packets, section.value("budget_packets", number_in(0..=u32::MAX)));
        take(&mut self.spread, section.value("spread", Spread::from_str));
        take(&mut self.queue_first, section.value("queue_first", queue_number));
        take(&mut self.queue_length, section.value("queue_length", number_in(64..=65_536)));
        take(&mut self.depth, section.value("depth", number_in(0..=u32::MAX)));
        take(&mut self.memory, section.value("memory", number_in(16..=65_536)));
        self.home = networks(section, "home");
        self.exempt = networks(section, "exempt");
        take(&mut self.block, section.value("block", switch));
        let seconds = section.value("block_time", number_in(1..=2_592_000));
        take(&mut self.block_time, seconds.map(|seconds| Duration::from_secs(seconds.into())));
        take(&mut self.block_limit, section.value("block_limit", number_in(1..=65_536)));
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

/// More taps than a router has ports would only waste memory for packet rings.
const MAX_DEVICES: usize = 16;

fn take<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}

/// Parses the number of the first queue, and leaves room above it for a queue of each CPU.
fn queue_number(text: &str) -> Result<u16, Fault> {
    const LAST: u32 = 65_000;
    let number = number_in(0..=LAST)(text)?;
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
