// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that the table and the engine exchange about a connection: entries to install, counters,
//! timeouts to extend, and conntrack's idle timeouts with their defaults.

use std::time::Duration;

use ctnetlink::{Counters, Tuple};
use model::Connection;

use crate::entry::{Entry, Key, TCP};

/// Position of one direction of a TCP connection, written by the programs. They validate FIN and
/// RST of the other direction against it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Jiffies of the last packet; 0 if there was none.
    pub used: u64,
    /// Upper half of the last packet's sequence number, in network order.
    pub seq_high: [u8; 2],
    /// The last packet's acknowledgement number, in network order.
    pub ack: [u8; 4],
}

/// State of an entry. The daemon starts it; the programs make all other transitions.
///
/// ```text
/// Waiting ──start──► Forwarding ──FIN, RST──► Closing
/// Waiting ──SYN, FIN, RST──► Restarted
/// Forwarding ──SYN──► Restarted
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Packets go to the kernel; SYN, FIN and RST are recorded.
    #[default]
    Waiting,
    /// The programs forward packets.
    Forwarding,
    /// Packets go to the kernel: either end has sent a FIN or RST.
    Closing,
    /// Packets go to the kernel after a SYN, or a FIN or RST before the start: they may belong to
    /// another connection.
    Restarted,
}

impl Stage {
    /// Reports whether the entry will never forward a packet again.
    #[must_use]
    pub fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Forwarding => false,
            Self::Closing | Self::Restarted => true,
        }
    }
}

/// Fields of an entry that the programs write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryReading {
    /// Packets, and bytes from the IP header on.
    pub counters: Counters,
    pub stage: Stage,
    pub position: Position,
}

/// Idle timeouts of conntrack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `nf_conntrack_tcp_timeout_established`.
    pub tcp: Duration,
    /// `nf_conntrack_udp_timeout_stream`.
    pub udp: Duration,
}

impl Default for Timeouts {
    /// Returns the kernel's defaults.
    fn default() -> Self {
        Self { tcp: Duration::from_secs(432_000), udp: Duration::from_secs(120) }
    }
}

/// Request to set the timeout of a conntrack entry to `left`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// Tuple of the original direction.
    pub orig: Tuple,
    /// Time until the entry expires without another packet.
    pub left: Duration,
}

/// Map changes that install a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Installation {
    /// Entries to write; the direction from the initiator comes first.
    pub entries: [(Key, Entry); 2],
    /// Connection to remove first, because the table is full.
    pub evicted: Option<u64>,
}

/// A connection that has left the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub connection: Connection,
    /// Keys to remove from the maps, in the order of [`Installation::entries`].
    pub keys: [Key; 2],
}

/// Growth of the counters of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryGrowth {
    pub id: u64,
    /// 0 is the direction from the initiator, 1 the direction to it.
    pub direction: usize,
    /// Growth since the previous reading.
    pub grown: Counters,
    pub stage: Stage,
    /// The previous daemon has already counted this growth.
    pub inherited: bool,
}

impl Timeouts {
    pub(crate) fn of(&self, proto: u8) -> Duration {
        if proto == TCP { self.tcp } else { self.udp }
    }
}
