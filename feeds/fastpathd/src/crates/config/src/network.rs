// SPDX-License-Identifier: GPL-2.0-or-later
//! Address ranges in CIDR form, such as `10.0.0.0/24`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::fault::Fault;
use crate::value::number;

/// An address range in CIDR form, without host bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    pub address: IpAddr,
    pub prefix: u8,
}

impl Network {
    /// Returns the network of an address. `None` if the prefix is longer than the address.
    #[must_use]
    pub fn of(address: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= longest(address)).then(|| Self { address: first_of(address, prefix), prefix })
    }

    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self { address, prefix: longest(address) }
    }

    /// Formats the network. Omits the prefix length of a single address.
    #[must_use]
    pub fn brief(&self) -> String {
        if self.prefix == longest(self.address) {
            self.address.to_string()
        } else {
            self.to_string()
        }
    }

    #[must_use]
    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        let prefix = u32::from(self.prefix);
        match (self.address, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.checked_shr(32_u32.saturating_sub(prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.checked_shr(128_u32.saturating_sub(prefix)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| Fault::NotNetwork)?;
        let longest = longest(address);
        let prefix = match prefix {
            None => longest,
            Some(text) => number(text)
                .ok()
                .and_then(|prefix| u8::try_from(prefix).ok())
                .filter(|prefix| *prefix <= longest)
                .ok_or(Fault::PrefixLength { longest })?,
        };
        let network = Self { address: first_of(address, prefix), prefix };
        if network.address == address {
            Ok(network)
        } else {
            Err(Fault::HostBits { network: network.to_string() })
        }
    }
}

fn longest(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
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

#[cfg(test)]
mod tests;
