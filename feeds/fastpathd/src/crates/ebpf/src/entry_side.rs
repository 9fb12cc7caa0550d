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
    /// MTU of the path to it.
    pub mtu: u32,
}
