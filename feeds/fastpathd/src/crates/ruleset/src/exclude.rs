// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows that stay on the slow path, as the owner describes them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::section::Section;

/// An address range in CIDR form; host bits are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// First address.
    pub address: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    /// What is wrong, to be read after the value.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| "is no address or network such as 10.0.0.0/24".to_owned())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(text) => number(text)
                .ok()
                .and_then(|prefix| u8::try_from(prefix).ok())
                .filter(|prefix| *prefix <= longest)
                .ok_or(format!("has a prefix length that is not 0 to {longest}"))?,
        };
        let network = Self { address: first_of(address, prefix), prefix };
        if network.address == address {
            Ok(network)
        } else {
            Err(format!("has bits set beyond the prefix; meant is perhaps {network}"))
        }
    }
}

fn first_of(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

/// Digits only: Rust's own parser would take a sign too.
pub(crate) fn number(text: &str) -> Result<u32, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("is no number".to_owned());
    }
    text.parse().map_err(|_| "is too large".to_owned())
}

/// A port or a range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// First port.
    pub first: u16,
    /// Last port, not smaller than the first.
    pub last: u16,
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
    /// What is wrong, to be read after the value.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = |text: &str| {
            number(text)
                .ok()
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port != 0)
                .ok_or("is no port (1 to 65535) or range of ports such as 5000-5010")
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let ports = Self { first: port(first)?, last: port(last)? };
        if ports.first <= ports.last {
            Ok(ports)
        } else {
            Err("is a range that ends before it begins".to_owned())
        }
    }
}

/// Flows that stay on the slow path: all that is given must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Exclude {
    /// What the owner calls it; may be empty.
    pub name: String,
    /// Who opened the flow.
    pub src: Option<Network>,
    /// Whom it was opened to, after destination NAT.
    pub dest: Option<Network>,
    /// IP protocol: 6 TCP, 17 UDP; none: both.
    pub proto: Option<u8>,
    /// Ports it was opened from.
    pub src_port: Option<Ports>,
    /// Ports it was opened to.
    pub dest_port: Option<Ports>,
}

impl Exclude {
    /// Reads a section. None if it is switched off or wrong.
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let enabled = section.value("enabled", switch).unwrap_or(true);
        let exclude = Self {
            name: section.value("name", label).unwrap_or_default(),
            src: section.value("src", Network::from_str),
            dest: section.value("dest", Network::from_str),
            proto: section.value("proto", protocol).flatten(),
            src_port: section.value("src_port", Ports::from_str),
            dest_port: section.value("dest_port", Ports::from_str),
        };
        if let (Some(src), Some(dest)) = (exclude.src, exclude.dest)
            && src.address.is_ipv4() != dest.address.is_ipv4()
        {
            let what = format!("is of another family than src {src}");
            section.error("dest", &dest.to_string(), &what);
        }
        if section.errors.is_empty()
            && exclude == (Self { name: exclude.name.clone(), ..Self::default() })
        {
            let what = "excludes every flow; to stop offloading, set engine to 'off'";
            section.error("", "", what);
        }
        (enabled && section.errors.is_empty()).then_some(exclude)
    }
}

/// A switch, in any of UCI's spellings.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "on" | "true" | "yes" | "enabled" => Ok(true),
        "0" | "off" | "false" | "no" | "disabled" => Ok(false),
        _ => Err("is neither 1 nor 0".to_owned()),
    }
}

/// A name for people. It ends up between double quotes in nft's language, which knows no
/// escapes, within a comment of at most 128 bytes.
fn label(text: &str) -> Result<String, String> {
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes"));
    }
    if let Some(bad) = text.chars().find(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return Err(format!("contains {bad:?}, which a name cannot"));
    }
    Ok(text.to_owned())
}

/// None: TCP and UDP.
fn protocol(text: &str) -> Result<Option<u8>, String> {
    match text {
        "tcp" | "6" => Ok(Some(6)),
        "udp" | "17" => Ok(Some(17)),
        "all" | "any" | "tcpudp" | "tcp udp" => Ok(None),
        _ => Err("is neither tcp nor udp, and nothing else is ever offloaded".to_owned()),
    }
}
