// SPDX-License-Identifier: GPL-2.0-or-later
//! Interface to the router: files, ubus, programs, ethtool, ICMP echoes.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Map, Value};

mod echo;
#[cfg(test)]
pub(crate) mod fake;
mod ports;
mod router;
mod secret;

pub(crate) use router::{Router, lower_priority};

pub(crate) trait Machine {
    fn read(&self, path: &str) -> io::Result<String>;

    /// Returns the names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    fn link(&self, path: &str) -> io::Result<String>;

    /// Returns type and permissions of a file.
    fn mode(&self, path: &str) -> io::Result<u32>;

    /// Replaces the content of an existing file, such as a sysctl.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// Atomically creates or replaces a file that only root can read.
    fn keep(&self, path: &str, text: &str) -> io::Result<()>;

    /// Runs a program and returns its standard output, or a sentence about the error.
    fn run(&self, program: &'static str, args: &[&str]) -> Result<String, String>;

    /// Calls a method on ubus. Returns a sentence about an error.
    fn call(
        &self,
        object: &str,
        method: &str,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String>;

    fn ethtool(&self, device: &str) -> Result<Ethtool, String>;

    fn set_feature(&self, device: &str, feature: &str, on: bool) -> Result<(), String>;

    /// Hashes a word with the method and salt of the hash `setting`. `None` if that fails.
    fn crypt(&self, word: &str, setting: &str) -> Option<String>;

    /// Sends an ICMP echo in an IPv4 packet of `size` bytes with the flag "don't fragment".
    fn echo(&self, target: Ipv4Addr, size: u16) -> Result<Echo, String>;

    fn pause(&self, time: Duration);

    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64;
}

config::named! {
    /// Outcome of an echo. The names are the API's limits of a path.
    pub enum Echo {
        Answered = "none",
        /// The packet is too large for our own device.
        TooLarge = "device",
        /// A router on the path reported the packet as too large.
        Reported = "reported",
        Lost = "silent",
    }
}

/// Features, rings and channels of a port (`ethtool -k`, `-g`, `-l`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ethtool {
    /// Offloads by the kernel's name (`rx-gro`, `tx-tcp-segmentation`, …).
    pub features: BTreeMap<String, Feature>,
    /// `None` if the driver does not report rings.
    pub rings: Option<Rings>,
    /// `None` if the driver does not report queues.
    pub channels: Option<Channels>,
}

impl Ethtool {
    /// Returns an offload by the kernel's name. An unlisted offload is off and fixed.
    pub(crate) fn feature(&self, name: &str) -> Feature {
        let absent = Feature { on: false, fixed: true, wanted: false };
        self.features.get(name).copied().unwrap_or(absent)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Feature {
    pub on: bool,
    pub fixed: bool,
    /// The offload was requested. A requested offload is off while it depends on another one
    /// (ethtool: `off [requested on]`).
    pub wanted: bool,
}

/// Current and maximum descriptors of a port's rings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings {
    pub rx: u32,
    pub rx_max: u32,
    pub tx: u32,
    pub tx_max: u32,
}

/// Current and maximum queues of a port. Combined queues count for both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    pub rx: u32,
    pub rx_max: u32,
    pub tx: u32,
    pub tx_max: u32,
}
