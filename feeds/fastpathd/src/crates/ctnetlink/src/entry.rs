// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of a conntrack entry and its fields.

use std::net::IpAddr;

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Layer 4 protocol number.
    pub proto: u8,
    /// Source port, or the ICMP ID; 0 for protocols without ports.
    pub sport: u16,
    /// Destination port, or ICMP `type << 8 | code`; 0 for protocols without ports.
    pub dport: u16,
}

/// Counters of one direction. Need `net.netfilter.nf_conntrack_acct=1`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets: u64,
    /// Bytes, including IP headers.
    pub bytes: u64,
}

/// Status bits: `enum ip_conntrack_status` of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

impl Status {
    /// `IPS_SEEN_REPLY`: packets were seen in both directions.
    pub const SEEN_REPLY: Self = Self(1 << 1);
    /// `IPS_ASSURED`: not evicted when the table is full.
    pub const ASSURED: Self = Self(1 << 2);
    /// `IPS_CONFIRMED`: the first packet has left the router.
    pub const CONFIRMED: Self = Self(1 << 3);
    pub const SRC_NAT: Self = Self(1 << 4);
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
    /// TCP state: `enum tcp_conntrack` of the kernel.
    #[derive(PartialOrd, Ord)]
    pub enum TcpState {
        None = "",
        SynSent = "syn-sent",
        SynRecv = "syn-recv",
        Established = "established",
        FinWait = "fin-wait",
        CloseWait = "close-wait",
        /// FIN seen from both sides.
        LastAck = "last-ack",
        TimeWait = "time-wait",
        Close = "close",
        /// Simultaneous open.
        SynSent2 = "syn-sent2",
    }
}

impl TcpState {
    #[must_use]
    pub fn from_kernel(value: u8) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

/// One conntrack entry. Optional fields depend on the message: offloaded entries have neither
/// timeout nor TCP state, NEW and UPDATE events have no counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's ID, a keyed 32-bit hash. Live entries rarely share an ID.
    pub id: u32,
    /// Conntrack zone; 0 is the default.
    pub zone: u16,
    /// Tuple of packets from the initiator.
    pub orig: Tuple,
    /// Tuple of packets from the responder, after NAT: `reply.src` is the responder's real address.
    pub reply: Tuple,
    pub status: Status,
    pub timeout_s: Option<u32>,
    /// Connection mark. Events have the mark only if it is set or has just changed, so 0 in an
    /// event may mean "unknown".
    pub mark: u32,
    pub tcp_state: Option<TcpState>,
    /// True if a helper (FTP, SIP, …) is attached.
    pub helper: bool,
    /// True if conntrack adjusts TCP sequence numbers.
    pub seq_adjust: bool,
    /// Counters of packets from the initiator; `None` without accounting.
    pub orig_counters: Option<Counters>,
    pub reply_counters: Option<Counters>,
    /// Start, Unix nanoseconds; needs `net.netfilter.nf_conntrack_timestamp=1`.
    pub start_ns: Option<u64>,
}
