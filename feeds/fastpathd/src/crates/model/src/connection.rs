// SPDX-License-Identifier: GPL-2.0-or-later

use ctnetlink::Tuple;

/// Identity of a connection for flow table, conntrack and eBPF engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Unique number in the flow table.
    pub id: u64,
    pub zone: u16,
    /// Tuple of packets from the initiator.
    pub orig: Tuple,
    /// Tuple of replies on arrival, before reverse NAT.
    pub reply: Tuple,
}
