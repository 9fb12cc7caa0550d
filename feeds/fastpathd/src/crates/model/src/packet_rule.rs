// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules of other programs that act on each packet, and the flows that reach them. Crate `ruleset`
//! parses such rules and renders the same conditions for nftables.

use std::fmt;
use std::net::IpAddr;

use ctnetlink::Tuple;

/// Identifies a rule like `nft -a list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RuleName {
    pub family: String,
    pub table: String,
    pub chain: String,
    pub handle: u64,
    /// May be empty.
    pub comment: String,
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, table, chain, handle, comment } = self;
        write!(f, "{family} {table} {chain} handle {handle}")?;
        if comment.is_empty() { Ok(()) } else { write!(f, " ({comment})") }
    }
}

/// Position of a chain relative to NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NatStage {
    Before,
    /// Between destination and source NAT: the forward hook.
    Between,
    After,
}

/// A test with an equal result for all packets of a flow in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    Ipv6,
    /// The packet comes from the responder.
    Reply,
    /// IP protocol.
    Proto(u8),
    /// Address in inclusive ranges.
    Address {
        /// Tests the source rather than the destination.
        source: bool,
        /// First and last addresses, in one family.
        ranges: Vec<(IpAddr, IpAddr)>,
    },
    /// Port in inclusive ranges.
    Port {
        /// Tests the source rather than the destination.
        source: bool,
        /// First and last ports.
        ranges: Vec<(u16, u16)>,
    },
    /// Layer 3 device by name; a trailing `*` is a wildcard.
    Device {
        /// Tests the egress rather than the ingress device.
        leaving: bool,
        names: Vec<String>,
    },
    /// Masked connection mark.
    Mark {
        mask: u32,
        value: u32,
    },
    /// Fewer packets than this in conntrack, in both directions together.
    FewerPackets(u32),
}

/// A test with its required result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    pub test: Test,
    pub holds: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    Leaves,
    Reaches(RuleName),
}

/// Step of a chain. Steps that reach a rule omit unknown conditions and may match too much; steps
/// that leave the chain are exact.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    pub conditions: Vec<Condition>,
    pub outcome: Outcome,
}

/// A base chain of another program with rules that act on each packet. The first matching step
/// decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketChain {
    pub stage: NatStage,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy)]
pub struct FlowFacts<'a> {
    /// Tuple of packets from the initiator.
    pub orig: &'a Tuple,
    /// Tuple of replies on arrival, before reverse NAT.
    pub reply: &'a Tuple,
    /// Layer 3 devices towards initiator and responder; `None` if unknown.
    pub devices: [Option<&'a str>; 2],
    pub mark: u32,
    pub packets: u64,
}

impl PacketChain {
    /// Returns the first rule that packets of either direction reach.
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
    /// Returns whether packets of one direction meet the condition; `None` if unknown.
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
                // Replies enter through the responder's device.
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

/// Returns source and destination of packets in this direction at a NAT stage.
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

/// Returns source and destination in the forward hook: the real endpoints.
fn between(flow: &FlowFacts<'_>, reply: bool) -> (End, End) {
    let initiator = (flow.orig.src, flow.orig.sport);
    let responder = (flow.reply.src, flow.reply.sport);
    if reply { (responder, initiator) } else { (initiator, responder) }
}
