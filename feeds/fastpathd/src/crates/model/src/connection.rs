// SPDX-License-Identifier: GPL-2.0-or-later
//! A connection (id, conntrack zone, tuples of both directions), as flow table, conntrack and eBPF
//! engine identify it.

use ctnetlink::Tuple;

/// A connection and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Unique among all connections: its number in the flow table.
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// Tuple of the packets from the initiator.
    pub orig: Tuple,
    /// Tuple of the replies, as they arrive.
    pub reply: Tuple,
}
