// SPDX-License-Identifier: GPL-2.0-or-later
//! Matches a search term with addresses and ports: digits of a port, `:443` for exactly this port,
//! part of an IPv4 or IPv6 address, or a network such as `10.10.0.0/16`. Formats no text, to search
//! a hundred thousand flows within a few milliseconds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use config::Network;

#[derive(Debug, Default)]
pub(crate) struct Numbers {
    port: Option<PortWord>,
    v4: Option<V4Word>,
    v6: Option<V6Word>,
    network: Option<Network>,
}

impl Numbers {
    pub(crate) fn new(word: &str) -> Self {
        if let Some(network) = network(word) {
            return Self { network: Some(network), ..Self::default() };
        }
        let port = PortWord::new(word);
        let exact = matches!(port, Some(PortWord::Exact(_)));
        Self {
            v4: V4Word::new(word),
            v6: if exact { None } else { V6Word::new(word) },
            port,
            network: None,
        }
    }

    /// Returns whether no address or port can contain the term.
    pub(crate) fn none(&self) -> bool {
        self.port.is_none() && self.v4.is_none() && self.v6.is_none() && self.network.is_none()
    }

    pub(crate) fn in_port(&self, port: u16) -> bool {
        self.port.as_ref().is_some_and(|word| word.found(port))
    }

    pub(crate) fn in_address(&self, address: IpAddr) -> bool {
        if let Some(network) = &self.network {
            return network.contains(address);
        }
        match address {
            IpAddr::V4(v4) => self.v4.as_ref().is_some_and(|word| word.found(v4)),
            IpAddr::V6(v6) => self.v6.as_ref().is_some_and(|word| word.found(v6)),
        }
    }
}

fn network(word: &str) -> Option<Network> {
    let (address, len) = word.split_once('/')?;
    Network::of(address.parse().ok()?, len.parse().ok()?)
}

#[derive(Debug)]
enum PortWord {
    Exact(u16),
    Digits { value: u32, size: u32 },
}

impl PortWord {
    fn new(word: &str) -> Option<Self> {
        if let Some(exact) = word.strip_prefix(':') {
            return exact.parse().ok().map(Self::Exact);
        }
        let digits =
            word.bytes().all(|byte| byte.is_ascii_digit()) && (1..=5).contains(&word.len());
        let size = 10_u32.pow(u32::try_from(word.len()).ok()?.min(5));
        digits.then(|| word.parse().ok()).flatten().map(|value| Self::Digits { value, size })
    }

    fn found(&self, port: u16) -> bool {
        match *self {
            Self::Exact(exact) => exact == port,
            Self::Digits { value, size } => {
                let mut rest = u32::from(port);
                loop {
                    // Stop when fewer digits are left than the term has; port 0 has one digit.
                    if rest * 10 < size && !(rest == 0 && size == 10) {
                        return false;
                    }
                    if rest % size == value {
                        return true;
                    }
                    rest /= 10;
                    if rest == 0 {
                        return false;
                    }
                }
            }
        }
    }
}

/// Pattern for an IPv4 address: the matching values of each octet that the term covers.
#[derive(Debug)]
struct V4Word(Vec<[bool; 256]>);

impl V4Word {
    fn new(word: &str) -> Option<Self> {
        if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        let pieces: Vec<&str> = word.split('.').collect();
        if pieces.len() > 4 {
            return None;
        }
        let last = pieces.len() - 1;
        let table = |(i, piece): (usize, &&str)| {
            let mut fits = [false; 256];
            for (octet, fit) in fits.iter_mut().enumerate() {
                *fit = touches(&octet.to_string(), piece, i == 0, i == last);
            }
            fits
        };
        Some(Self(pieces.iter().enumerate().map(table).collect()))
    }

    fn found(&self, address: Ipv4Addr) -> bool {
        let fit = |octets: &[u8]| octets.iter().zip(&self.0).all(|(o, fits)| fits[usize::from(*o)]);
        address.octets().windows(self.0.len()).any(fit)
    }
}

/// Returns whether a piece of the term matches an octet. The first and the last piece may match a
/// part of the octet.
fn touches(text: &str, piece: &str, first: bool, last: bool) -> bool {
    match (first, last) {
        (true, true) => text.contains(piece),
        (true, false) => text.ends_with(piece),
        (false, true) => text.starts_with(piece),
        (false, false) => text == piece,
    }
}

/// Pattern for an IPv6 address. Compares groups, so a 0 in the term also matches a group that `::`
/// omits.
#[derive(Debug)]
struct V6Word {
    /// The term as a whole address, if it is one.
    exact: Option<Ipv6Addr>,
    /// All groups, or the groups before `::`.
    left: Vec<Piece>,
    right: Option<Vec<Piece>>,
}

/// Digits of the term between colons.
#[derive(Debug, Clone, Copy)]
struct Piece {
    value: u16,
    digits: u32,
    first: bool,
    last: bool,
}

impl V6Word {
    fn new(word: &str) -> Option<Self> {
        let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
        if word.is_empty() || !word.bytes().all(hex) {
            return None;
        }
        let exact = word.parse().ok();
        match word.split_once("::") {
            None => Some(Self { exact, left: pieces(word, true, true)?, right: None }),
            Some((left, right)) => {
                let right = Some(pieces(right, false, true)?);
                Some(Self { exact, left: pieces(left, true, false)?, right })
            }
        }
    }

    fn found(&self, address: Ipv6Addr) -> bool {
        let groups = address.segments();
        self.exact == Some(address) || (0..=groups.len()).any(|at| self.found_at(&groups[at..]))
    }

    fn found_at(&self, groups: &[u16]) -> bool {
        let Some(rest) = fits(&self.left, groups) else { return false };
        let Some(right) = &self.right else { return !self.left.is_empty() };
        let zeros = rest.iter().take_while(|group| **group == 0).count();
        zeros > 0 && fits(right, &rest[zeros..]).is_some()
    }
}

fn fits<'a>(pieces: &[Piece], groups: &'a [u16]) -> Option<&'a [u16]> {
    let (head, rest) = groups.split_at_checked(pieces.len())?;
    head.iter().zip(pieces).all(|(group, piece)| piece.fits(*group)).then_some(rest)
}

/// Parses the pieces before or after `::`. `first` and `last` mark the ends of the term, where a
/// piece may match a part of a group.
fn pieces(part: &str, first: bool, last: bool) -> Option<Vec<Piece>> {
    if part.is_empty() {
        return Some(Vec::new());
    }
    let end = part.split(':').count() - 1;
    let piece = |(i, text): (usize, &str)| {
        let digits = u32::try_from(text.len()).ok().filter(|digits| *digits <= 4)?;
        let value = if digits == 0 { 0 } else { u16::from_str_radix(text, 16).ok()? };
        Some(Piece { value, digits, first: first && i == 0, last: last && i == end })
    };
    part.split(':').enumerate().map(piece).collect()
}

impl Piece {
    /// Returns whether the piece matches the digits of a group without leading zeros.
    fn fits(self, group: u16) -> bool {
        let size = (u16::BITS - group.leading_zeros()).div_ceil(4).max(1);
        let Some(most) = size.checked_sub(self.digits) else { return false };
        let mask = (1_u32 << (4 * self.digits)) - 1;
        let window = |shift: u32| (u32::from(group) >> (4 * shift)) & mask == u32::from(self.value);
        match (self.first, self.last) {
            (true, true) => (0..=most).any(window),
            (true, false) => window(0),
            (false, true) => window(most),
            (false, false) => most == 0 && window(0),
        }
    }
}
