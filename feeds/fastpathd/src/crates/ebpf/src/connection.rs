// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that table and engine exchange about a connection: counters and their growth, entries to
//! install, keys to remove, extensions of timeouts, and conntrack's idle timeouts with their
//! defaults.

use std::time::Duration;

use ctnetlink::{Counters, Tuple};
use model::Connection;

use crate::entry::{Entry, Key, TCP};

/// How far one direction of a TCP connection is, as the programs write it into its entry. They
/// judge FIN and RST of the other direction by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Jiffies of the last packet; 0: there was none.
    pub used: u64,
    /// Upper half of its sequence number.
    pub seq_high: [u8; 2],
    /// Its acknowledgement.
    pub ack: [u8; 4],
}

/// What an entry does with packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Leaves them to the kernel, and notes the end of the connection.
    #[default]
    Waiting,
    /// Carries them.
    Carrying,
    /// Leaves them to the kernel: one of the ends has sent a FIN or RST.
    Closing,
    /// Leaves them to the kernel: a SYN was seen, or an end before the start, so that they may
    /// belong to another connection.
    Restarted,
}

impl Stage {
    /// Whether the entry will never carry a packet again.
    #[must_use]
    pub fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Carrying => false,
            Self::Closing | Self::Restarted => true,
        }
    }
}

/// The values of an entry that the programs write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryReading {
    /// Packets, and bytes from the IP header on.
    pub counters: Counters,
    /// What it does with packets.
    pub stage: Stage,
    /// How far it is.
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
    /// The defaults of the kernel.
    fn default() -> Self {
        Self { tcp: Duration::from_secs(432_000), udp: Duration::from_secs(120) }
    }
}

/// A conntrack entry whose timeout is to be set to `left`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The connection.
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// Original direction.
    pub orig: Tuple,
    /// Time until it expires without another packet.
    pub left: Duration,
}

/// The values needed to install a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Installation {
    /// To be written: the direction from the initiator first.
    pub entries: [(Key, Entry); 2],
    /// A connection that has to be removed before, because the table is full.
    pub evicted: Option<u64>,
}

/// The remains of a connection that is no longer offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The connection.
    pub connection: Connection,
    /// To be removed from the maps, in the order of [`Installation::entries`].
    pub keys: [Key; 2],
}

/// Growth of the counters of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryGrowth {
    /// The connection.
    pub id: u64,
    /// 0: from the initiator, 1: to the initiator.
    pub direction: usize,
    /// Growth since the previous reading.
    pub grown: Counters,
    /// What the entry does with packets.
    pub stage: Stage,
    /// It was counted for a previous daemon.
    pub inherited: bool,
}

impl Timeouts {
    pub(crate) fn of(&self, proto: u8) -> Duration {
        if proto == TCP { self.tcp } else { self.udp }
    }
}
