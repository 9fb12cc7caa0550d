// SPDX-License-Identifier: GPL-2.0-or-later
//! Types that the table and the engine exchange about a connection.

use std::time::Duration;

use ctnetlink::{Counters, Tuple};
use model::Connection;

use crate::entry::{Entry, Key, TCP};

/// TCP position of one direction, against which the programs validate FIN and RST of the other one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Jiffies of the last packet, or 0.
    pub used: u64,
    /// Upper half of the sequence number of the last packet, in network order.
    pub seq_high: [u8; 2],
    /// Acknowledgement number of the last packet, in network order.
    pub ack: [u8; 4],
}

/// State of an entry. The daemon starts entries; the programs make all other transitions.
///
/// ```text
/// Waiting ──start──► Forwarding ──FIN, RST──► Closing
/// Waiting ──SYN, FIN, RST──► Restarted
/// Forwarding ──SYN──► Restarted
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Packets go to the kernel. The programs record SYN, FIN and RST.
    #[default]
    Waiting,
    Forwarding,
    /// Packets go to the kernel, because either end has sent a FIN or RST.
    Closing,
    /// Packets go to the kernel, because a SYN, or a FIN or RST before the start, may belong to
    /// another connection.
    Restarted,
}

impl Stage {
    #[must_use]
    pub fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Forwarding => false,
            Self::Closing | Self::Restarted => true,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryReading {
    pub counters: Counters,
    pub stage: Stage,
    pub position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `nf_conntrack_tcp_timeout_established`.
    pub tcp: Duration,
    /// `nf_conntrack_udp_timeout_stream`.
    pub udp: Duration,
}

impl Default for Timeouts {
    /// Returns the defaults of the kernel.
    fn default() -> Self {
        Self { tcp: Duration::from_secs(432_000), udp: Duration::from_secs(120) }
    }
}

/// Request to set the timeout of a conntrack entry to `left`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    pub id: u64,
    pub zone: u16,
    pub orig: Tuple,
    pub left: Duration,
}

/// Map changes for a new connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Installation {
    /// Entries to write: packets from the initiator, packets to the initiator.
    pub entries: [(Key, Entry); 2],
    pub evicted: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub connection: Connection,
    /// Keys to remove from the maps, in the order of [`Installation::entries`].
    pub keys: [Key; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryGrowth {
    pub id: u64,
    /// 0 for packets from the initiator, 1 for packets to the initiator.
    pub direction: usize,
    pub grown: Counters,
    pub stage: Stage,
    /// True if a previous daemon has already counted the growth.
    pub inherited: bool,
}

impl Timeouts {
    pub(crate) fn of(&self, proto: u8) -> Duration {
        if proto == TCP { self.tcp } else { self.udp }
    }
}
