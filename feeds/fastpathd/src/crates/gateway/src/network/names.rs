// SPDX-License-Identifier: GPL-2.0-or-later
//! Host names by address and by MAC, from the DHCP leases and `/etc/hosts`.

use std::collections::HashMap;
use std::net::IpAddr;

use topology::Mac;

/// Names of hosts. A lease takes precedence over `/etc/hosts`, since it has the current name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    by_address: HashMap<IpAddr, String>,
    by_mac: HashMap<Mac, String>,
}

impl Names {
    /// Parses dnsmasq's leases (`expiry mac address name client-id` per line) and hosts(5).
    pub(crate) fn parse(leases: &str, hosts: &str) -> Self {
        let mut names = Self::default();
        for line in hosts.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_ascii_whitespace();
            if let (Some(address), Some(name)) = (words.next(), words.next()) {
                names.insert(address, None, name);
            }
        }
        for line in leases.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if let [_, mac, address, name, ..] = words[..] {
                names.insert(address, mac.parse().ok(), name);
            }
        }
        names
    }

    pub(crate) fn get(&self, address: IpAddr) -> Option<&str> {
        self.by_address.get(&address).map(String::as_str)
    }

    /// Returns the name in the lease of this MAC.
    pub(crate) fn of_station(&self, mac: Mac) -> Option<&str> {
        self.by_mac.get(&mac).map(String::as_str)
    }

    fn insert(&mut self, address: &str, mac: Option<Mac>, name: &str) {
        // dnsmasq writes * for a host without a name, and 253 is the longest valid name. Reject
        // control characters, which a terminal would execute, and bidirectional ones, which reorder
        // a page's text.
        if name == "*" || name.len() > 253 || name.contains(|c| char::is_control(c) || is_bidi(c)) {
            return;
        }
        if let Ok(address) = address.parse::<IpAddr>()
            && !address.is_loopback()
        {
            self.by_address.insert(address, name.to_owned());
            self.by_mac.extend(mac.map(|mac| (mac, name.to_owned())));
        }
    }
}

/// Returns true for Unicode's marks, embeddings, overrides and isolates of bidirectional text.
fn is_bidi(c: char) -> bool {
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}'];
    marks.contains(&c) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_takes_precedence_over_the_hosts_file() {
        let names = Names::parse(
            "1700000000 02:00:00:00:00:01 10.10.10.10 desk 01:02\n\
             1700000000 02:00:00:00:00:02 10.10.10.11 * *\nduid 00:01\n",
            "127.0.0.1 localhost\n10.10.10.10 old # note\n10.10.10.1 gw gw.lan\n::1 localhost\n",
        );
        let at = |a: &str| names.get(a.parse().unwrap());
        assert_eq!(at("10.10.10.10"), Some("desk"));
        assert_eq!(at("10.10.10.1"), Some("gw"));
        assert_eq!(at("10.10.10.11"), None);
        assert_eq!(at("127.0.0.1"), None);
    }

    #[test]
    fn a_name_with_control_characters_is_ignored() {
        for name in
            ["a\u{b}b", "\u{1b}[2Jevil", "a\u{7f}", "a\u{85}b", "\u{202e}gpj.exe", "a\u{2066}"]
        {
            let names = Names::parse(&format!("1 2 10.10.10.10 {name} *\n"), "");
            assert_eq!(names.get("10.10.10.10".parse().unwrap()), None, "{name:?}");
        }
    }
}
