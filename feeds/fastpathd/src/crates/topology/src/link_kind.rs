// SPDX-License-Identifier: GPL-2.0-or-later
//! Which links are Ethernet ports, and which are tunnels, by the kernel's name of their kind.

use crate::types::{Link, LinkKind};

/// Tunnels. Some of them look like Ethernet (`gretap`, `vxlan`, a tap), but no port is below them.
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

/// Tunnels that a flowtable lists by themselves: it takes packets behind their decapsulation, and
/// hands packets to their own transmit function. Measured on Linux 6.12, in both directions.
const LISTED_TUNNELS: [&str; 6] = ["gre", "gretap", "ip6tnl", "ipip", "sit", "wireguard"];

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

/// Whether the link is a tunnel that a flowtable can list.
pub(crate) fn is_listed_tunnel(link: &Link) -> bool {
    matches!(&link.kind, LinkKind::Other(kind) if LISTED_TUNNELS.contains(&&**kind))
}
