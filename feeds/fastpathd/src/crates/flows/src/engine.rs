// SPDX-License-Identifier: GPL-2.0-or-later
//! Engine in force, exclusions and `passed` bits of the connection mark, as the daemon hands them
//! to the flow table.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ctnetlink::Tuple;
use model::{Engine, Exclude, FlowFacts, PacketChain, RuleName};

/// The engine in force and its exclusions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// The engine in force, not the configured one.
    pub engine: Engine,
    /// Flows that stay on the slow path by configuration.
    pub excludes: Vec<Exclude>,
    /// Hosts that keep moving: their flows stay on the slow path.
    pub roaming: BTreeSet<IpAddr>,
    /// Every flow's first packets that stay on the slow path; 0: none.
    pub slow_packets: u32,
    /// Bits of the connection mark that the last rules set, for packets from the initiator and to
    /// it; zeros: none.
    pub passed: [u32; 2],
    /// Chains of other programs with rules that act on each packet.
    pub packet_chains: Vec<PacketChain>,
    /// Rules of other programs have changed and are not read yet: programs take no flow.
    pub unread: bool,
}

impl Default for EngineState {
    fn default() -> Self {
        Self {
            engine: Engine::Off,
            excludes: Vec::new(),
            roaming: BTreeSet::new(),
            slow_packets: 0,
            passed: [0; 2],
            packet_chains: Vec::new(),
            unread: false,
        }
    }
}

impl EngineState {
    /// Whether a host that keeps moving is one end.
    pub(crate) fn roams(&self, orig: &Tuple, reply: &Tuple) -> bool {
        let ends = [orig.src, reply.src];
        !self.roaming.is_empty() && ends.iter().any(|end| self.roaming.contains(end))
    }

    /// Whether an exclusion keeps a flow on the slow path for ever, and otherwise for how many of
    /// its first packets.
    pub(crate) fn kept(&self, orig: &Tuple, reply: &Tuple) -> (bool, u32) {
        let mut first = self.slow_packets;
        for exclude in self.excludes.iter().filter(|exclude| exclude.matches(orig, reply)) {
            match exclude.slow_packets {
                Some(packets) => first = first.max(packets),
                None => return (true, first),
            }
        }
        (false, first)
    }

    /// The rule acting on each packet that packets of the flow reach.
    pub(crate) fn rule_reached(&self, flow: &FlowFacts<'_>) -> Option<&RuleName> {
        self.packet_chains.iter().find_map(|chain| chain.reached(flow))
    }
}
