// SPDX-License-Identifier: GPL-2.0-or-later
//! Which links are Ethernet ports, and which are tunnels, by the kernel's name of their kind.

use crate::types::{Link, LinkKind};

/// Tunnels. Some of them look like Ethernet (`gretap`, `vxlan`, a tap), but the flowtable does not
/// write their outer headers.
const TUNNELS: [&str; 17] = [
    "erspan",
    "geneve",
    "gre",
    "gretap",
    "gtp",
    "ip6erspan",
    "ip6gre",
    "ip6gretap",
    "ip6tnl",
    "ipip",
    "ovpn",
    "sit",
    "tun",
    "vxlan",
    "wireguard",
    "xfrm",
    "vti",
];

const ETHERNET: u16 = libc::ARPHRD_ETHER;

/// Whether frames enter and leave the machine (or a virtual wire) by this device, so that a
/// flowtable can be hooked to it.
pub(crate) fn is_port(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Ethernet => link.hardware == ETHERNET,
        LinkKind::Other(kind) => link.hardware == ETHERNET && !TUNNELS.contains(&&**kind),
        _ => false,
    }
}
