// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the egress header: Ethernet, VLAN tags and PPPoE.

use crate::entry_side::{EntrySide, Hook, Tag};
use crate::layout::HEADER_MAX;

const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_PPP_SES: u16 = 0x8864;
const PPP_IP: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Egress header. XDP writes VLAN tags as part of `bytes`, TC pushes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Bytes before the IP header; an even length, 14..=[`HEADER_MAX`].
    pub bytes: Vec<u8>,
    /// The tag that TC pushes last.
    pub outer: Option<Tag>,
    /// The tag that TC pushes first.
    pub inner: Option<Tag>,
    pub priorities: [u8; 2],
    /// True if the header ends with `PPPoE`; the programs fill in the length.
    pub pppoe: bool,
}

impl Header {
    pub(crate) fn is_plain(&self) -> bool {
        self.bytes.len() == 14 && self.outer.is_none()
    }
}

/// Builds the header of packets to `to`, for a program at `hook`.
pub(crate) fn header(hook: Hook, to: &EntrySide, next_hop: [u8; 6], v4: bool) -> Header {
    let mut bytes = Vec::with_capacity(HEADER_MAX);
    bytes.extend(next_hop);
    bytes.extend(to.local);
    let (outer, inner) = (to.encapsulation.outer, to.encapsulation.inner);
    let priorities = to.priorities.map(|[best_effort, ..]| best_effort);
    if hook == Hook::Xdp {
        for (tag, priority) in [outer, inner].into_iter().zip(priorities) {
            if let Some(tag) = tag {
                bytes.extend(tag.protocol().to_be_bytes());
                bytes.extend(tag.tci(priority).to_be_bytes());
            }
        }
    }
    match to.encapsulation.session {
        Some(session) => {
            bytes.extend(ETH_P_PPP_SES.to_be_bytes());
            // Version and type 1, code 0 (session data), length 0.
            bytes.extend([0x11, 0]);
            bytes.extend(session.to_be_bytes());
            bytes.extend([0, 0]);
            bytes.extend(if v4 { PPP_IP } else { PPP_IPV6 }.to_be_bytes());
        }
        None => bytes.extend(if v4 { ETH_P_IP } else { ETH_P_IPV6 }.to_be_bytes()),
    }
    let in_metadata = |tag: Option<Tag>| tag.filter(|_| hook == Hook::Tc);
    Header {
        bytes,
        outer: in_metadata(outer),
        inner: in_metadata(inner),
        priorities,
        pppoe: to.encapsulation.session.is_some(),
    }
}
