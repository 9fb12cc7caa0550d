// SPDX-License-Identifier: GPL-2.0-or-later
//! Keys, entries, flags, verdicts and control values of the maps, as the programs have them: a
//! mirror of `bpf/layout.h`, where each field is explained, and its version. Numbers of packets are
//! bytes in network order, others the machine's.
//!
//! No type has padding: all of its bytes are given to the kernel.
#![expect(unsafe_code, reason = "the types are those of the kernel program")]

use aya::Pod;

/// Version of everything here: `control.layout` of maps that may be adopted.
pub const LAYOUT: u64 = 6;

/// Bit of a tag in a [`Encap`]: present. The low 12 bits are its VID.
pub const TAG_THERE: u16 = 0x1000;
/// Bit of a tag in a [`Encap`]: 802.1ad.
pub const TAG_8021AD: u16 = 0x2000;

/// Longest new header in bytes.
pub const HEADER_MAX: usize = 40;

/// Addresses and ports change.
pub const FLOW_NAT: u8 = 0x01;
/// The new header ends with one of PPPoE.
pub const FLOW_PPPOE: u8 = 0x02;
/// Packets are dropped, for [`Entry::rule`].
pub const FLOW_DROP: u8 = 0x04;
/// The new header is Ethernet's only, and TC pushes no tag.
pub const FLOW_PLAIN: u8 = 0x08;
/// IPv4: the tags have the 802.1p priority of packets without the service bits 0x18.
pub const FLOW_BEST_EFFORT: u8 = 0x10;

/// Bit of [`Entry::ended`]: one of the ends has sent a FIN or RST.
pub const ENDED_CLOSING: u16 = 1;
/// Bit of [`Entry::ended`]: one of the ends has sent a SYN, or any of them before the start.
pub const ENDED_RESTARTED: u16 = 2;

/// Encapsulation of an ingress packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encap {
    /// Outer tag, 0 for none.
    pub outer: u16,
    /// Inner tag, 0 for none.
    pub inner: u16,
    /// PPPoE session, 0 for none.
    pub session: [u8; 2],
}

macro_rules! key {
    ($name:ident, $address:ty, $version:literal) => {
        #[doc = concat!("Which ", $version, " packets an entry is for.")]
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name {
            /// Source address.
            pub src: $address,
            /// Destination address.
            pub dst: $address,
            /// Source port.
            pub sport: [u8; 2],
            /// Destination port.
            pub dport: [u8; 2],
            /// Device.
            pub ifindex: u32,
            /// Tags and session.
            pub encap: Encap,
            /// TCP or UDP.
            pub proto: u8,
            /// Port of a DSA switch, from 1 on; 0 without one.
            pub port: u8,
        }
    };
}

key!(Key4, [u8; 4], "IPv4");
key!(Key6, [u8; 16], "IPv6");

/// Action and counters of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Jiffies of the last packet, 0 before; written by the programs, as the next three.
    pub used: u64,
    /// Packets on the wire.
    pub packets: u64,
    /// Bytes on the wire, from the IP header on.
    pub bytes: u64,
    /// 1 until the daemon starts the entry.
    pub waiting: u16,
    /// Bits `ENDED_…`.
    pub ended: u16,
    /// Lowest egress device.
    pub ifindex: u32,
    /// The largest IP packet.
    pub mtu: u16,
    /// Bits `FLOW_…`.
    pub flags: u8,
    /// Of `header`.
    pub header_len: u8,
    /// New source port.
    pub sport: [u8; 2],
    /// New destination port.
    pub dport: [u8; 2],
    /// TCI of a tag that TC pushes last.
    pub outer_tci: u16,
    /// Its protocol, 0 for no tag.
    pub outer_proto: [u8; 2],
    /// TCI of a tag that TC pushes first.
    pub inner_tci: u16,
    /// Its protocol, 0 for no tag.
    pub inner_proto: [u8; 2],
    /// Added to the checksum of the IPv4 header.
    pub l3_delta: u16,
    /// Added to the checksum for new addresses in the pseudo header.
    pub address_delta: u16,
    /// Added to the transport checksum for new ports.
    pub port_delta: u16,
    /// Encapsulation of the other direction at ingress.
    pub back: Encap,
    /// Its device.
    pub back_ifindex: u32,
    /// Its port of a switch.
    pub back_port: u8,
    /// Zero.
    pub zero: u8,
    /// Sum of both.
    pub l4_delta: u16,
    /// The gateway's MAC at ingress: its last four bytes, its first two.
    pub own_end: [u8; 4],
    /// See `own_end`. The header begins two bytes after a multiple of four, as frames do.
    pub own_begin: [u8; 2],
    /// The header before the IP header.
    pub header: [u8; HEADER_MAX],
    /// TCP: upper half of the last packet's sequence number; written by the programs, as the next.
    pub seq_high: [u8; 2],
    /// Its acknowledgement.
    pub ack: [u8; 4],
}

