// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine in force, as far as it decides about flows.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use ctnetlink::Tuple;
use serde::{Deserialize, Serialize};

/// How established flows leave the slow path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// They do not.
    #[default]
    Off,
    /// Software flowtable.
    Flowtable,
    /// Flowtable with hardware offload.
    FlowtableHw,
}

/// The engine in force and what it leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineState {
    /// The engine in force, not the one asked for.
    pub engine: Engine,
    /// Flows that stay on the slow path by configuration.
    pub excludes: Vec<Exclude>,
}

/// An address with prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The network of `address`; `None` when `len` is longer than the address.
    #[must_use]
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (len <= most).then_some(Self { address, len })
    }

    /// Whether `address` is of the same family and inside.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let len = u32::from(self.len);
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(host)) => {
                (net.to_bits() ^ host.to_bits()).checked_shr(32 - len).unwrap_or(0) == 0
            }
            (IpAddr::V6(net), IpAddr::V6(host)) => {
                (net.to_bits() ^ host.to_bits()).checked_shr(128 - len).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Flows that stay on the slow path: all given conditions hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Where the initiator is.
    pub src: Option<Prefix>,
    /// Where the responder is, after destination NAT.
    pub dest: Option<Prefix>,
    /// Layer 4 protocol number.
    pub proto: Option<u8>,
    /// The initiator's port.
    pub src_port: Option<RangeInclusive<u16>>,
    /// The responder's port, after destination NAT.
    pub dest_port: Option<RangeInclusive<u16>>,
}

impl Exclude {
    /// Whether a connection with these tuples is meant.
    #[must_use]
    pub fn matches(&self, orig: &Tuple, reply: &Tuple) -> bool {
        self.src.is_none_or(|prefix| prefix.contains(orig.src))
            && self.dest.is_none_or(|prefix| prefix.contains(reply.src))
            && self.proto.is_none_or(|proto| proto == orig.proto)
            && self.src_port.as_ref().is_none_or(|ports| ports.contains(&orig.sport))
            && self.dest_port.as_ref().is_none_or(|ports| ports.contains(&reply.sport))
    }
}
