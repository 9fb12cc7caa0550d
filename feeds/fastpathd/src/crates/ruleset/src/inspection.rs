// SPDX-License-Identifier: GPL-2.0-or-later
//! Parameters of the inspection rules (`rules/inspect.rs`).

use config::Network;
use model::{Action, DevicePolicy, Gate, Spread};

use crate::marks::Marks;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Queues {
    pub first: u16,
    /// Number of queues, one per worker of Suricata; 0 counts as 1.
    pub count: u16,
    pub spread: Spread,
}

impl Queues {
    /// Returns the number of the last queue, at most 65,535 (the kernel's limit).
    #[must_use]
    pub fn last(self) -> u16 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    /// Returns the next queue, for connections beyond the limit of their source.
    pub(crate) fn excess(self) -> Self {
        Self { first: self.last().saturating_add(1), count: 1, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionRules {
    pub marks: Marks,
    /// Packets pass while no program reads a queue; otherwise the kernel drops them.
    pub fail_open: bool,
    /// Action for connections that no policy matches.
    pub default: Action,
    /// Policies; the first match applies.
    pub policies: Vec<DevicePolicy>,
    /// Networks at either end that are never inspected, regardless of policies.
    pub exempt: Vec<Network>,
    /// Bytes of a connection in both directions after which inspection ends; 0 means no limit.
    pub budget_bytes: u64,
    /// Packets of a connection after which inspection ends; 0 means no limit.
    pub budget_packets: u64,
    pub queues: Queues,
    pub gate: Gate,
}

impl InspectionRules {
    /// Returns the exempt networks of a family without nested ones, because nft rejects a set with
    /// overlapping elements.
    pub(crate) fn exempt_of(&self, ipv4: bool) -> Vec<Network> {
        let mut networks: Vec<Network> =
            self.exempt.iter().copied().filter(|n| n.address.is_ipv4() == ipv4).collect();
        config::sort::by_key(&mut networks, |network| (network.prefix, network.address));
        let mut disjoint: Vec<Network> = Vec::new();
        for network in networks {
            if !disjoint.iter().any(|wider| wider.contains(network.address)) {
                disjoint.push(network);
            }
        }
        config::sort::by_key(&mut disjoint, |network| network.address);
        disjoint
    }
}

#[cfg(test)]
mod tests;