impl Default for Entry {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of them, for which zeros are a value.
        unsafe { std::mem::zeroed() }
    }
}

/// Entry of an IPv4 flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry4 {
    /// Fields of both versions.
    pub e: Entry,
    /// New source address.
    pub src: [u8; 4],
    /// New destination address.
    pub dst: [u8; 4],
}

/// Entry of an IPv6 flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry6 {
    /// Fields of both versions.
    pub e: Entry,
    /// New source address.
    pub src: [u8; 16],
    /// New destination address.
    pub dst: [u8; 16],
}

config::named! {
    /// Exits of the programs: `enum verdict`, in its order.
    #[derive(PartialOrd, Ord)]
    pub enum Out {
        /// Forwarded.
        Forwarded = "forwarded",
        /// Entry with [`FLOW_DROP`].
        Dropped = "dropped",
        /// The daemon has been silent for too long.
        Stale = "stale",
        /// No entry, one that waits, or one for another MAC or priority.
        Unknown = "unknown",
        /// Neither IPv4 nor IPv6, or more than two tags.
        NotIp = "not-ip",
        /// Group address of the link layer.
        Multicast = "multicast",
        /// Truncated, contradictory lengths, or a wrong checksum of the IPv4 header.
        Malformed = "malformed",
        /// IPv4 with options, IPv6 with an extension header.
        Options = "options",
        /// Fragment.
        Fragment = "fragment",
        /// Neither TCP nor UDP.
        Protocol = "protocol",
        /// TTL or hop limit expired.
        Ttl = "ttl",
        /// Larger than the MTU of the egress.
        Mtu = "mtu",
        /// Merged by GRO, and the egress cannot segment it.
        Gso = "gso",
        /// SYN, FIN, RST, and packets after them.
        Tcp = "tcp",
        /// XDP may not send to the egress device.
        NoDevice = "no-device",
        /// No headroom for the new header: dropped.
        NoRoom = "no-room",
    }
}

/// Ports whose packets are counted apart: those with a lower ifindex.
pub const EXIT_PORTS: u32 = 64;
/// Number of exits.
pub const OUT_NUMBER: usize = 16;

/// Packets seen by one CPU, and how they left.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// All.
    pub seen: u64,
    /// By [`Out`].
    pub out: [u64; OUT_NUMBER],
}

/// Variables of the programs, which the daemon writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Jiffies until which entries are used.
    pub alive_until: u64,
    /// Jiffies at the last heartbeat.
    pub now: u64,
    /// [`LAYOUT`] of the programs.
    pub layout: u64,
}

impl Control {
    /// Whether programs of another layout have written it.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        ![0, LAYOUT].contains(&self.layout)
    }
}

// SAFETY: all are `repr(C)` of numbers and arrays, without padding (asserted below).
unsafe impl Pod for Encap {}
// SAFETY: as above.
unsafe impl Pod for Key4 {}
// SAFETY: as above.
unsafe impl Pod for Key6 {}
// SAFETY: as above.
unsafe impl Pod for Entry4 {}
// SAFETY: as above.
unsafe impl Pod for Entry6 {}
// SAFETY: as above.
unsafe impl Pod for Exits {}
// SAFETY: as above.
unsafe impl Pod for Control {}

const _: () = {
    assert!(size_of::<Encap>() == 6);
    assert!(size_of::<Key4>() == 24);
    assert!(size_of::<Key6>() == 48);
    // The last field ends where the entry does.
    assert!(std::mem::offset_of!(Entry, ack) + 4 == size_of::<Entry>());
    assert!(size_of::<Entry4>() == size_of::<Entry>() + 8);
    assert!(size_of::<Entry6>() == size_of::<Entry>() + 32);
    assert!(size_of::<Exits>() == 8 * (1 + OUT_NUMBER));
    assert!(size_of::<Control>() == 24);
};
