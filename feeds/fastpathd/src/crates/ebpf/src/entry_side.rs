// SPDX-License-Identifier: GPL-2.0-or-later
//! One end of a connection: device, hook, encapsulation, link-layer addresses and MTU.

/// Kind of program that handles the packets of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hook {
    /// TC: the outer tag is in the metadata of the packet.
    Tc,
    /// XDP: all tags are in the frame.
    Xdp,
}

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// Encapsulation of packets at one end of a connection, without link-layer addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Encapsulation {
    /// The first tag on the wire.
    pub outer: Option<Tag>,
    /// The second tag on the wire.
    pub inner: Option<Tag>,
    /// `PPPoE` session ID.
    pub session: Option<u16>,
}

/// One end of a connection: how packets arrive from it and how they are sent to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntrySide {
    /// Index of the lowest device.
    pub device: u32,
    pub hook: Hook,
    pub encapsulation: Encapsulation,
    /// The gateway's MAC: source of frames to this end, destination of frames from it.
    pub local: [u8; 6],
    /// MAC of the station, next router or access concentrator; `None` if unknown.
    pub next_hop: Option<[u8; 6]>,
    /// 802.1p priorities of the outer and the inner tag of frames to this end, for packets with
    /// service bits (0x18) of 0x00, 0x08, 0x10 and 0x18.
    pub priorities: [[u8; 4]; 2],
    /// The kernel sets the priority of frames from this end by their tag.
    pub classified: bool,
    /// MTU of the path to this end.
    pub mtu: u32,
}
