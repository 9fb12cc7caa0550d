// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules of other programs that act on each packet: which flows reach one, judged by tuples,
//! devices, mark and packet count. The rules are read in crate `ruleset`, `foreign.rs`, which also
//! writes the same conditions as rules of nftables.

use std::fmt;
use std::net::IpAddr;

use ctnetlink::Tuple;

/// A rule of another program, as `nft -a list` names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RuleName {
    /// Family of its table.
    pub family: String,
    /// Its table.
    pub table: String,
    /// Its chain.
    pub chain: String,
    /// Its handle.
    pub handle: u64,
    /// Its comment; may be empty.
    pub comment: String,
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, table, chain, handle, comment } = self;
        write!(f, "{family} {table} {chain} handle {handle}")?;
        if comment.is_empty() { Ok(()) } else { write!(f, " ({comment})") }
    }
}

/// Which addresses a chain sees: those before, between or after destination and source NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NatStage {
    /// As the packet arrives.
    Before,
    /// As in the forward hook.
    Between,
    /// As the packet leaves.
    After,
}

/// A test of a packet whose outcome is the same for all packets of a flow in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// IPv6, not IPv4.
    Ipv6,
    /// From the responder.
    Reply,
    /// Layer 4 protocol.
    Proto(u8),
    /// One end's address is within these ranges, both ends included.
    Address {
        /// The sender's, not the receiver's.
        source: bool,
        /// First and last address, all of one family.
        ranges: Vec<(IpAddr, IpAddr)>,
    },
    /// One end's port is within these ranges, both ends included.
    Port {
        /// The sender's, not the receiver's.
        source: bool,
        /// First and last port.
        ranges: Vec<(u16, u16)>,
    },
    /// The layer 3 device has one of these names; a `*` at the end stands for any rest.
    Device {
        /// Egress, not ingress.
        leaving: bool,
        /// The names.
        names: Vec<String>,
    },
    /// Bits of the connection's mark.
    Mark {
        /// The bits compared.
        mask: u32,
        /// Their value.
        value: u32,
    },
    /// Conntrack has counted fewer packets, in both directions.
    FewerPackets(u32),
}

/// A test and the outcome that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Condition {
    /// The test.
    pub test: Test,
    /// The outcome.
    pub holds: bool,
}

/// What becomes of a flow that meets all conditions of a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its packets leave the chain.
    Leaves,
    /// Its packets reach this rule.
    Reaches(RuleName),
}

/// One step of a chain. Conditions that are not understood are left out of steps that reach a rule,
/// and steps that leave the chain have none of these.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// All of them have to hold.
    pub conditions: Vec<Condition>,
    /// The outcome.
    pub outcome: Outcome,
}

/// A base chain of another program with rules that act on each packet. The first step whose
/// conditions hold decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketChain {
    /// The addresses that it sees.
    pub stage: NatStage,
    /// Its steps, in the order of packets.
    pub steps: Vec<Step>,
}

/// A flow, as far as conditions go by it.
#[derive(Debug, Clone, Copy)]
pub struct FlowFacts<'a> {
    /// Tuple of the packets from the initiator.
    pub orig: &'a Tuple,
    /// Tuple of the replies, as they arrive.
    pub reply: &'a Tuple,
    /// Layer 3 devices towards initiator and responder; `None` if unknown.
    pub devices: [Option<&'a str>; 2],
    /// The connection's mark.
    pub mark: u32,
    /// Packets that conntrack has counted.
    pub packets: u64,
}

impl PacketChain {
    /// The rule that packets of the flow reach, in either direction.
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
    /// Whether packets of the flow in this direction meet it; `None` if that is unknown.
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

/// Sender and receiver of packets in this direction, as a chain at this stage sees them.
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

/// In the forward hook both ends have their own addresses.
fn between(flow: &FlowFacts<'_>, reply: bool) -> (End, End) {
    let initiator = (flow.orig.src, flow.orig.sport);
    let responder = (flow.reply.src, flow.reply.sport);
    if reply { (responder, initiator) } else { (initiator, responder) }
}
