// SPDX-License-Identifier: GPL-2.0-or-later
//! Classifies links as Ethernet ports or tunnels by the kernel's name of their kind.

use crate::types::{Link, LinkKind};

/// Tunnels. Some look like Ethernet (`gretap`, `vxlan`, a tap), but have no port below.
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

/// Tunnels that a flowtable can list: it takes packets after decapsulation, and sends packets with
/// the tunnel's own transmit function. Measured on Linux 6.12, in both directions.
const LISTED_TUNNELS: [&str; 6] = ["gre", "gretap", "ip6tnl", "ipip", "sit", "wireguard"];

const ETHERNET: u16 = libc::ARPHRD_ETHER;

/// Returns whether frames enter and leave the machine (or a virtual wire) through this device, so
/// that a flowtable can hook it.
pub(crate) fn is_port(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Ethernet => link.hardware == ETHERNET,
        LinkKind::Other(kind) => link.hardware == ETHERNET && !TUNNELS.contains(&&**kind),
        _ => false,
    }
}

/// Returns whether the link is a tunnel that a flowtable can list.
pub(crate) fn is_listed_tunnel(link: &Link) -> bool {
    matches!(&link.kind, LinkKind::Other(kind) if LISTED_TUNNELS.contains(&&**kind))
}
