// SPDX-License-Identifier: GPL-2.0-or-later
//! The router behind a trait, as the doctor sees it: files, ubus, programs, ethtool, echoes. Also
//! the forms of offloads, rings and queues.

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

/// Questions that the doctor may ask the router it runs on, and operations on it.
pub(crate) trait Machine {
    /// The text of a file.
    fn read(&self, path: &str) -> io::Result<String>;

    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Where a symbolic link points to.
    fn link(&self, path: &str) -> io::Result<String>;

    /// Type and permissions of a file.
    fn mode(&self, path: &str) -> io::Result<u32>;

    /// Replaces the contents of an existing file (a switch of the kernel's).
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// A file that only root reads, new or in place of the one before, at once.
    fn keep(&self, path: &str, text: &str) -> io::Result<()>;

    /// Runs a program and gives its standard output.
    ///
    /// # Errors
    /// Why it could not be run, or its error message, as a sentence.
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

    /// Offloads, rings and queues of a port.
    ///
    /// # Errors
    /// The request and the kernel's answer, as a sentence.
    fn ethtool(&self, device: &str) -> Result<Ethtool, String>;

    /// Switches an offload of a port.
    ///
    /// # Errors
    /// The attempt and the kernel's answer, as a sentence.
    fn set_feature(&self, device: &str, feature: &str, on: bool) -> Result<(), String>;

    /// The hash of a word made as `setting`, which is such a hash, was made.
    fn crypt(&self, word: &str, setting: &str) -> Option<String>;

    /// Sends an ICMP echo that may not be fragmented, in an IPv4 packet of `size` bytes.
    ///
    /// # Errors
    /// Why nothing could be sent.
    fn echo(&self, target: Ipv4Addr, size: u16) -> Result<Echo, String>;

    /// Waits, so that two readings of a counter are this far apart.
    fn pause(&self, time: Duration);

    /// The clock, Unix ms.
    fn now_ms(&self) -> u64;
}

config::named! {
    /// The outcome of an echo; the limit of the path in the API.
    pub enum Echo {
        /// It was answered.
        Answered = "none",
        /// Our own device takes no packets of that size.
        TooLarge = "device",
        /// A router on the path reported that it was too large.
        Reported = "reported",
        /// No answer.
        Lost = "silent",
    }
}

/// Features, rings and channels of a port, as `ethtool -k`, `-g` and `-l` show them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ethtool {
    /// Offloads by the kernel's name (`rx-gro`, `tx-tcp-segmentation`, …).
    pub features: BTreeMap<String, Feature>,
    /// Descriptors of its rings; none: the driver does not report them.
    pub rings: Option<Rings>,
    /// Its queues; none: the driver does not report them.
    pub channels: Option<Channels>,
}

impl Ethtool {
    /// An offload by the kernel's name; one that the kernel does not list is off and fixed.
    pub(crate) fn feature(&self, name: &str) -> Feature {
        let absent = Feature { on: false, fixed: true, wanted: false };
        self.features.get(name).copied().unwrap_or(absent)
    }
}

/// One offload of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Whether it is in force.
    pub on: bool,
    /// Whether it cannot be changed.
    pub fixed: bool,
    /// Whether it was requested. One that is requested and not on depends on another one that is
    /// off (`off [requested on]` of ethtool).
    pub wanted: bool,
}

/// Descriptors of a port's rings, now and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings {
    /// Receiving.
    pub rx: u32,
    /// Receiving, at most.
    pub rx_max: u32,
    /// Sending.
    pub tx: u32,
    /// Sending, at most.
    pub tx_max: u32,
}

/// Queues of a port, now and at most; combined ones count for both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    /// Receiving.
    pub rx: u32,
    /// Receiving, at most.
    pub rx_max: u32,
    /// Sending.
    pub tx: u32,
    /// Sending, at most.
    pub tx_max: u32,
}
