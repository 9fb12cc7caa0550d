// SPDX-License-Identifier: GPL-2.0-or-later
//! One conntrack entry as the kernel describes it: tuples, counters, status, TCP state, mark and
//! timeout.

use std::net::IpAddr;

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Sender in this direction.
    pub src: IpAddr,
    /// Receiver in this direction.
    pub dst: IpAddr,
    /// Layer 4 protocol number.
    pub proto: u8,
    /// Source port, or the ID of ICMP; 0 for protocols without ports.
    pub sport: u16,
    /// Destination port, or `type << 8 | code` of ICMP; 0 for protocols without ports.
    pub dport: u16,
}

/// Counters of one direction, which need `net.netfilter.nf_conntrack_acct=1`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets: u64,
    /// Bytes, layer 3 headers included.
    pub bytes: u64,
}

/// Status bits of an entry: `enum ip_conntrack_status` of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

impl Status {
    /// `IPS_SEEN_REPLY`: packets were seen in both directions.
    pub const SEEN_REPLY: Self = Self(1 << 1);
    /// `IPS_ASSURED`: not dropped early when the table is full.
    pub const ASSURED: Self = Self(1 << 2);
    /// `IPS_CONFIRMED`: the first packet has left the router.
    pub const CONFIRMED: Self = Self(1 << 3);
    /// `IPS_SRC_NAT`: the source is translated.
    pub const SRC_NAT: Self = Self(1 << 4);
    /// `IPS_DST_NAT`: the destination is translated.
    pub const DST_NAT: Self = Self(1 << 5);
    /// `IPS_SEQ_ADJUST`: TCP sequence numbers are rewritten.
    pub const SEQ_ADJUST: Self = Self(1 << 6);
    /// `IPS_DYING`: the entry is being removed.
    pub const DYING: Self = Self(1 << 9);
    /// `IPS_OFFLOAD`: a flowtable forwards the connection.
    pub const OFFLOAD: Self = Self(1 << 14);
    /// `IPS_HW_OFFLOAD`: hardware forwards the connection.
    pub const HW_OFFLOAD: Self = Self(1 << 15);

    /// Reports whether every bit of `bits` is set.
    #[must_use]
    pub const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }
}

impl std::ops::BitOr for Status {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

config::named! {
    /// State of a TCP connection: `enum tcp_conntrack` of the kernel.
    #[derive(PartialOrd, Ord)]
    pub enum TcpState {
        None = "",
        /// SYN seen.
        SynSent = "syn-sent",
        /// SYN and SYN/ACK seen.
        SynRecv = "syn-recv",
        /// Handshake complete.
        Established = "established",
        /// FIN seen.
        FinWait = "fin-wait",
        /// FIN acknowledged.
        CloseWait = "close-wait",
        /// FIN seen from the other side too.
        LastAck = "last-ack",
        /// Last ACK seen, waiting for delayed packets.
        TimeWait = "time-wait",
        Close = "close",
        /// Both sides sent a SYN.
        SynSent2 = "syn-sent2",
    }
}

impl TcpState {
    /// Returns the state with the kernel's number `value`.
    #[must_use]
    pub fn from_kernel(value: u8) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

/// One conntrack entry. Fields that a message may lack are an `Option`: offloaded entries have no
/// timeout or TCP state, NEW and UPDATE events no counters, UPDATE events only changed fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's ID, a keyed 32-bit hash. Two live entries rarely share an ID.
    pub id: u32,
    /// Conntrack zone; 0 is the default.
    pub zone: u16,
    /// Tuple of the packets from the initiator.
    pub orig: Tuple,
    /// Tuple of the replies: `reply.src` is the real responder, `reply.dst` the address that the
    /// responder replies to.
    pub reply: Tuple,
    pub status: Status,
    /// Seconds until the entry expires; absent on offloaded entries.
    pub timeout_s: Option<u32>,
    /// Connection mark. In an event, 0 can also mean that the mark is missing: the kernel includes
    /// the mark only if it is set or has just changed.
    pub mark: u32,
    /// TCP state; absent for other protocols and on offloaded entries.
    pub tcp_state: Option<TcpState>,
    /// True if a helper is attached (FTP, SIP, …).
    pub helper: bool,
    /// True if sequence numbers are adjusted.
    pub seq_adjust: bool,
    /// Counters from the initiator; absent in NEW and UPDATE events and without accounting.
    pub orig_counters: Option<Counters>,
    /// Counters towards the initiator.
    pub reply_counters: Option<Counters>,
    /// Start in nanoseconds of Unix time; needs `net.netfilter.nf_conntrack_timestamp=1`.
    pub start_ns: Option<u64>,
}
