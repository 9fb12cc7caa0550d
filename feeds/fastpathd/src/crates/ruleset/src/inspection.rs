// SPDX-License-Identifier: GPL-2.0-or-later
//! What the rules have to know of the IPS.

use config::{Network, order};

use crate::marks::Marks;
use crate::policy::{Action, Judged};

/// How packets are spread over the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Spread {
    /// By the pair of addresses: both directions of a connection meet the same worker.
    #[default]
    Hash,
    /// By the CPU that forwards the packet.
    Fanout,
}

/// Where packets to be inspected go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Queues {
    /// Number of the first.
    pub first: u16,
    /// How many, each with a worker of Suricata; 0 is taken for 1.
    pub count: u16,
    /// Which packet goes to which.
    pub spread: Spread,
}

impl Queues {
    /// Number of the last. The kernel has 65,536 queues: what is beyond is left out.
    #[must_use]
    pub fn last(self) -> u16 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// What happens to packets that are to be inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Gate {
    /// They go to Suricata.
    #[default]
    Queue,
    /// They pass uninspected, on the slow path, and spend no budget.
    Open,
    /// They are dropped.
    Closed,
}

/// What is inspected, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Our bits.
    pub marks: Marks,
    /// Packets pass when nobody listens at a queue; otherwise they are dropped.
    pub fail_open: bool,
    /// What happens to connections that no policy matches.
    pub default: Action,
    /// The first that matches counts.
    pub policies: Vec<Judged>,
    /// Never inspected, whichever end they are, whatever a policy says.
    pub exempt: Vec<Network>,
    /// Bytes of a connection, both directions together, after which it is inspected no more;
    /// 0: no such budget.
    pub budget_bytes: u64,
    /// Packets, likewise.
    pub budget_packets: u64,
    /// Where packets to be inspected go.
    pub queues: Queues,
    /// Whether they do.
    pub gate: Gate,
}

impl Inspection {
    /// Exempt networks of a family that are not part of another one: nft refuses a set whose
    /// elements overlap.
    pub(crate) fn exempt_of(&self, ipv4: bool) -> Vec<Network> {
        let mut networks: Vec<Network> =
            self.exempt.iter().copied().filter(|n| n.address.is_ipv4() == ipv4).collect();
        order::sort_by_key(&mut networks, |network| (network.prefix, network.address));
        let mut apart: Vec<Network> = Vec::new();
        for network in networks {
            if !apart.iter().any(|wider| wider.contains(network.address)) {
                apart.push(network);
            }
        }
        order::sort_by_key(&mut apart, |network| network.address);
        apart
    }
}

#[cfg(test)]
#[path = "inspection_tests.rs"]
mod tests;
