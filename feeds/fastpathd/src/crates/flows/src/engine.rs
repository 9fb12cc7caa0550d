// SPDX-License-Identifier: GPL-2.0-or-later
//! Engine in force, exclusions and `passed` bits of the connection mark, set by the daemon.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ctnetlink::Tuple;
use model::{Engine, Exclude, FlowFacts, PacketChain, RuleName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// Engine in force, not the configured one.
    pub engine: Engine,
    /// Rules of the configuration that keep flows on the slow path.
    pub excludes: Vec<Exclude>,
    /// Hosts that keep moving; their flows stay on the slow path.
    pub roaming: BTreeSet<IpAddr>,
    /// Number of first packets of each flow that stay on the slow path.
    pub slow_packets: u32,
    /// Mark bits that the last rules set on packets from and to the initiator; 0 if unused.
    pub passed: [u32; 2],
    /// Chains of other programs with rules that act on each packet.
    pub packet_chains: Vec<PacketChain>,
    /// Rules of other programs changed and have not been read yet, so eBPF offloads no flow.
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
    /// Returns whether either end is a roaming host.
    pub(crate) fn roams(&self, orig: &Tuple, reply: &Tuple) -> bool {
        let ends = [orig.src, reply.src];
        !self.roaming.is_empty() && ends.iter().any(|end| self.roaming.contains(end))
    }

    /// Returns whether an exclusion keeps the flow on the slow path permanently, and the number of
    /// first packets that stay there otherwise.
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

    /// Returns the first rule acting on each packet that packets of the flow reach.
    pub(crate) fn rule_reached(&self, flow: &FlowFacts<'_>) -> Option<&RuleName> {
        self.packet_chains.iter().find_map(|chain| chain.reached(flow))
    }
}
