// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses values that are common to several sections.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use crate::fault::Fault;
use crate::section::Section;

/// Parses a number of digits only. Rust's own parser would also accept a sign.
pub fn number(text: &str) -> Result<u32, Fault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::NotNumber);
    }
    text.parse().map_err(|_| Fault::TooLarge)
}

pub fn switch(text: &str) -> Result<bool, Fault> {
    uci::switch(text).ok_or(Fault::NotSwitch)
}

/// Parses a name that is written into a quoted nft comment. nft comments have at most 128 bytes and
/// no escapes, so quotes and backslashes are refused.
pub fn label(text: &str) -> Result<String, Fault> {
    const MAX_LEN: usize = 64;
    if text.len() > MAX_LEN {
        return Err(Fault::TooLong { longest: MAX_LEN });
    }
    if let Some(bad) = text.chars().find(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return Err(Fault::NameCharacter { character: format!("{bad:?}") });
    }
    Ok(text.to_owned())
}

/// Parses the name of an interface of `/etc/config/network` like netifd.
pub fn interface(text: &str) -> Result<String, Fault> {
    const MAX_LEN: usize = 15;
    if text.len() > MAX_LEN {
        return Err(Fault::TooLong { longest: MAX_LEN });
    }
    let bad = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.'));
    match bad {
        Some(bad) => Err(Fault::NameCharacter { character: format!("{bad:?}") }),
        None => Ok(text.to_owned()),
    }
}

/// Returns whether the kernel accepts the name and nft needs no quotes for it.
#[must_use]
pub fn is_device_name(name: &str) -> bool {
    const MAX_LEN: usize = 15; // IFNAMSIZ without the NUL.
    (1..=MAX_LEN).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-@+~".contains(&c))
}

/// Returns a parser of numbers in `range`, for [`Section::value`](crate::Section::value).
pub fn number_in(range: RangeInclusive<u32>) -> impl FnOnce(&str) -> Result<u32, Fault> {
    move |text| {
        number(text)
            .ok()
            .filter(|number| range.contains(number))
            .ok_or(Fault::OutOfRange { first: *range.start(), last: *range.end() })
    }
}

/// Reads the options `host` and `port` of a section. `port` is the default port.
pub fn endpoint(section: &mut Section<'_>, port: u16) -> SocketAddr {
    if section.text("host").is_none() {
        section.error("host", "", Fault::Missing);
    }
    let address = section.value("host", host).unwrap_or(IpAddr::from([0; 4]));
    let given = section.value("port", number_in(1..=u16::MAX.into()));
    SocketAddr::new(address, given.and_then(|port| u16::try_from(port).ok()).unwrap_or(port))
}

/// Parses the address of a host. Names are not resolved, because the daemon must not depend on
/// untrusted answers of a resolver.
fn host(text: &str) -> Result<IpAddr, Fault> {
    let address: IpAddr = text.parse().map_err(|_| Fault::NotAddress)?;
    let broadcast = address == IpAddr::from([255; 4]);
    if address.is_unspecified() || address.is_multicast() || broadcast {
        return Err(Fault::NotAddress);
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_must_be_in_its_range() {
        assert_eq!(number_in(1..=5)("5"), Ok(5));
        for bad in ["0", "6", "-1", "+3", "", "x"] {
            assert!(number_in(1..=5)(bad).is_err(), "{bad}");
        }
    }
}
