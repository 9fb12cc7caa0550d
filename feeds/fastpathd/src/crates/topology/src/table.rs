// SPDX-License-Identifier: GPL-2.0-or-later
//! rtnetlink tables, and the requests that dump them.

use netlink::push_attribute;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Links,
    Vlans,
    Addresses,
    Routes,
    Neighbours,
    Stations,
    Queues,
    Rules,
}

impl Table {
    pub(crate) const ALL: [Self; 8] = [
        Self::Links,
        Self::Vlans,
        Self::Addresses,
        Self::Routes,
        Self::Neighbours,
        Self::Stations,
        Self::Queues,
        Self::Rules,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Vlans => "bridge VLANs",
            Self::Addresses => "addresses",
            Self::Routes => "routes",
            Self::Neighbours => "neighbours",
            Self::Stations => "bridge forwarding databases",
            Self::Queues => "queueing disciplines",
            Self::Rules => "routing rules",
        }
    }

    pub(crate) fn request(self) -> (u16, Vec<u8>) {
        const IFINFOMSG: usize = 16;
        const IFADDRMSG: usize = 8;
        const RTMSG: usize = 12;
        // The kernel parses a bridge dump as a legacy request unless its header is `struct ndmsg`.
        const NDMSG: usize = 12;
        const TCMSG: usize = 20;
        const FIB_RULE: usize = 12;
        const IFLA_EXT_MASK: u16 = 29;
        const RTEXT_FILTER_BRVLAN: u32 = 2;
        let (kind, family, length) = match self {
            Self::Links => (libc::RTM_GETLINK, libc::AF_UNSPEC, IFINFOMSG),
            Self::Vlans => (libc::RTM_GETLINK, libc::AF_BRIDGE, IFINFOMSG),
            Self::Addresses => (libc::RTM_GETADDR, libc::AF_UNSPEC, IFADDRMSG),
            Self::Routes => (libc::RTM_GETROUTE, libc::AF_UNSPEC, RTMSG),
            Self::Neighbours => (libc::RTM_GETNEIGH, libc::AF_UNSPEC, NDMSG),
            Self::Stations => (libc::RTM_GETNEIGH, libc::AF_BRIDGE, NDMSG),
            Self::Queues => (libc::RTM_GETQDISC, libc::AF_UNSPEC, TCMSG),
            Self::Rules => (libc::RTM_GETRULE, libc::AF_UNSPEC, FIB_RULE),
        };
        let mut payload = vec![0; length];
        payload[0] = u8::try_from(family).unwrap_or_default();
        if self == Self::Vlans {
            push_attribute(&mut payload, IFLA_EXT_MASK, &RTEXT_FILTER_BRVLAN.to_ne_bytes());
        }
        (kind, payload)
    }
}
