// SPDX-License-Identifier: GPL-2.0-or-later
//! Engine settings in force, as set by the daemon.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ctnetlink::Tuple;
use model::{Engine, Exclude, FlowFacts, PacketChain, RuleName, TrafficTypes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// Engine in force, not the configured one.
    pub engine: Engine,
    /// Types of traffic that stay on the slow path.
    pub left_out: TrafficTypes,
    pub excludes: Vec<Exclude>,
    /// Roaming hosts, whose flows stay on the slow path.
    pub roaming: BTreeSet<IpAddr>,
    /// Hosts with a rate limit, whose flows stay on the slow path.
    pub limited: BTreeSet<IpAddr>,
    /// Number of packets at the start of each flow that stay on the slow path.
    pub slow_packets: u32,
    /// Mark bits that the rules set last, on packets from and to the initiator; 0 if unused.
    pub passed: [u32; 2],
    /// Chains of other programs with rules that act on each packet.
    pub packet_chains: Vec<PacketChain>,
    /// Changed rules of other programs have not been read, so eBPF offloads no new flow.
    pub unread: bool,
}

impl Default for EngineState {
    fn default() -> Self {
        Self {
            engine: Engine::Off,
            left_out: TrafficTypes::default(),
            excludes: Vec::new(),
            roaming: BTreeSet::new(),
            limited: BTreeSet::new(),
            slow_packets: 0,
            passed: [0; 2],
            packet_chains: Vec::new(),
            unread: false,
        }
    }
}

impl EngineState {
    pub(crate) fn roams(&self, orig: &Tuple, reply: &Tuple) -> bool {
        has_end(&self.roaming, [orig.src, reply.src])
    }

    pub(crate) fn limits(&self, orig: &Tuple, reply: &Tuple) -> bool {
        has_end(&self.limited, [orig.src, reply.src])
    }

    /// Returns whether an exclusion keeps the flow on the slow path permanently, and the number of
    /// packets at its start that stay there.
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

    /// Returns the first rule for each packet that the flow reaches.
    pub(crate) fn rule_reached(&self, flow: &FlowFacts<'_>) -> Option<&RuleName> {
        self.packet_chains.iter().find_map(|chain| chain.reached(flow))
    }
}

pub(crate) fn has_end(hosts: &BTreeSet<IpAddr>, ends: [IpAddr; 2]) -> bool {
    !hosts.is_empty() && ends.iter().any(|end| hosts.contains(end))
}
