// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of traffic that the configuration can keep on the slow path.

use std::net::IpAddr;

config::named! {
    /// Type of a flow, by IP version or by the layer 3 device at either end. Tunnels have the
    /// kernel's name of their kind.
    #[derive(PartialOrd, Ord)]
    pub enum TrafficType {
        Ipv4 = "ipv4",
        Ipv6 = "ipv6",
        Vlan = "vlan",
        Pppoe = "pppoe",
        Gre = "gre",
        Gretap = "gretap",
        Ip6gre = "ip6gre",
        Ip6gretap = "ip6gretap",
        /// IPv4 or IPv6 in IPv6, such as DS-Lite and MAP-E.
        Ip6tnl = "ip6tnl",
        Ipip = "ipip",
        /// IPv6 in IPv4, such as 6in4 and 6rd.
        Sit = "sit",
        Wireguard = "wireguard",
    }
}

impl TrafficType {
    pub const TUNNELS: [Self; 8] = [
        Self::Gre,
        Self::Gretap,
        Self::Ip6gre,
        Self::Ip6gretap,
        Self::Ip6tnl,
        Self::Ipip,
        Self::Sit,
        Self::Wireguard,
    ];

    /// Returns the kernel's name of the device kind; `None` for an IP version.
    #[must_use]
    pub fn device_kind(self) -> Option<&'static str> {
        match self {
            Self::Ipv4 | Self::Ipv6 => None,
            Self::Pppoe => Some("ppp"),
            Self::Vlan
            | Self::Gre
            | Self::Gretap
            | Self::Ip6gre
            | Self::Ip6gretap
            | Self::Ip6tnl
            | Self::Ipip
            | Self::Sit
            | Self::Wireguard => Some(self.name()),
        }
    }

    #[must_use]
    pub fn of_device_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.device_kind() == Some(kind))
    }

    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        if address.is_ipv6() { Self::Ipv6 } else { Self::Ipv4 }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TrafficTypes(u16);

impl TrafficTypes {
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = TrafficType> {
        TrafficType::ALL.into_iter().filter(move |one| self.0 & one.bit() != 0)
    }
}

impl FromIterator<TrafficType> for TrafficTypes {
    fn from_iter<I: IntoIterator<Item = TrafficType>>(types: I) -> Self {
        Self(types.into_iter().fold(0, |bits, one| bits | one.bit()))
    }
}
