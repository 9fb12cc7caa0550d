// SPDX-License-Identifier: GPL-2.0-or-later
//! Identity of a connection for flow table, conntrack and eBPF engine.

use ctnetlink::Tuple;

/// A connection and its id in the flow table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Unique among all connections: its number in the flow table.
    pub id: u64,
    pub zone: u16,
    /// Tuple of packets from the initiator.
    pub orig: Tuple,
    /// Tuple of replies on arrival, before reverse NAT.
    pub reply: Tuple,
}
