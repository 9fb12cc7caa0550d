// SPDX-License-Identifier: GPL-2.0-or-later
//! Parameters of the inspection rules: marks, queues, policies, budgets, exempt networks, gate. The
//! rules are in `rules/inspect.rs`, the options in crate `ips`, `settings.rs`.

use config::Network;
use model::{Action, DevicePolicy, Gate, Spread};

use crate::marks::Marks;

/// Queues of packets to inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Queues {
    /// Number of the first.
    pub first: u16,
    /// Number of queues, each with a worker of Suricata; 0 counts as 1.
    pub count: u16,
    /// How packets are distributed.
    pub spread: Spread,
}

impl Queues {
    /// Number of the last. The kernel has 65,536 queues: higher numbers are left out.
    #[must_use]
    pub fn last(self) -> u16 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    /// The queue behind the others, for what a source opens beyond its limit.
    pub(crate) fn excess(self) -> Self {
        Self { first: self.last().saturating_add(1), count: 1, ..self }
    }
}

/// Which connections are inspected, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionRules {
    /// Our bits of marks.
    pub marks: Marks,
    /// Packets pass when no program reads a queue; otherwise they are dropped.
    pub fail_open: bool,
    /// Action for connections that no policy matches.
    pub default: Action,
    /// Policies; the first that matches applies.
    pub policies: Vec<DevicePolicy>,
    /// Networks that are never inspected, on either end, regardless of policies.
    pub exempt: Vec<Network>,
    /// Bytes of a connection, both directions together, after which inspection ends; 0: no limit.
    pub budget_bytes: u64,
    /// Packets of a connection, likewise.
    pub budget_packets: u64,
    /// Queues of packets to inspect.
    pub queues: Queues,
    /// Action for packets to inspect.
    pub gate: Gate,
}

impl InspectionRules {
    /// Exempt networks of a family that are not part of another one: nft refuses a set whose
    /// elements overlap.
    pub(crate) fn exempt_of(&self, ipv4: bool) -> Vec<Network> {
        let mut networks: Vec<Network> =
            self.exempt.iter().copied().filter(|n| n.address.is_ipv4() == ipv4).collect();
        networks.sort_by_key(|network| (network.prefix, network.address));
        let mut apart: Vec<Network> = Vec::new();
        for network in networks {
            if !apart.iter().any(|wider| wider.contains(network.address)) {
                apart.push(network);
            }
        }
        apart.sort_by_key(|network| network.address);
        apart
    }
}

#[cfg(test)]
#[path = "inspection_tests.rs"]
mod tests;
