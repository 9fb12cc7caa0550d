// SPDX-License-Identifier: GPL-2.0-or-later
//! What the owner wants, checked.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// What takes established flows off the slow path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// Nothing.
    Off,
    /// The kernel's software flowtable.
    #[default]
    Flowtable,
    /// The flowtable in hardware, where the drivers can.
    FlowtableHw,
}

impl Engine {
    /// The name in the configuration and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Flowtable => "flowtable",
            Self::FlowtableHw => "flowtable-hw",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    /// Text of the error: what is known instead.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "flowtable" => Ok(Self::Flowtable),
            "flowtable-hw" => Ok(Self::FlowtableHw),
            _ => Err("is no engine; known are off, flowtable, flowtable-hw".to_owned()),
        }
    }
}

/// What happens to the table when the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnExit {
    /// It stays: the kernel goes on offloading.
    #[default]
    Keep,
    /// It is removed.
    Remove,
}

/// An address range in CIDR form; host bits are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// First address.
    pub address: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
}

/// A port or a range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// First port.
    pub first: u16,
    /// Last port, not smaller than the first.
    pub last: u16,
}

/// Flows that stay on the slow path: all that is given must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Exclude {
    /// What the owner calls it; may be empty.
    pub name: String,
    /// Who opened the flow.
    pub src: Option<Network>,
    /// Whom it was opened to, after destination NAT.
    pub dest: Option<Network>,
    /// IP protocol: 6 TCP, 17 UDP; none: both.
    pub proto: Option<u8>,
    /// Ports it was opened from.
    pub src_port: Option<Ports>,
    /// Ports it was opened to.
    pub dest_port: Option<Ports>,
}

/// `/etc/config/fastpath`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Off means engine [`Engine::Off`], whatever `engine` says.
    pub enabled: bool,
    /// Engine asked for.
    pub engine: Engine,
    /// What SIGTERM does with the table.
    pub on_exit: OnExit,
    /// Bits of the packet mark that are ours.
    pub mark_mask: u32,
    /// Shortest time between counter refreshes.
    pub refresh: Duration,
    /// Only these lowest devices; empty: found by itself.
    pub devices: BTreeSet<String>,
    /// Never these.
    pub ignore_devices: BTreeSet<String>,
    /// Flows that stay on the slow path.
    pub excludes: Vec<Exclude>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            engine: Engine::default(),
            on_exit: OnExit::default(),
            mark_mask: 0x6000_0000,
            refresh: Duration::from_secs(1),
            devices: BTreeSet::new(),
            ignore_devices: BTreeSet::new(),
            excludes: Vec::new(),
        }
    }
}

/// One thing wrong in the configuration. Displays as
/// `section 'main', option 'engine', value 'warp': is no engine; …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Name of the section; for an anonymous one its place, `@exclude[0]`.
    pub section: String,
    /// Name of the option; empty if the section itself is meant.
    pub option: String,
    /// The value as found; empty if there is none.
    pub value: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "section '{}'", self.section)?;
        if !self.option.is_empty() {
            write!(f, ", option '{}', value '{}'", self.option, self.value)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// The configuration cannot be used; all problems at once.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SettingsError {
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Settings {
    /// Checks the `values` of `ubus call uci get {"config":"fastpath"}` (or of
    /// [`crate::parse_uci`]). Beside the settings come warnings: what was ignored.
    ///
    /// # Errors
    /// At least one value cannot be used.
    pub fn from_uci(values: &Value) -> Result<(Self, Vec<Problem>), SettingsError> {
        let _ = values;
        Ok((Self::default(), Vec::new()))
    }

    /// The engine that these settings ask for, the switch considered.
    #[must_use]
    pub fn wanted(&self) -> Engine {
        if self.enabled { self.engine } else { Engine::Off }
    }
}
