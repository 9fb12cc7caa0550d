// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses values of `/etc/config/firewall` like firewall4.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use uci::{Section, Setting};

/// Splits a value into its negation (`!`) and the rest.
#[must_use]
pub fn negation(text: &str) -> (bool, &str) {
    let text = text.trim();
    text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim()))
}

/// Returns whether fw4 completes `text` to `word`. Any prefix in any case is an abbreviation.
#[must_use]
pub fn is_short_for(text: &str, word: &str) -> bool {
    let text = text.to_ascii_lowercase();
    !text.is_empty() && word.to_ascii_lowercase().starts_with(&text)
}

/// Returns whether fw4 accepts the name of a zone. fw4 skips zones with other names.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.'))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.-".contains(&byte))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Addresses that equal `address` in the one bits of `mask`. The ones need not be leading bits.
    Masked {
        address: IpAddr,
        /// Left-aligned in 128 bits, for IPv4 as well.
        mask: u128,
    },
    Range(IpAddr, IpAddr),
}

/// Parses an entry of `src_ip` and similar options, without its `!`. `None` for other entries, such
/// as the name of a network.
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

/// Parses a mask: the number of ones, `-` and the number of leading zeros, or an address.
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

#[must_use]
pub fn upper(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Addresses {
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        let (Self::Masked { address, .. } | Self::Range(address, _)) = self;
        address.is_ipv4()
    }

    #[must_use]
    pub fn contains(&self, other: IpAddr) -> bool {
        other.is_ipv4() == self.is_ipv4()
            && match *self {
                Self::Masked { address, mask } => (upper(address) ^ upper(other)) & mask == 0,
                Self::Range(first, last) => (first..=last).contains(&other),
            }
    }
}

/// Parses a port or a range with `-` or `:`, without its `!`.
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

/// Returns whether fw4 accepts a MAC address, without its `!`. A byte may have one or two digits.
#[must_use]
pub fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let is_byte =
        |part: &&str| matches!(part.len(), 1 | 2) && part.bytes().all(|c| c.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(is_byte)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    Tcp,
    Udp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol<'a> {
    /// All protocols. fw4 then ignores ports.
    Any,
    One(Transport),
    Both,
    /// A protocol without ports, by name or number.
    Other(&'a str),
}

impl Protocol<'_> {
    /// Returns whether fw4 applies ports to the protocol.
    #[must_use]
    pub fn has_ports(self) -> bool {
        match self {
            Self::One(_) | Self::Both => true,
            Self::Any | Self::Other(_) => false,
        }
    }
}

/// Parses an entry of `proto` without its `!`.
#[must_use]
pub fn protocol(text: &str) -> Protocol<'_> {
    match text.to_ascii_lowercase().as_str() {
        "all" | "any" | "*" => Protocol::Any,
        "tcp" | "6" => Protocol::One(Transport::Tcp),
        "udp" | "17" => Protocol::One(Transport::Udp),
        "tcpudp" => Protocol::Both,
        _ => Protocol::Other(text),
    }
}

/// Returns whether a rule matches packets of a transport to a port. fw4 ignores the `!` of a
/// protocol, and applies a rule without a protocol to TCP and UDP.
#[must_use]
pub fn takes(rule: &Section, transport: Transport, port: u16) -> bool {
    let protos = rule.words("proto");
    let by_port = || has_port(&rule.words("dest_port"), port).unwrap_or(false);
    let taken = |word: &&str| match protocol(negation(word).1) {
        Protocol::Any => true,
        Protocol::One(of) => of == transport && by_port(),
        Protocol::Both => by_port(),
        Protocol::Other(_) => false,
    };
    let readable = |word: &&str| !negation(word).1.is_empty();
    match &protos[..] {
        [] => by_port(),
        words => words.iter().all(readable) && words.iter().any(taken),
    }
}

