// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `exclude` of `/etc/config/fastpath`: flows of which all packets, or the first packets,
//! stay on the slow path.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use config::{Fault, Network, Section, label, number, number_in, switch};
use ctnetlink::Tuple;

/// A port or an inclusive range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    pub first: u16,
    pub last: u16,
}

impl Ports {
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl FromStr for Ports {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = |text: &str| {
            number(text)
                .ok()
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port != 0)
                .ok_or(Fault::NotPorts)
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let ports = Self { first: port(first)?, last: port(last)? };
        if ports.first <= ports.last { Ok(ports) } else { Err(Fault::PortsDescend) }
    }
}

/// Range of `slow_packets`. Programs that analyse first packets need far fewer.
const SLOW_PACKETS: RangeInclusive<u32> = 1..=1_000_000;

/// Exclusion of the flows that meet all given conditions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Exclude {
    /// Option `name`; may be empty.
    pub name: String,
    pub src: Option<Network>,
    /// Network of the responder, after destination NAT.
    pub dest: Option<Network>,
    /// IP protocol: 6 TCP, 17 UDP; `None` matches both.
    pub proto: Option<u8>,
    pub src_port: Option<Ports>,
    /// Ports of the responder, after destination NAT.
    pub dest_port: Option<Ports>,
    /// Number of first packets in both directions together; `None` for all packets.
    pub slow_packets: Option<u32>,
}

impl Exclude {
    #[must_use]
    pub fn matches(&self, orig: &Tuple, reply: &Tuple) -> bool {
        self.src.is_none_or(|network| network.contains(orig.src))
            && self.dest.is_none_or(|network| network.contains(reply.src))
            && self.proto.is_none_or(|proto| proto == orig.proto)
            && self.src_port.is_none_or(|ports| ports.contains(orig.sport))
            && self.dest_port.is_none_or(|ports| ports.contains(reply.sport))
    }

    /// Returns whether matching flows never leave the slow path.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        self.slow_packets.is_none()
    }

    fn has_condition(&self) -> bool {
        self.src.is_some()
            || self.dest.is_some()
            || self.proto.is_some()
            || self.src_port.is_some()
            || self.dest_port.is_some()
    }

    /// Parses a section; `None` if it is disabled or invalid.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let enabled = section.value("enabled", switch).unwrap_or(true);
        let exclude = Self {
            name: section.value("name", label).unwrap_or_default(),
            src: section.value("src", Network::from_str),
            dest: section.value("dest", Network::from_str),
            proto: section.value("proto", protocol).flatten(),
            src_port: section.value("src_port", Ports::from_str),
            dest_port: section.value("dest_port", Ports::from_str),
            slow_packets: section.value("slow_packets", number_in(SLOW_PACKETS)),
        };
        if let (Some(src), Some(dest)) = (exclude.src, exclude.dest)
            && src.address.is_ipv4() != dest.address.is_ipv4()
        {
            let fault = Fault::OtherFamily { src: src.to_string() };
            section.error("dest", &dest.to_string(), fault);
        }
        if section.is_good() && !exclude.has_condition() {
            section.error("", "", Fault::ExcludesAll);
        }
        (enabled && section.is_good()).then_some(exclude)
    }
}

/// Parses a protocol; `None` for both TCP and UDP.
fn protocol(text: &str) -> Result<Option<u8>, Fault> {
    match text {
        "tcp" | "6" => Ok(Some(6)),
        "udp" | "17" => Ok(Some(17)),
        "all" | "any" | "tcpudp" | "tcp udp" => Ok(None),
        _ => Err(Fault::Protocol),
    }
}
