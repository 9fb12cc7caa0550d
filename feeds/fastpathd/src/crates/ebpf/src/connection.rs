// SPDX-License-Identifier: GPL-2.0-or-later
//! Connections, and what is reported about them.

use std::time::Duration;

use ctnetlink::{Counters, Tuple};

use crate::entry::{Entry, Key, TCP};

/// A connection and the number that it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Unique among all there are.
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// As the initiator sends.
    pub orig: Tuple,
    /// As the answer arrives.
    pub reply: Tuple,
}

/// What an entry has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Packets and bytes on the wire, from the IP header on.
    pub counters: Counters,
    /// A FIN or RST was seen.
    pub closing: bool,
}

/// How long conntrack keeps a connection without packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `nf_conntrack_tcp_timeout_established`.
    pub tcp: Duration,
    /// `nf_conntrack_udp_timeout_stream`.
    pub udp: Duration,
}

impl Default for Timeouts {
    /// The kernel's own.
    fn default() -> Self {
        Self { tcp: Duration::from_secs(432_000), udp: Duration::from_secs(120) }
    }
}

/// A conntrack entry that is to live for `left` from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// Of the connection.
    pub id: u64,
    /// Conntrack zone.
    pub zone: u16,
    /// Original direction.
    pub orig: Tuple,
    /// Time it has left without another packet.
    pub left: Duration,
}

/// What has to be done to install a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Installation {
    /// To be written: the direction from the initiator first.
    pub entries: [(Key, Entry); 2],
    /// A connection that has to be removed before, because the table is full.
    pub evicted: Option<u64>,
}

/// What is left of a connection that is no longer carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The connection.
    pub connection: Connection,
    /// To be removed from the maps, in the order of [`Installation::entries`].
    pub keys: [Key; 2],
}

/// What a connection's entries have grown by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Of the connection.
    pub id: u64,
    /// 0: what the initiator sent, 1: what was sent to it.
    pub direction: usize,
    /// Since the reading before.
    pub grown: Counters,
    /// A FIN or RST was seen: it will no longer be carried.
    pub closing: bool,
    /// It was counted for a previous daemon.
    pub inherited: bool,
}

impl Timeouts {
    pub(crate) fn of(&self, proto: u8) -> Duration {
        if proto == TCP { self.tcp } else { self.udp }
    }
}
