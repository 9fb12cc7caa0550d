// SPDX-License-Identifier: GPL-2.0-or-later
//! The interface between the doctor and the router: files, ubus, programs, ethtool, echoes.

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

pub(crate) use router::{Router, step_back};

/// Reads from the router and operations on it.
pub(crate) trait Machine {
    /// Reads a file as text.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Returns the names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Returns the target of a symbolic link.
    fn link(&self, path: &str) -> io::Result<String>;

    /// Returns type and permissions of a file.
    fn mode(&self, path: &str) -> io::Result<u32>;

    /// Replaces the content of an existing file, such as a sysctl.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// Atomically creates or replaces a file that only root can read.
    fn keep(&self, path: &str, text: &str) -> io::Result<()>;

    /// Runs a program and returns its standard output.
    ///
    /// # Errors
    /// Why the program could not be run, or its error message, as a sentence.
    fn run(&self, program: &'static str, args: &[&str]) -> Result<String, String>;

    /// Calls a method on ubus.
    ///
    /// # Errors
    /// Why the bus or the call failed, as a sentence.
    fn call(
        &self,
        object: &str,
        method: &str,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String>;

    /// Reads offloads, rings and queues of a port.
    ///
    /// # Errors
    /// The request and the kernel's error, as a sentence.
    fn ethtool(&self, device: &str) -> Result<Ethtool, String>;

    /// Switches an offload of a port.
    ///
    /// # Errors
    /// The request and the kernel's error, as a sentence.
    fn set_feature(&self, device: &str, feature: &str, on: bool) -> Result<(), String>;

    /// Hashes a word with the method and salt of the hash `setting`; `None` if that fails.
    fn crypt(&self, word: &str, setting: &str) -> Option<String>;

    /// Sends an ICMP echo that may not be fragmented, in an IPv4 packet of `size` bytes.
    ///
    /// # Errors
    /// Why the echo could not be sent.
    fn echo(&self, target: Ipv4Addr, size: u16) -> Result<Echo, String>;

    /// Waits between two readings of a counter.
    fn pause(&self, time: Duration);

    /// Returns the current Unix time in ms.
    fn now_ms(&self) -> u64;
}

config::named! {
    /// Outcome of an echo, and the API's name for the limit of the path.
    pub enum Echo {
        Answered = "none",
        /// The packet is too large for our own device.
        TooLarge = "device",
        /// A router on the path reported the packet as too large.
        Reported = "reported",
        /// No answer arrived.
        Lost = "silent",
    }
}

/// Features, rings and channels of a port (`ethtool -k`, `-g`, `-l`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ethtool {
    /// Offloads by the kernel's name (`rx-gro`, `tx-tcp-segmentation`, …).
    pub features: BTreeMap<String, Feature>,
    /// Descriptors of the rings; `None` if the driver does not report them.
    pub rings: Option<Rings>,
    /// Queues; `None` if the driver does not report them.
    pub channels: Option<Channels>,
}

impl Ethtool {
    /// Returns an offload by the kernel's name; off and fixed if the kernel does not list it.
    pub(crate) fn feature(&self, name: &str) -> Feature {
        let absent = Feature { on: false, fixed: true, wanted: false };
        self.features.get(name).copied().unwrap_or(absent)
    }
}

/// One offload of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Feature {
    /// The offload is in force.
    pub on: bool,
    /// The offload cannot be changed.
    pub fixed: bool,
    /// The offload was requested. A requested offload that is off depends on another one (ethtool:
    /// `off [requested on]`).
    pub wanted: bool,
}

/// Descriptors of a port's rings, current and maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings {
    pub rx: u32,
    pub rx_max: u32,
    pub tx: u32,
    pub tx_max: u32,
}

/// Queues of a port, current and maximum; combined queues count for both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    pub rx: u32,
    pub rx_max: u32,
    pub tx: u32,
    pub tx_max: u32,
}
