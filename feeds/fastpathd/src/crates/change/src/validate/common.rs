// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats that several UCI files share: addresses with prefix, netmasks, MAC addresses, host
//! names and VLAN IDs. Also the check of every value for control characters.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Report;
use ::uci::Section;

/// A control character in a value is a slip, or an injection into a generated file: netifd and fw4
/// pass values on, line by line.
pub(super) fn values(report: &mut Report<'_>, section: &Section) {
    for (option, setting) in &section.options {
        if setting.texts().iter().any(|text| text.chars().any(char::is_control)) {
            let text = "has a control character, such as the end of a line";
            report.note(section, option, "control", &[], text);
        }
    }
}

/// `10.0.0.1/24` or `10.0.0.1`, with the prefix length.
pub(super) fn v4(text: &str) -> Option<(Ipv4Addr, Option<u8>)> {
    let (address, prefix) = split(text, 32)?;
    Some((address.parse().ok()?, prefix))
}

/// `2001:db8::1/64` or `2001:db8::1`.
pub(super) fn v6(text: &str) -> Option<(Ipv6Addr, Option<u8>)> {
    let (address, prefix) = split(text, 128)?;
    Some((address.parse().ok()?, prefix))
}

fn split(text: &str, longest: u8) -> Option<(&str, Option<u8>)> {
    let Some((address, prefix)) = text.split_once('/') else { return Some((text, None)) };
    let prefix = config::number(prefix).ok().and_then(|prefix| u8::try_from(prefix).ok())?;
    (prefix <= longest).then_some((address, Some(prefix)))
}

/// Length of a netmask such as `255.255.255.0`.
pub(super) fn netmask(text: &str) -> Option<u8> {
    let bits = text.parse::<Ipv4Addr>().ok()?.to_bits();
    let prefix = bits.leading_ones();
    (bits.checked_shl(prefix).unwrap_or(0) == 0).then(|| u8::try_from(prefix).unwrap_or(32))
}

/// An address of either family.
pub(super) fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// `52:54:00:01:02:03`.
pub(super) fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 6
        && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// A name of a host, of labels of letters, digits and `-`.
pub(super) fn is_host(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// One label of it.
pub(super) fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// A VLAN's number.
pub(super) fn vlan(text: &str) -> Option<u16> {
    let number = config::number(text).ok().filter(|number| (1..=4094).contains(number))?;
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_values() {
        assert_eq!(v4("10.0.0.1/24"), Some((Ipv4Addr::new(10, 0, 0, 1), Some(24))));
        for bad in ["10.0.0.1/33", "10.0.0", "10.0.0.1/", "10.0.0.1/+4", "a", "010.0.0.1"] {
            assert_eq!(v4(bad), None, "{bad}");
        }
        assert!(v6("2001:db8::1/64").is_some() && v6("2001:db8::1/129").is_none());
        assert_eq!((netmask("255.255.255.0"), netmask("0.0.0.0")), (Some(24), Some(0)));
        assert_eq!((netmask("255.0.255.0"), netmask("255.255.255.255")), (None, Some(32)));
        assert!(
            is_mac("52:54:00:aB:02:03") && !is_mac("52:54:00:01:02") && !is_mac("5:54:0:1:2:3")
        );
        assert!(is_host("a-b.example") && !is_host("-a") && !is_host("a..b") && !is_host(""));
        assert_eq!((vlan("1"), vlan("4094")), (Some(1), Some(4094)));
        assert!(
            ["0", "4095", "-1", "", "1.0", "x", "99999999999"].iter().all(|no| vlan(no).is_none())
        );
    }
}
