// SPDX-License-Identifier: GPL-2.0-or-later
//! How packets between the ends of a connection are routed: by their destinations alone, or as the
//! kernel answered.

use std::net::IpAddr;

/// Where a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Index of the layer 3 device.
    pub device: u32,
    /// The next router; none: the destination is on the link.
    pub gateway: Option<IpAddr>,
}

/// How packets between the ends of a connection are routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// By their destinations alone.
    Destination,
    /// By more than that, and the kernel has not answered yet.
    Asked,
    /// As the kernel answered.
    Kernel {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// Nothing that the answer depends on has changed since.
        current: bool,
    },
    /// As the kernel answered, where a device belongs to a VRF. Devices of another one may have
    /// hosts with the same addresses, so it is shown, and no engine relies on it.
    Vrf {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// Nothing that the answer depends on has changed since.
        current: bool,
    },
    /// By more than can be known, or by a device to which their translated source address does not
    /// belong.
    Unknown,
}

impl Routing {
    /// Next hops towards the initiator and the responder, where the kernel was asked for them.
    #[must_use]
    pub const fn hops(&self) -> Option<[NextHop; 2]> {
        match self {
            Self::Kernel { hops, .. } | Self::Vrf { hops, .. } => Some(*hops),
            Self::Destination | Self::Asked | Self::Unknown => None,
        }
    }

    /// Whether the packets of the connection may be routed otherwise than is known.
    #[must_use]
    pub const fn is_uncertain(&self) -> bool {
        match self {
            Self::Vrf { .. } | Self::Unknown => true,
            Self::Destination | Self::Asked | Self::Kernel { .. } => false,
        }
    }
}
