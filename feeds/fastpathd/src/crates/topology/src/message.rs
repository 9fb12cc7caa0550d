// SPDX-License-Identifier: GPL-2.0-or-later
//! Netlink messages: taking a datagram apart, and asking for tables.

/// Length of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;

/// One message of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// `nlmsg_type`.
    pub(crate) kind: u16,
    /// `nlmsg_flags`.
    pub(crate) flags: u16,
    /// `nlmsg_seq`: repeats the request's in answers.
    pub(crate) seq: u32,
    /// What follows the header.
    pub(crate) payload: &'a [u8],
}

/// The messages of a datagram; ends early at one whose length cannot be.
pub(crate) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*datagram.first_chunk()?);
        let length = usize::try_from(length).ok().filter(|length| *length >= HEADER)?;
        let message = datagram.get(..length)?;
        let (header, payload) = message.split_first_chunk::<HEADER>()?;
        let [_, _, _, _, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *header;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Message {
            kind: u16::from_ne_bytes([k0, k1]),
            flags: u16::from_ne_bytes([f0, f1]),
            seq: u32::from_ne_bytes([s0, s1, s2, s3]),
            payload,
        })
    })
}

/// What can be read as a whole.
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

    /// What the owner would call it, for messages.
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

    /// The request that makes the kernel tell the table.
    pub(crate) fn request(self, seq: u32) -> Vec<u8> {
        const IFINFOMSG: usize = 16;
        const IFADDRMSG: usize = 8;
        const RTMSG: usize = 12;
        // The kernel takes a bridge dump for one of an old kind unless the header is exactly
        // `struct ndmsg`.
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
            payload.extend(8_u16.to_ne_bytes());
            payload.extend(IFLA_EXT_MASK.to_ne_bytes());
            payload.extend(RTEXT_FILTER_BRVLAN.to_ne_bytes());
        }
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
        let total = u32::try_from(HEADER + payload.len()).unwrap_or_default();
        let mut request = Vec::with_capacity(HEADER + payload.len());
        request.extend(total.to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend(u16::try_from(flags).unwrap_or_default().to_ne_bytes());
        request.extend(seq.to_ne_bytes());
        request.extend(0_u32.to_ne_bytes());
        request.extend(payload);
        request
    }
}
