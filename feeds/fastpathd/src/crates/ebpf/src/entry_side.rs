// SPDX-License-Identifier: GPL-2.0-or-later
//! One end of a connection, as the entries need it.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hook {
    /// The outer tag is in the metadata of the packet.
    Tc,
    /// All tags are in the frame.
    Xdp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag {
    /// VLAN ID, 0..=4094.
    pub vid: u16,
    /// 802.1ad instead of 802.1Q.
    pub service: bool,
}

impl Tag {
    /// Returns the `EtherType` of the tag.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        if self.service { 0x88a8 } else { 0x8100 }
    }

    /// Returns the tag control information for this 802.1p priority.
    #[must_use]
    pub const fn tci(self, priority: u8) -> u16 {
        self.vid | (priority as u16) << 13
    }
}

/// VLAN tags and `PPPoE` session of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Encapsulation {
    pub outer: Option<Tag>,
    pub inner: Option<Tag>,
    pub session: Option<u16>,
}

/// Device, encapsulation and link-layer addresses of one end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntrySide {
    pub device: u32,
    pub hook: Hook,
    pub encapsulation: Encapsulation,
    /// The gateway's MAC: source of frames to this end, destination of frames from it.
    pub local: [u8; 6],
    /// MAC of the station, next router or access concentrator; `None` if unknown.
    pub next_hop: Option<[u8; 6]>,
    /// 802.1p priorities of the outer and the inner tag of frames to this end, for service bits
    /// 0x00, 0x08, 0x10 and 0x18.
    pub priorities: [[u8; 4]; 2],
    /// The kernel derives the priority of packets from this end from their tag.
    pub classified: bool,
    pub mtu: u32,
}
