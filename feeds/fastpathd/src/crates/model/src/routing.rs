// SPDX-License-Identifier: GPL-2.0-or-later
//! How packets between the ends of a connection are routed.

use std::net::IpAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Index of the layer 3 device.
    pub device: u32,
    /// Address of the next router; `None` if the destination is on the link.
    pub gateway: Option<IpAddr>,
}

/// How packets between the ends of a connection are routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// By their destinations alone.
    Destination,
    /// By other properties too; the kernel's answer is pending.
    Asked,
    /// By the kernel's answer.
    Kernel {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// The answer is still valid: nothing that it depends on has changed.
        current: bool,
    },
    /// By the kernel's answer, through a device of a VRF. For display only: another VRF may contain
    /// the same addresses, so no engine relies on it.
    Vrf {
        /// Next hops towards the initiator and the responder.
        hops: [NextHop; 2],
        /// The answer is still valid: nothing that it depends on has changed.
        current: bool,
    },
    /// By properties that the daemon cannot know, or through a device that does not own the
    /// translated source address.
    Unknown,
}

impl Routing {
    /// Returns the kernel's next hops towards initiator and responder, if it was asked.
    #[must_use]
    pub const fn hops(&self) -> Option<[NextHop; 2]> {
        match self {
            Self::Kernel { hops, .. } | Self::Vrf { hops, .. } => Some(*hops),
            Self::Destination | Self::Asked | Self::Unknown => None,
        }
    }

    /// Returns whether packets may be routed differently than known.
    #[must_use]
    pub const fn is_uncertain(&self) -> bool {
        match self {
            Self::Vrf { .. } | Self::Unknown => true,
            Self::Destination | Self::Asked | Self::Kernel { .. } => false,
        }
    }
}
