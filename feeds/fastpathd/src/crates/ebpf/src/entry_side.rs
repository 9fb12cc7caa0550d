// SPDX-License-Identifier: GPL-2.0-or-later
//! One end of a connection as an entry needs it: device, program, tags and session, addresses, MTU.

/// The program that meets the packets of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hook {
    /// TC: the outer tag is in the metadata of the packet.
    Tc,
    /// XDP: the frame is as received.
    Xdp,
}

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag {
    /// 0..=4094.
    pub vid: u16,
    /// 802.1ad instead of 802.1Q.
    pub service: bool,
}

impl Tag {
    /// Protocol number on the wire.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        if self.service { 0x88a8 } else { 0x8100 }
    }

    /// Tag control information of a frame with this 802.1p priority.
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
    /// The second one.
    pub inner: Option<Tag>,
    /// Number of the `PPPoE` session.
    pub session: Option<u16>,
}

/// One end of a connection: how packets arrive from it and how they are sent to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntrySide {
    /// Index of the lowest device.
    pub device: u32,
    /// The program there.
    pub hook: Hook,
    /// Tags and session.
    pub encapsulation: Encapsulation,
    /// The gateway's MAC: source of frames to it, destination of frames from it.
    pub local: [u8; 6],
    /// Destination MAC: the station, the next router, the access concentrator.
    pub next_hop: Option<[u8; 6]>,
    /// 802.1p priorities of the outer and the inner tag of frames to it: of packets whose service
    /// field has 0x00, 0x08, 0x10, 0x18 of the bits 0x18.
    pub priorities: [[u8; 4]; 2],
    /// The kernel gives frames from it a priority by their tag.
    pub classified: bool,
    /// MTU of the path to it.
    pub mtu: u32,
}
