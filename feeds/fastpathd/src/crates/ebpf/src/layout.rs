// SPDX-License-Identifier: GPL-2.0-or-later
//! Keys, entries, verdicts and control values of the maps: a mirror of `bpf/layout.h`, which
//! explains each field. Numbers of packets are in network order, all others in native order. No
//! type has padding, because all of its bytes are passed to the kernel.
#![expect(unsafe_code, reason = "the types are those of the kernel program")]

use aya::Pod;

/// Version of the layout; maps with another `control.layout` are not adopted.
pub const LAYOUT: u64 = 6;

/// Presence bit of a VLAN tag in [`Encap`]; the low 12 bits are the VLAN ID.
pub const TAG_THERE: u16 = 0x1000;
/// 802.1ad bit of a VLAN tag in [`Encap`].
pub const TAG_8021AD: u16 = 0x2000;

/// Maximum length of a new header in bytes.
pub const HEADER_MAX: usize = 40;

/// Addresses or ports change.
pub const FLOW_NAT: u8 = 0x01;
/// The new header ends with PPPoE.
pub const FLOW_PPPOE: u8 = 0x02;
/// Packets are dropped.
pub const FLOW_DROP: u8 = 0x04;
/// The new header is Ethernet only, and TC pushes no tag.
pub const FLOW_PLAIN: u8 = 0x08;
/// IPv4: the tags' 802.1p priorities are right only for packets without the service bits 0x18.
pub const FLOW_BEST_EFFORT: u8 = 0x10;

/// Bit of [`Entry::ended`]: either end has sent a FIN or RST.
pub const ENDED_CLOSING: u16 = 1;
/// Bit of [`Entry::ended`]: either end has sent a SYN, or a FIN or RST before the start.
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
            pub src: $address,
            pub dst: $address,
            pub sport: [u8; 2],
            pub dport: [u8; 2],
            /// Lowest ingress device.
            pub ifindex: u32,
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
    /// Jiffies of the last packet, 0 before. The programs write all fields up to `ended`.
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
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Bits `FLOW_…`.
    pub flags: u8,
    /// Bytes of `header` in use.
    pub header_len: u8,
    /// New source port.
    pub sport: [u8; 2],
    /// New destination port.
    pub dport: [u8; 2],
    /// TCI of the tag that TC pushes last.
    pub outer_tci: u16,
    /// Protocol of the outer tag, 0 if there is none.
    pub outer_proto: [u8; 2],
    /// TCI of the tag that TC pushes first.
    pub inner_tci: u16,
    /// Protocol of the inner tag, 0 if there is none.
    pub inner_proto: [u8; 2],
    /// Added to the checksum of the IPv4 header.
    pub l3_delta: u16,
    /// Added to the checksum for new addresses in the pseudo header.
    pub address_delta: u16,
    /// Added to the transport checksum for new ports.
    pub port_delta: u16,
    /// Ingress encapsulation of the other direction.
    pub back: Encap,
    /// Ingress device of the other direction.
    pub back_ifindex: u32,
    /// Ingress switch port of the other direction.
    pub back_port: u8,
    /// Padding.
    pub zero: u8,
    /// Sum of `address_delta` and `port_delta`.
    pub l4_delta: u16,
    /// Last four bytes of the gateway's MAC at ingress.
    pub own_end: [u8; 4],
    /// First two bytes of the MAC, here so that `header` begins two bytes after a multiple of four.
    pub own_begin: [u8; 2],
    /// The header before the IP header.
    pub header: [u8; HEADER_MAX],
    /// TCP: upper half of the last packet's sequence number, written by the programs.
    pub seq_high: [u8; 2],
    /// TCP: the last packet's acknowledgement number, written by the programs.
    pub ack: [u8; 4],
}

impl Default for Entry {
    fn default() -> Self {
        // SAFETY: every field is a number or an array of them, for which zero is a valid value.
        unsafe { std::mem::zeroed() }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry4 {
    /// Common prefix of `Entry4` and `Entry6`.
    pub e: Entry,
    /// New source address.
    pub src: [u8; 4],
    /// New destination address.
    pub dst: [u8; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry6 {
    /// Common prefix of `Entry4` and `Entry6`.
    pub e: Entry,
    /// New source address.
    pub src: [u8; 16],
    /// New destination address.
    pub dst: [u8; 16],
}

config::named! {
    /// How a packet leaves a program, in the order of `enum verdict`.
    #[derive(PartialOrd, Ord)]
    pub enum Out {
        Forwarded = "forwarded",
        /// Dropped by an entry with [`FLOW_DROP`].
        Dropped = "dropped",
        /// The daemon has sent no heartbeat for too long.
        Stale = "stale",
        /// No entry, a waiting entry, or an entry for another MAC or priority.
        Unknown = "unknown",
        /// Neither IPv4 nor IPv6, or more than two tags.
        NotIp = "not-ip",
        /// The destination is a link-layer group address.
        Multicast = "multicast",
        /// Truncated, contradictory lengths, or a wrong checksum of the IPv4 header.
        Malformed = "malformed",
        /// IPv4 with options, IPv6 with an extension header.
        Options = "options",
        Fragment = "fragment",
        /// Neither TCP nor UDP.
        Protocol = "protocol",
        /// TTL or hop limit expired.
        Ttl = "ttl",
        /// Packet exceeds the egress MTU.
        Mtu = "mtu",
        /// Merged by GRO, and the egress cannot segment it.
        Gso = "gso",
        /// SYN, FIN, RST, and packets after them.
        Tcp = "tcp",
        /// XDP may not send to the egress device.
        NoDevice = "no-device",
        /// The new header could not be written: dropped.
        NoRoom = "no-room",
    }
}

/// Ports with an ifindex below this limit have their own counters.
pub const EXIT_PORTS: u32 = 64;
pub const OUT_NUMBER: usize = 16;

/// Packets seen by one CPU, and how they left the program.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    pub seen: u64,
    /// Packets by [`Out`].
    pub out: [u64; OUT_NUMBER],
}

/// Variables of the programs, set by each heartbeat.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Jiffies until which the programs use entries.
    pub alive_until: u64,
    /// Jiffies at the last heartbeat.
    pub now: u64,
    /// [`LAYOUT`] of the programs that received the heartbeat.
    pub layout: u64,
}

impl Control {
    /// Reports whether programs of another layout wrote the values.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        ![0, LAYOUT].contains(&self.layout)
    }
}

// SAFETY: `repr(C)` of numbers and arrays, without padding (asserted below).
unsafe impl Pod for Encap {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Key4 {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Key6 {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Entry4 {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Entry6 {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Exits {}
// SAFETY: `repr(C)` without padding (asserted below).
unsafe impl Pod for Control {}

const _: () = {
    assert!(size_of::<Encap>() == 6);
    assert!(size_of::<Key4>() == 24);
    assert!(size_of::<Key6>() == 48);
    // No padding follows the last field.
    assert!(std::mem::offset_of!(Entry, ack) + 4 == size_of::<Entry>());
    assert!(size_of::<Entry4>() == size_of::<Entry>() + 8);
    assert!(size_of::<Entry6>() == size_of::<Entry>() + 32);
    assert!(size_of::<Exits>() == 8 * (1 + OUT_NUMBER));
    assert!(size_of::<Control>() == 24);
};
