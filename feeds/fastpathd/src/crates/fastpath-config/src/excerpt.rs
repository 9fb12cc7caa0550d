// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of UCI that the daemon may read: all of `fastpath`, and some sections and options of
//! `dhcp`, `firewall`, `network` and `sqm`.

use plugin::Map;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    All,
    Sections(&'static [(&'static str, Options)]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Options {
    All,
    Named(&'static [&'static str]),
}

/// Returns the parts of `config` that the daemon may read. `None` if it may not read the package.
pub(crate) fn readable(config: &str) -> Option<Keep> {
    use Options::Named;
    match config {
        "fastpath" => Some(Keep::All),
        // All options of rules and redirects, because `config::exposure` checks them.
        "firewall" => Some(Keep::Sections(&[
            ("defaults", Named(&["enabled", "flow_offloading", "input", "forward"])),
            (
                "zone",
                Named(&[
                    "enabled", "name", "family", "device", "network", "subnet", "masq", "masq6",
                    "input", "forward",
                ]),
            ),
            ("forwarding", Named(&["enabled", "src", "dest", "family"])),
            ("rule", Options::All),
            ("redirect", Options::All),
            ("ipset", Named(&["name", "match", "entry", "family"])),
        ])),
        // Reveals whether SQM already shapes the WAN.
        "sqm" => Some(Keep::Sections(&[("queue", Named(&["enabled", "interface"]))])),
        "dhcp" => Some(Keep::Sections(&[("host", Named(&["mac", "name"]))])),
        "network" => Some(Keep::Sections(&[
            ("globals", Named(&["packet_steering"])),
            ("interface", Named(&["demand"])),
        ])),
        _ => None,
    }
}

/// Reduces a package to the sections and options of `keep`. Metadata such as `.type` is kept.
pub(crate) fn cut(values: &Map, keep: Keep) -> Map {
    let Keep::Sections(kinds) = keep else { return values.clone() };
    let cut = |(name, section): (&String, &Value)| {
        let kind = section.get(".type")?.as_str()?;
        let (_, options) = kinds.iter().find(|(known, _)| *known == kind)?;
        let kept = |name: &str| match options {
            Options::All => true,
            Options::Named(names) => name.starts_with('.') || names.contains(&name),
        };
        let section = section.as_object()?.iter().filter(|(name, _)| kept(name));
        let section: Map = section.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some((name.clone(), Value::Object(section)))
    };
    values.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use config::exposure::{Router, exposures};
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map {
        let Value::Object(map) = value else { unreachable!() };
        map
    }

    fn kept(config: &str, values: Value) -> Value {
        Value::Object(cut(&map(values), readable(config).unwrap()))
    }

    #[test]
    fn excludes_passwords_and_keys() {
        let network = json!({
            "wan": {".type": "interface", ".name": "wan", "proto": "pppoe", "password": "secret",
                "demand": "300"},
            "wg": {".type": "wireguard_wg0", "preshared_key": "secret"},
            "globals": {".type": "globals", ".index": 1, "packet_steering": "2",
                "ula_prefix": "fd00::/48"},
        });
        let globals = json!({".type": "globals", ".index": 1, "packet_steering": "2"});
        let wan = json!({".type": "interface", ".name": "wan", "demand": "300"});
        assert_eq!(kept("network", network), json!({"wan": wan, "globals": globals}));
    }

    #[test]
    fn keeps_the_firewall_options_of_the_daemon() {
        let zone = json!({".type": "zone", ".anonymous": true, "name": "wan", "masq": "1",
            "network": ["wan"], "device": ["tun0"]});
        let mut more = map(zone.clone());
        more.insert("output".to_owned(), json!("REJECT"));
        let firewall = json!({
            "cfg01": {".type": "defaults", "flow_offloading": "1", "output": "REJECT"},
            "cfg02": more,
            "cfg03": {".type": "redirect", "dest_ip": "192.168.1.7"},
        });
        let defaults = json!({".type": "defaults", "flow_offloading": "1"});
        let redirect = firewall["cfg03"].clone();
        let expected = json!({"cfg01": defaults, "cfg02": zone, "cfg03": redirect});
        assert_eq!(kept("firewall", firewall), expected);
    }

    /// The daemon checks the excerpt for exposures; the page and the doctor check the whole file.
    #[test]
    fn the_excerpt_has_the_exposures_of_the_whole_file() {
        let firewall = json!({
            "cfg00": {".type": "defaults", ".index": 0, "input": "ACCEPT", "forward": "ACCEPT"},
            "cfg01": {".type": "zone", ".index": 1, "name": "wan", "network": ["wan"]},
            "cfg02": {".type": "zone", ".index": 2, "name": "off", "masq": "1", "enabled": "0"},
            "cfg03": {".type": "zone", ".index": 3, "name": "six", "masq6": "1", "input": "ACCEPT"},
            "cfg04": {".type": "forwarding", ".index": 4, "src": "wan", "dest": "lan"},
            "cfg05": {".type": "forwarding", ".index": 5, "src": "wan", "dest": "guest",
                "enabled": "0"},
            "cfg06": {".type": "rule", ".index": 6, "src": "wan", "target": "ACCEPT"},
            "cfg07": {".type": "rule", ".index": 7, "src": "wan", "target": "ACCEPT",
                "dest_port": "22"},
            "cfg08": {".type": "rule", ".index": 8, "src": "wan", "target": "ACCEPT",
                "ipset": "friends"},
            "cfg09": {".type": "redirect", ".index": 9, "src": "wan", "src_dport": "80"},
            "cfg10": {".type": "ipset", ".index": 10, "name": "friends", "match": "src_net",
                "entry": ["192.0.2.0/24"]},
            "cfg11": {".type": "zone", ".index": 11, "name": "rest", "subnet": ["0.0.0.0/0"],
                "family": "ipv4", "forward": "ACCEPT"},
            "cfg12": {".type": "forwarding", ".index": 12, "src": "rest", "dest": "lan",
                "family": "ipv4"},
        });
        let router = Router::default();
        let whole = exposures(&firewall, &router);
        let kinds: Vec<&str> = whole.iter().map(|found| found.kind).collect();
        assert_eq!(
            kinds,
            [
                "defaults",
                "defaults",
                "defaults",
                "zone",
                "zone",
                "zone",
                "forwarding",
                "forwarding",
                "rule",
                "rule",
                "redirect"
            ]
        );
        assert_eq!(exposures(&kept("firewall", firewall), &router), whole);
    }

    #[test]
    fn keeps_all_of_fastpath_and_refuses_unlisted_packages() {
        let own = json!({"et": {".type": "source", "url": "https://me:secret@h.example/"}});
        assert_eq!(kept("fastpath", own.clone()), own);
        for other in ["wireless", "rpcd", "system", "", "../shadow"] {
            assert_eq!(readable(other), None, "{other}");
        }
    }
}
