// SPDX-License-Identifier: GPL-2.0-or-later
//! The engine in force, as far as it affects flows.

use std::ops::RangeInclusive;

use config::Network;
use ctnetlink::Tuple;
use serde::{Deserialize, Serialize};

/// How established flows are offloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Not at all.
    #[default]
    Off,
    /// Software flowtable.
    Flowtable,
    /// Flowtable with hardware offload.
    FlowtableHw,
    /// eBPF programs on some devices, the flowtable on the others.
    Ebpf,
}

/// The engine in force and its exclusions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineState {
    /// The engine in force, not the configured one.
    pub engine: Engine,
    /// Flows that stay on the slow path by configuration.
    pub excludes: Vec<Exclude>,
    /// Bits of the connection mark that the last rules set, for packets from the initiator and to
    /// it; zeros: none.
    pub passed: [u32; 2],
}

/// Flows that stay on the slow path: all given conditions must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Networks of the initiator.
    pub src: Option<Network>,
    /// Networks of the responder, after destination NAT.
    pub dest: Option<Network>,
    /// Layer 4 protocol number.
    pub proto: Option<u8>,
    /// The initiator's port.
    pub src_port: Option<RangeInclusive<u16>>,
    /// The responder's port, after destination NAT.
    pub dest_port: Option<RangeInclusive<u16>>,
}

impl Exclude {
    /// Whether a connection with these tuples matches.
    #[must_use]
    pub fn matches(&self, orig: &Tuple, reply: &Tuple) -> bool {
        self.src.is_none_or(|network| network.contains(orig.src))
            && self.dest.is_none_or(|network| network.contains(reply.src))
            && self.proto.is_none_or(|proto| proto == orig.proto)
            && self.src_port.as_ref().is_none_or(|ports| ports.contains(&orig.sport))
            && self.dest_port.as_ref().is_none_or(|ports| ports.contains(&reply.sport))
    }
}
