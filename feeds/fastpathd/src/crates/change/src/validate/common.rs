// SPDX-License-Identifier: GPL-2.0-or-later
//! Value formats of several UCI files, and the check for control characters.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Report;
use ::uci::Section;

/// Reports control characters in values. netifd and fw4 write values into lines of generated files,
/// so a line end would inject a line.
pub(super) fn values(report: &mut Report<'_>, section: &Section) {
    for (option, setting) in &section.options {
        if setting.texts().iter().any(|text| text.chars().any(char::is_control)) {
            let text = "has a control character, such as the end of a line";
            report.note(section, option, "control", &[], text);
        }
    }
}

/// Packages whose init scripts put values unquoted into command lines and files.
pub(super) const UNQUOTED: [&str; 4] = ["https-dns-proxy", "igmpproxy", "mwan3", "stubby"];

/// Reports values that are more than a word. Options with a check of their own are left out.
pub(super) fn unquoted(report: &mut Report<'_>, section: &Section) {
    let is_allowed = |c: u8| c.is_ascii_alphanumeric() || b"._:/,@%+=-".contains(&c);
    let is_word = |text: &String| !text.starts_with('-') && text.bytes().all(is_allowed);
    for (option, setting) in &section.options {
        let own = ["bootstrap_dns", "resolver_url"].contains(&&**option);
        if let Some(bad) = setting.texts().iter().find(|text| !own && !is_word(text)) {
            report.wrong(section, option, bad, "one word of letters, digits and ._:/,@%+=-");
        }
    }
}

/// Parses an address such as `10.0.0.1`, with an optional prefix length.
pub(super) fn v4(text: &str) -> Option<(Ipv4Addr, Option<u8>)> {
    let (address, prefix) = split(text, 32)?;
    Some((address.parse().ok()?, prefix))
}

/// Parses an address such as `2001:db8::1`, with an optional prefix length.
pub(super) fn v6(text: &str) -> Option<(Ipv6Addr, Option<u8>)> {
    let (address, prefix) = split(text, 128)?;
    Some((address.parse().ok()?, prefix))
}

fn split(text: &str, longest: u8) -> Option<(&str, Option<u8>)> {
    let Some((address, prefix)) = text.split_once('/') else { return Some((text, None)) };
    let prefix = config::number(prefix).ok().and_then(|prefix| u8::try_from(prefix).ok())?;
    (prefix <= longest).then_some((address, Some(prefix)))
}

/// Returns the prefix length of a netmask such as `255.255.255.0`.
pub(super) fn netmask(text: &str) -> Option<u8> {
    let bits = text.parse::<Ipv4Addr>().ok()?.to_bits();
    let prefix = bits.leading_ones();
    (bits.checked_shl(prefix).unwrap_or(0) == 0).then(|| u8::try_from(prefix).unwrap_or(32))
}

pub(super) fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// Returns whether a text has the format `52:54:00:01:02:03`.
pub(crate) fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 6
        && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit()))
}

pub(super) fn is_host(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Returns whether a text is a label of a host name (RFC 1123).
pub(super) fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

pub(super) fn vlan(text: &str) -> Option<u16> {
    let number = config::number(text).ok().filter(|number| (1..=4094).contains(number))?;
    u16::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_valid_formats() {
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