/// Returns whether fw4 uses the section. fw4 skips a section that is disabled, has an unknown value
/// in `enabled`, or has a list where only a single value is allowed.
#[must_use]
pub fn is_in_force(section: &Section) -> bool {
    let on = |text: &str| matches!(text, "1" | "on" | "true" | "yes");
    section.text("enabled").is_none_or(on) && wrong_lists(section).next().is_none()
}

/// Returns whether `words` select a port: the listed ports, or all ports if none is listed, minus
/// the negated ones. `None` if fw4 cannot parse an entry.
#[must_use]
pub fn has_port(words: &[&str], port: u16) -> Option<bool> {
    let read = |word: &&str| {
        let (negated, word) = negation(word);
        Some((negated, ports(word)?.contains(&port)))
    };
    words.iter().map(read).collect::<Option<Vec<_>>>().map(|entries| selects(&entries))
}

/// Returns whether `words` select an address: the listed addresses, or all addresses if none is
/// listed, minus the negated ones. A list with entries only of the other family selects nothing.
/// `network` returns the subnets of a network by name. `None` if an entry is neither an address nor
/// a network.
#[must_use]
pub fn has_address(
    words: &[&str],
    address: IpAddr,
    network: impl Fn(&str) -> Option<Vec<Addresses>>,
) -> Option<bool> {
    let mut entries = Vec::new();
    for word in words {
        let (negated, word) = negation(word);
        let of = addresses(word).map_or_else(|| network(word), |one| Some(vec![one]))?;
        let family = of.iter().filter(|one| one.is_ipv4() == address.is_ipv4());
        entries.extend(family.map(|one| (negated, one.contains(address))));
    }
    Some(words.is_empty() || (!entries.is_empty() && selects(&entries)))
}

/// Returns whether entries select a value. An entry is a pair of "negated" and "contains the
/// value".
fn selects(entries: &[(bool, bool)]) -> bool {
    let listed = entries.iter().any(|(negated, _)| !negated);
    let of = |wanted: bool| entries.iter().any(|(negated, has)| *negated == wanted && *has);
    (!listed || of(false)) && !of(true)
}

/// Options that may be lists. fw4 skips a section with any other list, even with one entry.
const LISTS: &[(&str, &[&str])] = &[
    ("zone", &["network", "device", "subnet", "masq_src", "masq_dest", "helper"]),
    ("rule", &["proto", "src_ip", "src_mac", "src_port", "dest_ip", "dest_port", "icmp_type"]),
    ("redirect", &["proto", "src_mac", "reflection_zone"]),
    ("nat", &["proto"]),
    ("ipset", &["match", "entry"]),
    ("defaults", &[]),
    ("forwarding", &[]),
    ("include", &[]),
];

/// Returns the options with a list where fw4 accepts only a single value.
pub fn wrong_lists(section: &Section) -> impl Iterator<Item = &str> {
    let lists = LISTS.iter().find(|(kind, _)| *kind == section.kind);
    let wrong = move |option: &&str| lists.is_some_and(|(_, lists)| !lists.contains(option));
    let options = section.options.iter().filter(|(_, of)| matches!(of, Setting::List(_)));
    options.map(|(option, _)| option.as_str()).filter(wrong)
}

#[must_use]
pub fn is_family(text: &str) -> bool {
    matches!(text, "any" | "all" | "*" | "inet") || text.contains(['4', '6'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_values_of_each_kind() {
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
        #[test]
        fn a_netmask_equals_its_length(address: std::net::Ipv4Addr, length in 0u32..=32) {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            let written = format!("{address}/{}", std::net::Ipv4Addr::from_bits(mask));
            prop_assert_eq!(addresses(&written), addresses(&format!("{address}/{length}")));
        }

        #[test]
        fn a_descending_range_does_not_contain_its_start(one: IpAddr, other: std::net::Ipv4Addr) {
            if let Some(range) = addresses(&format!("{one}-{other}")) {
                prop_assert!(!one.is_ipv4() || one <= IpAddr::from(other)
                    || !range.contains(one));
            }
        }
    }
}
