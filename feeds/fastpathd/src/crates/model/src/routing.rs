// SPDX-License-Identifier: GPL-2.0-or-later
//! Routing between the endpoints of a connection.

use std::net::IpAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Index of the layer 3 device.
    pub device: u32,
    /// Next router; `None` if the destination is on the link.
    pub gateway: Option<IpAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// By destination only.
    Destination,
    /// Policy routing; the kernel's answer is pending.
    Asked,
    /// Policy routing by the kernel's answer.
    Kernel {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// The answer is still valid: nothing that it depends on has changed.
        current: bool,
    },
    /// Policy routing in a VRF. For display only: another VRF may contain the same addresses, so no
    /// engine relies on it.
    Vrf {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// The answer is still valid: nothing that it depends on has changed.
        current: bool,
    },
    /// Policy routing by unknown properties, or through a device that does not own the translated
    /// source address.
    Unknown,
}

impl Routing {
    /// Returns the next hops towards initiator and responder from the kernel's answer.
    #[must_use]
    pub const fn hops(&self) -> Option<[NextHop; 2]> {
        match self {
            Self::Kernel { hops, .. } | Self::Vrf { hops, .. } => Some(*hops),
            Self::Destination | Self::Asked | Self::Unknown => None,
        }
    }

    /// Returns whether the routing is unknown or unreliable.
    #[must_use]
    pub const fn is_uncertain(&self) -> bool {
        match self {
            Self::Vrf { .. } | Self::Unknown => true,
            Self::Destination | Self::Asked | Self::Kernel { .. } => false,
        }
    }
}
