// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of `/etc/config/firewall` as firewall4 parses them: negation, addresses, ports, MAC
//! addresses, protocols, families, names, words that may be abbreviated.

use std::net::IpAddr;
use std::ops::RangeInclusive;

/// A value without its `!`, and whether it has one.
#[must_use]
pub fn negation(text: &str) -> (bool, &str) {
    let text = text.trim();
    text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim()))
}

/// Whether fw4 completes `text` to `word`: any prefix in any case.
#[must_use]
pub fn is_short_for(text: &str, word: &str) -> bool {
    let text = text.to_ascii_lowercase();
    !text.is_empty() && word.to_ascii_lowercase().starts_with(&text)
}

/// A name of a zone: fw4 leaves out a zone whose name begins with a digit or `-`.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.'))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.-".contains(&byte))
}

/// Addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// All that agree with `address` where `mask` has ones, which need not be at its beginning.
    Masked {
        /// An address.
        address: IpAddr,
        /// Its mask, at the upper end of the 128 bits for IPv4 as well.
        mask: u128,
    },
    /// From one to another.
    Range(IpAddr, IpAddr),
}

/// An entry of `src_ip` and the like without its `!`; `None` for anything else, such as the name of
/// a network, which stands for the router's own addresses there.
#[must_use]
pub fn addresses(text: &str) -> Option<Addresses> {
    if let Some((address, mask)) = text.split_once('/') {
        let address: IpAddr = address.parse().ok()?;
        return Some(Addresses::Masked { address, mask: mask_of(mask, address)? });
    }
    if let Some((first, last)) = text.split_once('-') {
        let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
        return (first.is_ipv4() == last.is_ipv4()).then_some(Addresses::Range(first, last));
    }
    Some(Addresses::Masked { address: text.parse().ok()?, mask: u128::MAX })
}

/// A mask by its length, by the length of the zeros it ends with, or written as an address.
fn mask_of(text: &str, address: IpAddr) -> Option<u128> {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    if let Ok(mask) = text.parse::<IpAddr>() {
        return (mask.is_ipv4() == address.is_ipv4()).then(|| upper(mask));
    }
    let (inverted, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let length = crate::number(digits).ok().filter(|length| *length <= bits)?;
    let ones = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    let family = u128::MAX << (128 - bits);
    Some(if inverted { !ones & family } else { ones })
}

/// An address as the upper bits of a number.
#[must_use]
pub fn upper(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Addresses {
    /// Whether they are of IPv4.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        let (Self::Masked { address, .. } | Self::Range(address, _)) = self;
        address.is_ipv4()
    }

    /// Whether an address of either family is among them.
    #[must_use]
    pub fn contains(&self, other: IpAddr) -> bool {
        other.is_ipv4() == self.is_ipv4()
            && match *self {
                Self::Masked { address, mask } => (upper(address) ^ upper(other)) & mask == 0,
                Self::Range(first, last) => (first..=last).contains(&other),
            }
    }
}

/// A port or a range with `-` or `:`, without its `!`.
#[must_use]
pub fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let port = |text: &str| {
        let digits = (1..=5).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse::<u16>().ok())?
    };
    let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (first, last) = (port(first)?, port(last)?);
    (first <= last).then_some(first..=last)
}

/// Whether fw4 takes it for a MAC address, without its `!`: one or two digits between `:` or `-`.
#[must_use]
pub fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let is_byte =
        |part: &&str| matches!(part.len(), 1 | 2) && part.bytes().all(|c| c.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(is_byte)
}

/// Which packets a protocol of an option stands for, without its `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol<'a> {
    /// All.
    Any,
    /// TCP, UDP or both; fw4 heeds ports for these alone.
    WithPorts,
    /// Another, by name or number.
    Other(&'a str),
}

/// Reads an entry of `proto` without its `!`.
#[must_use]
pub fn protocol(text: &str) -> Protocol<'_> {
    match text.to_ascii_lowercase().as_str() {
        "all" | "any" | "*" => Protocol::Any,
        "tcp" | "6" | "udp" | "17" | "tcpudp" => Protocol::WithPorts,
        _ => Protocol::Other(text),
    }
}

/// Whether fw4 takes it for a family.
#[must_use]
pub fn is_family(text: &str) -> bool {
    matches!(text, "any" | "all" | "*" | "inet") || text.contains(['4', '6'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_of_each_kind() {
        for good in [
            "10.0.0.1",
            "10.0.0.0/8",
            "10.0.0.0/255.255.255.0",
            "10.0.0.5-10.0.0.9",
            "::/0",
            "fd00::/8",
            "::1/::ffff",
            "::1/-64",
            "10.0.0.1/255.0.0.255",
            "::1-::5",
        ] {
            assert!(addresses(good).is_some(), "{good}");
        }
        for bad in ["10.0.0.0/33", "10.0.0.0/ffff::", "::/129", "a-b", "10.0.0.1-::1", "", "lan"] {
            assert_eq!(addresses(bad), None, "{bad}");
        }
        assert_eq!(ports("80:90"), Some(80..=90));
        assert_eq!(ports("0"), Some(0..=0));
        for bad in ["90-80", "65536", "-1", "", "1-2-3", "http", "000080", "+8"] {
            assert_eq!(ports(bad), None, "{bad}");
        }
        assert!(is_mac("aa-bb-cc-dd-ee-ff") && is_mac("a:b:c:d:e:f") && !is_mac("a:b:c:d:e"));
        assert!(!is_mac("aa:bb:cc:*:*:*"), "wildcards are for dnsmasq");
        assert_eq!(negation(" ! 10.0.0.1"), (true, "10.0.0.1"));
        assert!(is_identifier("guest") && is_identifier("_1") && is_identifier(".a"));
        for bad in ["123_guest", "-guest", "", "a b", "ä"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }

    proptest! {
        /// A netmask and its length are the same network.
        #[test]
        fn a_netmask_is_a_length(address: std::net::Ipv4Addr, length in 0u32..=32) {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            let written = format!("{address}/{}", std::net::Ipv4Addr::from_bits(mask));
            prop_assert_eq!(addresses(&written), addresses(&format!("{address}/{length}")));
        }

        #[test]
        fn a_range_contains_its_ends(one: IpAddr, other: std::net::Ipv4Addr) {
            if let Some(range) = addresses(&format!("{one}-{other}")) {
                prop_assert!(!one.is_ipv4() || one <= IpAddr::from(other)
                    || !range.contains(one));
            }
        }
    }
}
