// SPDX-License-Identifier: GPL-2.0-or-later
//! Host names by address and by MAC, from the DHCP leases and `/etc/hosts`.

use std::collections::HashMap;
use std::net::IpAddr;

use serde_json::Value;
use topology::Mac;
use uci::{Package, Setting};

/// Names of hosts. A lease takes precedence over `/etc/hosts`, since it has the current name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    by_address: HashMap<IpAddr, String>,
    by_mac: HashMap<Mac, String>,
}

/// Names that the owner gave devices in sections `host` of UCI package dhcp; empty without a name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reservations(HashMap<Mac, String>);

impl Reservations {
    /// Parses `values` of `fastpath.config get {"config":"dhcp"}`. Skips MACs with wildcards.
    pub(crate) fn parse(values: &Value) -> Self {
        let package = values.as_object().map(Package::read).unwrap_or_default();
        let mut names = HashMap::new();
        for host in package.of("host") {
            let name = host.text("name").filter(|name| is_shown(name)).unwrap_or_default();
            let texts = host.options.get("mac").map_or(&[][..], Setting::texts);
            let macs = texts.iter().flat_map(|text| text.split_whitespace()).filter_map(mac);
            // dnsmasq uses the first section of a MAC that has a name.
            for mac in macs {
                let known: &mut String = names.entry(mac).or_default();
                if known.is_empty() {
                    name.clone_into(known);
                }
            }
        }
        Self(names)
    }

    pub(crate) fn has(&self, mac: Mac) -> bool {
        self.0.contains_key(&mac)
    }

    pub(crate) fn name(&self, mac: Mac) -> Option<&str> {
        self.0.get(&mac).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// Parses a MAC in the forms that dnsmasq and odhcpd use: bytes with one or two digits.
fn mac(text: &str) -> Option<Mac> {
    let mut bytes = text.split([':', '-']).map(|byte| u8::from_str_radix(byte, 16));
    let mac = Mac(std::array::from_fn(|_| bytes.next().and_then(Result::ok).unwrap_or_default()));
    config::fw4::is_mac(text).then_some(mac)
}

/// Parses the 12 digits that odhcpd wrote until November 2025.
fn bare_mac(text: &str) -> Option<Mac> {
    let [_, _, mac @ ..] = u64::from_str_radix(text, 16).ok()?.to_be_bytes();
    (text.len() == 12).then_some(Mac(mac))
}

impl Names {
    /// Parses leases and hosts(5). dnsmasq writes leases as `expiry mac address name client-id`,
    /// odhcpd (68f3826) as `# interface mac ipv4 name expiry id 32 address/32` and
    /// `# interface duid iaid name expiry id length address/length…`.
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
            match words[..] {
                // A name that odhcpd rejects is escaped. Other lengths are prefixes of routers.
                ["#", _, id, kind, name, _, _, _, ref addresses @ ..] if name != "-" => {
                    let (length, mac) = match kind {
                        "ipv4" => ("/32", mac(id).or_else(|| bare_mac(id))),
                        _ => ("/128", None),
                    };
                    for address in addresses.iter().filter_map(|of| of.strip_suffix(length)) {
                        names.insert(address, mac, name);
                    }
                }
                ["#", ..] => {}
                [_, id, address, name, ..] => names.insert(address, mac(id), name),
                _ => {}
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
        // dnsmasq writes * for a host without a name, odhcpd a backslash in an invalid one.
        if name == "*" || name.contains('\\') || !is_shown(name) {
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

/// Returns false for a name longer than a valid one, and for names with control characters, which a
/// terminal would execute, or bidirectional ones, which reorder a page's text.
pub(crate) fn is_shown(name: &str) -> bool {
    name.len() <= 253 && !name.contains(|c| char::is_control(c) || is_bidi(c))
}

/// Returns true for Unicode's marks, embeddings, overrides and isolates of bidirectional text.
fn is_bidi(c: char) -> bool {
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}'];
    marks.contains(&c) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn odhcpd_s_leases_name_addresses_and_macs() {
        // Written by odhcpd: a host, one without a name, one with an invalid name, and a router.
        let names = Names::parse(
            "# br-lan 0:0:5E:0:53:1 ipv4 desk 1796029453 a0a0a0a 32 10.10.10.10/32\n\
             # br-lan 000100012a1b2c3d00005e005301 5e005301 desk -1 7b2 128 2001:db8::7b2/128 \
             fd00::7b2/128\n\
             # br-lan 00:00:5e:00:53:02 ipv4 - 1796029453 a0a0a0b 32 10.10.10.11/32\n\
             # br-lan 00005e005303 ipv4 tv -1 a0a0a0c 32 10.10.10.12/32\n\
             # br-lan 00030001aa 1 broken\\x20a\\x20b 0 1 128 2001:db8::1/128\n\
             # br-lan 00030001ab 1 cpe 0 1 62 2001:db8:0:4::/62\n# br-lan\n",
            "",
        );
        let at = |a: &str| names.get(a.parse().unwrap());
        for address in ["10.10.10.10", "2001:db8::7b2", "fd00::7b2"] {
            assert_eq!(at(address), Some("desk"), "{address}");
        }
        for address in ["10.10.10.11", "2001:db8::1", "2001:db8:0:4::"] {
            assert_eq!(at(address), None, "{address}");
        }
        let of = |last| names.of_station(Mac([0, 0, 0x5e, 0, 0x53, last]));
        assert_eq!((of(1), of(3)), (Some("desk"), Some("tv")));
        assert_eq!(names.by_mac.len(), 2);
    }

    #[test]
    fn sections_host_name_their_macs() {
        let reservations = Reservations::parse(&json!({
            "a": {".type": "host", ".index": 0, "mac": "00:00:5E:00:53:01 00-00-5e-0-53-2"},
            "b": {".type": "host", ".index": 1, "name": "tv",
                "mac": ["00:00:5e:00:53:02", "00:00:5e:00:53:03 00:00:5e:00:*:*"]},
            "c": {".type": "host", ".index": 2, "name": "a\u{202e}b", "mac": "00:00:5e:00:53:04"},
            "d": {".type": "host", ".index": 3, "name": "later", "mac": "00:00:5e:00:53:02"},
            "e": {".type": "dnsmasq", ".index": 4, "name": "x", "mac": "00:00:5e:00:53:05"},
        }));
        let of = |last| {
            let mac = Mac([0, 0, 0x5e, 0, 0x53, last]);
            (reservations.has(mac), reservations.name(mac))
        };
        assert_eq!((of(1), of(4)), ((true, None), (true, None)));
        assert_eq!((of(2), of(3)), ((true, Some("tv")), (true, Some("tv"))));
        assert_eq!(of(5), (false, None));
        assert_eq!(reservations.0.len(), 4);
        assert_eq!(Reservations::parse(&Value::Null), Reservations::default());
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
