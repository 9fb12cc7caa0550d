// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of the network model.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use config::Network;
use serde::{Serialize, Serializer};

/// Device name; reference-counted, because every flow has several.
pub type Name = Arc<str>;

/// Ethernet address, displayed as `02:00:00:00:00:01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ethernet address like 02:00:00:00:00:01")]
pub struct MacError;

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let mut bytes = [0; 6];
        let mut words = text.split(':');
        for byte in &mut bytes {
            let hex = |word: &&str| word.len() == 2 && word.bytes().all(|c| c.is_ascii_hexdigit());
            let word = words.next().filter(hex).ok_or(MacError)?;
            *byte = u8::from_str_radix(word, 16).map_err(|_| MacError)?;
        }
        if words.next().is_some() { Err(MacError) } else { Ok(Self(bytes)) }
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Kind of a link, from `IFLA_INFO_KIND` and the hardware type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// Ethernet without an `IFLA_INFO_KIND`: hardware, virtio, Wi-Fi.
    Ethernet,
    Bridge {
        vlan_filtering: bool,
    },
    Vlan {
        /// Tag, 1..=4094 (0 for a priority tag).
        id: u16,
        /// True for 802.1ad, false for 802.1Q.
        service: bool,
    },
    /// A PPP device; over Ethernet if it has a [`PppoeSession`].
    Ppp,
    Loopback,
    /// Any other kind by the kernel's name: `veth`, `dsa`, `bond`, `wireguard`, `tun`, …
    Other(Name),
}

impl LinkKind {
    #[must_use]
    pub fn vlan(&self) -> Option<u16> {
        if let Self::Vlan { id, .. } = self { Some(*id) } else { None }
    }

    /// Returns the name in the API, which is the kernel's for all kinds except `Ethernet` and
    /// `Loopback`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Bridge { .. } => "bridge",
            Self::Vlan { .. } => "vlan",
            Self::Ppp => "ppp",
            Self::Loopback => "loopback",
            Self::Other(kind) => kind,
        }
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the kernel")]
pub struct Link {
    /// The kernel's index, unique while the device exists.
    pub index: u32,
    pub name: Name,
    pub kind: LinkKind,
    pub mac: Option<Mac>,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Largest IPv6 packet, in bytes (`net.ipv6.conf.….mtu`, for example from router
    /// advertisements). A change of the setting causes no event.
    pub mtu6: u32,
    pub up: bool,
    pub carrier: bool,
    /// `operstate`, RFC 2863: 0 unknown, 2 down, 3 lower layer down, 5 dormant, 6 up.
    pub operstate: u8,
    /// Index of the link's bridge, bond or VRF.
    pub master: Option<u32>,
    /// `IFLA_LINK`: the lower device, the peer of a `veth`, or the conduit of a `dsa` port.
    pub lower: Option<u32>,
    /// `ARPHRD_*`: 1 Ethernet, 512 PPP, 772 loopback, 65534 none.
    pub hardware: u16,
    /// The link resolves no neighbours (`IFF_POINTOPOINT` or `IFF_NOARP`).
    pub point_to_point: bool,
    /// Received packets have a checksum of the tunnel's own header (GRE with `icsum`).
    pub checksums: bool,
    /// All 0 unless the link is a VLAN device.
    pub priorities: VlanPriorities,
}

/// Maps between the kernel's packet priorities and the 802.1p priorities of a VLAN's frames
/// (`egress-qos-map`, `ingress-qos-map`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VlanPriorities {
    /// Priorities of egress frames by the bits 0x18 of the packet's service field: 0x00, 0x08,
    /// 0x10, 0x18.
    pub egress: [u8; 4],
    /// The tag of ingress frames sets the packet's priority.
    pub ingress: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub index: u32,
    pub address: IpAddr,
    /// Prefix length in bits.
    pub prefix: u8,
    /// The other end of a point-to-point link.
    pub peer: Option<IpAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteKind {
    Unicast,
    /// Delivers the packet locally: local or anycast.
    Local,
    /// Delivers the packet to all hosts on the link: broadcast or multicast.
    Broadcast,
    /// Drops the packet: unreachable, blackhole, prohibit, throw.
    Refuse,
}

/// A route of the tables `main`, `local` or `default`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// Destination network; host bits are zero.
    pub network: IpAddr,
    pub prefix: u8,
    pub kind: RouteKind,
    /// 254 main, 255 local, 253 default.
    pub table: u32,
    /// Lower is better.
    pub metric: u32,
    /// Egress link; the first one of a multipath route.
    pub index: Option<u32>,
    /// Next router; `None` if the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// Applies only to packets from this network.
    pub source: Option<Network>,
    /// Multipath: each flow uses one of several next hops.
    pub several: bool,
    /// MTU set by the route (`ip route … mtu`), which applies to forwarded packets.
    pub mtu: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NeighbourState {
    /// The MAC is known and used (`REACHABLE`, `STALE`, `DELAY`, `PROBE`, `PERMANENT`, `NOARP`).
    Valid,
    /// Resolution is in progress (`INCOMPLETE`) or has failed (`FAILED`).
    Invalid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub index: u32,
    pub address: IpAddr,
    pub mac: Option<Mac>,
    pub state: NeighbourState,
}

/// A learned or static entry of a bridge's forwarding database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FdbEntry {
    pub bridge: u32,
    pub port: u32,
    pub mac: Mac,
    /// VLAN in which it was learned; 0 on a bridge without VLAN filtering.
    pub vlan: u16,
    /// The MAC belongs to the bridge or to the port itself.
    pub own: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PortVlan {
    /// 1..=4094.
    pub vid: u16,
    pub tagged: bool,
    /// Untagged ingress frames belong to this VLAN (PVID).
    pub pvid: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeVlan {
    /// Index of the port, or of the bridge itself.
    pub index: u32,
    /// Sorted by VLAN.
    pub vlans: Vec<PortVlan>,
}

/// A queueing discipline that neither the kernel nor a distribution sets by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueingDiscipline {
    pub index: u32,
    /// True for ingress (`ingress`, `clsact`), false for egress.
    pub incoming: bool,
    /// The kernel's name: `cake`, `htb`, `tbf`, …
    pub kind: Name,
    /// Marks may select its classes; for `cake`, only with `fwmark`.
    pub by_mark: bool,
}

/// A line of `/proc/net/pppoe`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PppoeSession {
    /// Session id assigned by the access concentrator.
    pub id: u16,
    /// MAC of the access concentrator.
    pub peer: Mac,
    /// Egress device of the session's frames (`wan.35`).
    pub device: Name,
}

/// A running pppd with the names of its ppp device and lower device in its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dialer {
    /// ppp device (`ifname pppoe-wan`).
    pub device: Name,
    /// Lower device (`nic-wan.35`).
    pub lower: Name,
}
