// SPDX-License-Identifier: GPL-2.0-or-later
//! Classifies links as Ethernet ports or tunnels by the kernel's name of their kind.

use crate::types::{Link, LinkKind};

/// Tunnel kinds. `gretap`, `vxlan` and taps have the hardware type Ethernet, but are not ports.
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

/// Tunnels that work as flowtable devices: the flowtable hooks packets after decapsulation and
/// sends through the tunnel device. Measured on Linux 6.12, in both directions.
///
/// Tunnels that verify a checksum are excluded: a flowtable changes the hop limit of IPv6 packets
/// but keeps their `CHECKSUM_COMPLETE`, so hosts behind virtual ports drop them.
const LISTED_TUNNELS: [&str; 8] =
    ["gre", "gretap", "ip6gre", "ip6gretap", "ip6tnl", "ipip", "sit", "wireguard"];

/// Devices that combine several links. The receive handler of a member passes frames to the
/// combined device, whose ingress hook runs in addition to the member's.
const AGGREGATES: [&str; 2] = ["bond", "team"];

const ETHERNET: u16 = libc::ARPHRD_ETHER;

/// Returns whether the device is an Ethernet port, real or virtual, that a flowtable can hook.
pub(crate) fn is_port(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Ethernet => link.hardware == ETHERNET,
        LinkKind::Other(kind) => {
            link.hardware == ETHERNET && !TUNNELS.contains(&&**kind) && &**kind != "vrf"
        }
        _ => false,
    }
}

pub(crate) fn is_aggregate(link: &Link) -> bool {
    matches!(&link.kind, LinkKind::Other(kind) if AGGREGATES.contains(&&**kind))
}

pub(crate) fn is_switch_port(link: &Link) -> bool {
    matches!(&link.kind, LinkKind::Other(kind) if &**kind == "dsa")
}

pub(crate) fn is_listed_tunnel(link: &Link) -> bool {
    let listed = |kind: &str| LISTED_TUNNELS.contains(&kind) && !link.checksums;
    matches!(&link.kind, LinkKind::Other(kind) if listed(kind))
}

#[cfg(test)]
mod tests {
    use model::TrafficType;

    use super::*;

    #[test]
    fn every_listed_tunnel_has_a_switch() {
        assert_eq!(TrafficType::TUNNELS.map(TrafficType::name), LISTED_TUNNELS);
    }
}
