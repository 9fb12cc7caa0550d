// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules of other programs that act on each packet, and which flows reach one. Crate `ruleset`
//! reads the rules in `foreign.rs` and writes the same conditions for nftables.

use std::fmt;
use std::net::IpAddr;

use ctnetlink::Tuple;

/// Identifies a rule of another program in the terms of `nft -a list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RuleName {
    pub family: String,
    pub table: String,
    pub chain: String,
    pub handle: u64,
    /// Comment of the rule; may be empty.
    pub comment: String,
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, table, chain, handle, comment } = self;
        write!(f, "{family} {table} {chain} handle {handle}")?;
        if comment.is_empty() { Ok(()) } else { write!(f, " ({comment})") }
    }
}

/// Which addresses a chain sees relative to NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NatStage {
    /// Before destination NAT, on arrival.
    Before,
    /// Between destination and source NAT, in the forward hook.
    Between,
    /// After source NAT, on departure.
    After,
}

/// A test with the same result for all packets of a flow in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    Ipv6,
    /// The packet comes from the responder.
    Reply,
    /// Layer 4 protocol.
    Proto(u8),
    /// An address is within one of these inclusive ranges.
    Address {
        /// Tests the source address instead of the destination address.
        source: bool,
        /// First and last address of each range, in one family.
        ranges: Vec<(IpAddr, IpAddr)>,
    },
    /// A port is within one of these inclusive ranges.
    Port {
        /// Tests the source port instead of the destination port.
        source: bool,
        /// First and last port of each range.
        ranges: Vec<(u16, u16)>,
    },
    /// The layer 3 device has one of these names; a trailing `*` is a wildcard.
    Device {
        /// Tests the egress device instead of the ingress device.
        leaving: bool,
        names: Vec<String>,
    },
    /// Tests bits of the connection mark.
    Mark {
        mask: u32,
        /// Compared with the masked mark.
        value: u32,
    },
    /// Conntrack has counted fewer packets, both directions together.
    FewerPackets(u32),
}

/// A test and the result that it must have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    pub test: Test,
    pub holds: bool,
}

/// What happens to a flow that meets all conditions of a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The packets leave the chain.
    Leaves,
    /// The packets reach this rule.
    Reaches(RuleName),
}

/// One step of a chain. A step that reaches a rule omits unknown conditions and may match too much;
/// a step that leaves the chain has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// All must be met.
    pub conditions: Vec<Condition>,
    pub outcome: Outcome,
}

/// A base chain of another program with rules that act on each packet. The first matching step
/// decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketChain {
    pub stage: NatStage,
    /// Steps in the order of evaluation.
    pub steps: Vec<Step>,
}

/// The properties of a flow that conditions test.
#[derive(Debug, Clone, Copy)]
pub struct FlowFacts<'a> {
    /// Tuple of packets from the initiator.
    pub orig: &'a Tuple,
    /// Tuple of replies on arrival, before reverse NAT.
    pub reply: &'a Tuple,
    /// Layer 3 devices towards initiator and responder; `None` if unknown.
    pub devices: [Option<&'a str>; 2],
    pub mark: u32,
    /// Packets that conntrack has counted.
    pub packets: u64,
}

impl PacketChain {
    /// Returns the rule that packets of the flow reach in either direction.
    #[must_use]
    pub fn reached(&self, flow: &FlowFacts<'_>) -> Option<&RuleName> {
        [false, true].into_iter().find_map(|reply| self.reached_in(flow, reply))
    }

    fn reached_in(&self, flow: &FlowFacts<'_>, reply: bool) -> Option<&RuleName> {
        for step in &self.steps {
            let mut known = step.conditions.iter().map(|one| one.is_met(flow, self.stage, reply));
            match &step.outcome {
                Outcome::Leaves if known.all(|met| met == Some(true)) => return None,
                Outcome::Reaches(rule) if known.all(|met| met != Some(false)) => return Some(rule),
                Outcome::Leaves | Outcome::Reaches(_) => {}
            }
        }
        None
    }
}

impl Condition {
    /// Returns whether the flow's packets of one direction meet the condition; `None` if unknown.
    fn is_met(&self, flow: &FlowFacts<'_>, stage: NatStage, reply: bool) -> Option<bool> {
        self.test.outcome(flow, stage, reply).map(|outcome| outcome == self.holds)
    }
}

impl Test {
    fn outcome(&self, flow: &FlowFacts<'_>, stage: NatStage, reply: bool) -> Option<bool> {
        let (from, to) = ends(flow, stage, reply);
        Some(match self {
            Self::Ipv6 => flow.orig.src.is_ipv6(),
            Self::Reply => reply,
            Self::Proto(proto) => flow.orig.proto == *proto,
            Self::Address { source, ranges } => {
                let address = if *source { from.0 } else { to.0 };
                ranges.iter().any(|(first, last)| {
                    first.is_ipv4() == address.is_ipv4() && (*first..=*last).contains(&address)
                })
            }
            Self::Port { source, ranges } => {
                let port = if *source { from.1 } else { to.1 };
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&port))
            }
            Self::Device { leaving, names } => {
                // Packets from the responder enter by the responder's device.
                let device = flow.devices[usize::from(*leaving != reply)]?;
                names.iter().any(|name| match name.strip_suffix('*') {
                    Some(begin) => device.starts_with(begin),
                    None => device == name,
                })
            }
            Self::Mark { mask, value } => flow.mark & mask == *value,
            Self::FewerPackets(packets) => flow.packets < u64::from(*packets),
        })
    }
}

type End = (IpAddr, u16);

/// Returns sender and receiver of packets in this direction at a NAT stage.
fn ends(flow: &FlowFacts<'_>, stage: NatStage, reply: bool) -> (End, End) {
    let (there, back) = if reply { (flow.reply, flow.orig) } else { (flow.orig, flow.reply) };
    let (arrives, leaves) = (
        [(there.src, there.sport), (there.dst, there.dport)],
        [(back.dst, back.dport), (back.src, back.sport)],
    );
    match stage {
        NatStage::Before => (arrives[0], arrives[1]),
        NatStage::Between => between(flow, reply),
        NatStage::After => (leaves[0], leaves[1]),
    }
}

/// Returns the real addresses of both ends, which the forward hook sees.
fn between(flow: &FlowFacts<'_>, reply: bool) -> (End, End) {
    let initiator = (flow.orig.src, flow.orig.sport);
    let responder = (flow.reply.src, flow.reply.sport);
    if reply { (responder, initiator) } else { (initiator, responder) }
}
