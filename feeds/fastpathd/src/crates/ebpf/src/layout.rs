// SPDX-License-Identifier: GPL-2.0-or-later
//! Mirror of the map layout in `bpf/layout.h`. Packet fields are in network byte order, all other
//! numbers in native order. No type has padding, because all bytes are passed to the kernel.
#![expect(unsafe_code, reason = "the types are those of the kernel program")]

use aya::Pod;

/// Layout version; maps with another `control.layout` are not adopted.
pub const LAYOUT: u64 = 8;

/// Presence bit of a VLAN tag in [`Encap`]; the low 12 bits are the VLAN ID.
pub const TAG_PRESENT: u16 = 0x1000;
/// 802.1ad bit of a VLAN tag in [`Encap`].
pub const TAG_8021AD: u16 = 0x2000;

pub const HEADER_MAX: usize = 40;

pub const FLOW_NAT: u8 = 0x01;
/// The egress header ends with PPPoE.
pub const FLOW_PPPOE: u8 = 0x02;
pub const FLOW_DROP: u8 = 0x04;
/// The egress header is Ethernet only, and TC pushes no tag.
pub const FLOW_PLAIN: u8 = 0x08;
/// IPv4: the 802.1p priorities in the tags are valid only for packets without service bits (0x18).
pub const FLOW_BEST_EFFORT: u8 = 0x10;

/// Bit of [`Entry::ended`]: either end has sent a FIN or RST.
pub const ENDED_CLOSING: u8 = 1;
/// Bit of [`Entry::ended`]: either end has sent a SYN, or a FIN or RST before the start.
pub const ENDED_RESTARTED: u8 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encap {
    pub outer: u16,
    pub inner: u16,
    pub session: [u8; 2],
}

macro_rules! key {
    ($name:ident, $address:ty, $version:literal) => {
        #[doc = concat!("Key of ", $version, " flows.")]
        #[repr(C, align(8))]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name {
            pub src: $address,
            pub dst: $address,
            pub sport: [u8; 2],
            pub dport: [u8; 2],
            /// Lowest ingress device.
            pub ifindex: u32,
            pub encap: Encap,
            pub proto: u8,
            /// Port of a DSA switch, counted from 1; 0 without a switch.
            pub port: u8,
        }

        impl $name {
            /// Returns the map's key of this flow; mirrors `flow_hash()`.
            #[must_use]
            pub fn hash(&self, secret: u64) -> u64 {
                let words = size_of::<Self>() / size_of::<u64>();
                // SAFETY: the type is aligned to 8 bytes and has no padding (asserted below).
                let words =
                    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), words) };
                let add = |hash: u64, word: u64| hash.wrapping_mul(secret).wrapping_add(word);
                words.iter().copied().reduce(add).unwrap_or_default()
            }
        }
    };
}

key!(Key4, [u8; 4], "IPv4");
key!(Key6, [u8; 16], "IPv6");

/// Common part of [`Entry4`] and [`Entry6`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Jiffies of the last packet, or 0. The programs write all fields up to `ended`.
    pub used: u64,
    pub packets: u64,
    /// Bytes on the wire, from the IP header on.
    pub bytes: u64,
    /// 1 until the daemon starts the entry.
    pub waiting: u8,
    pub ended: u8,
    pub flags: u8,
    pub header_len: u8,
    /// Lowest egress device.
    pub ifindex: u32,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Sum of `address_delta` and `port_delta`.
    pub l4_delta: u16,
    pub sport: [u8; 2],
    pub dport: [u8; 2],
    /// TCI of the tag that TC pushes last.
    pub outer_tci: u16,
    pub outer_proto: [u8; 2],
    /// TCI of the tag that TC pushes first.
    pub inner_tci: u16,
    pub inner_proto: [u8; 2],
    /// Checksum delta of the IPv4 header.
    pub l3_delta: u16,
    pub address_delta: u16,
    pub port_delta: u16,
    /// Ingress encapsulation of the other direction.
    pub back: Encap,
    pub back_ifindex: u32,
    pub back_port: u8,
    pub zero: [u8; 3],
    /// The gateway's MAC at ingress, bytes 2 to 5.
    pub own_end: [u8; 4],
    /// The gateway's MAC at ingress, bytes 0 and 1.
    pub own_begin: [u8; 2],
    /// Egress header; starts two bytes after a 32-bit boundary, like a frame.
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
    pub e: Entry,
    pub src: [u8; 4],
    pub dst: [u8; 4],
    pub key: Key4,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry6 {
    pub e: Entry,
    pub src: [u8; 16],
    pub dst: [u8; 16],
    pub key: Key6,
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
        /// Destination MAC is a group address.
        Multicast = "multicast",
        /// Truncated, inconsistent lengths, or a wrong IPv4 header checksum.
        Malformed = "malformed",
        /// IPv4 with options, IPv6 with an extension header.
        Options = "options",
        Fragment = "fragment",
        Protocol = "protocol",
        Ttl = "ttl",
        Mtu = "mtu",
        /// GRO packet that the kernel cannot segment at the egress.
        Gso = "gso",
        /// SYN, FIN, RST, and packets of an ended entry.
        Tcp = "tcp",
        /// The egress device is missing in the map `devices`.
        NoDevice = "no-device",
        /// Dropped because the egress header could not be written.
        NoRoom = "no-room",
    }
}

/// Ports with an ifindex below this limit have their own counters.
pub const EXIT_PORTS: u32 = 64;
pub const OUT_NUMBER: usize = 16;

/// Exit counters of one CPU and port.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    pub out: [u64; OUT_NUMBER],
}

impl Exits {
    /// Returns the number of packets that reached a program.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.out.iter().fold(0, |sum, packets| sum.saturating_add(*packets))
    }
}

/// Control values, set by each heartbeat.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Expiry of the heartbeat, in jiffies.
    pub alive_until: u64,
    pub now: u64,
    /// [`LAYOUT`] of the programs that received the heartbeat.
    pub layout: u64,
    /// Odd random number of the keys of maps, set by the heartbeat.
    pub secret: u64,
}

impl Control {
    /// Reports whether programs with another layout wrote the values.
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
    assert!(std::mem::offset_of!(Entry, ack) + 4 == size_of::<Entry>());
    assert!(size_of::<Entry4>() == size_of::<Entry>() + 8 + 24);
    assert!(size_of::<Entry6>() == size_of::<Entry>() + 32 + 48);
    assert!(size_of::<Exits>() == 8 * OUT_NUMBER);
    assert!(size_of::<Control>() == 32);
};
