// SPDX-License-Identifier: GPL-2.0-or-later
//! The part of a package that the daemon reads.

use plugin::Map;
use serde_json::Value;

/// What is kept of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// It is the daemon's own.
    All,
    /// Of the sections of a type, these options.
    Options(&'static [(&'static str, &'static [&'static str])]),
}

/// What the daemon reads of `config`; none: nothing.
pub(crate) fn of(config: &str) -> Option<Keep> {
    match config {
        "fastpath" => Some(Keep::All),
        "firewall" => Some(Keep::Options(&[
            ("defaults", &["flow_offloading"]),
            ("zone", &["name", "device", "network", "masq"]),
        ])),
        "network" => Some(Keep::Options(&[("globals", &["packet_steering"])])),
        _ => None,
    }
}

/// The sections with what is kept of them; `.type` and the like stay.
pub(crate) fn cut(values: &Map, keep: Keep) -> Map {
    let Keep::Options(kinds) = keep else { return values.clone() };
    let cut = |(name, section): (&String, &Value)| {
        let kind = section.get(".type")?.as_str()?;
        let (_, options) = kinds.iter().find(|(known, _)| *known == kind)?;
        let kept = |name: &str| name.starts_with('.') || options.contains(&name);
        let section = section.as_object()?.iter().filter(|(name, _)| kept(name));
        let section: Map = section.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some((name.clone(), Value::Object(section)))
    };
    values.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map {
        let Value::Object(map) = value else { unreachable!() };
        map
    }

    fn kept(config: &str, values: Value) -> Value {
        Value::Object(cut(&map(values), of(config).unwrap()))
    }

    #[test]
    fn no_password_of_a_line_is_handed_out() {
        let network = json!({
            "wan": {".type": "interface", ".name": "wan", "proto": "pppoe", "password": "secret"},
            "wg": {".type": "wireguard_wg0", "preshared_key": "secret"},
            "globals": {".type": "globals", ".index": 1, "packet_steering": "2",
                "ula_prefix": "fd00::/48"},
        });
        let globals = json!({".type": "globals", ".index": 1, "packet_steering": "2"});
        assert_eq!(kept("network", network), json!({"globals": globals}));
    }

    #[test]
    fn zones_are_whole_enough_for_the_daemon() {
        let zone = json!({".type": "zone", ".anonymous": true, "name": "wan", "masq": "1",
            "network": ["wan"], "device": ["tun0"]});
        let mut more = map(zone.clone());
        more.insert("input".to_owned(), json!("REJECT"));
        let firewall = json!({
            "cfg01": {".type": "defaults", "flow_offloading": "1", "input": "REJECT"},
            "cfg02": more,
            "cfg03": {".type": "redirect", "dest_ip": "192.168.1.7"},
        });
        let defaults = json!({".type": "defaults", "flow_offloading": "1"});
        assert_eq!(kept("firewall", firewall), json!({"cfg01": defaults, "cfg02": zone}));
    }

    #[test]
    fn its_own_package_is_whole_and_no_other_is_read() {
        let own = json!({"et": {".type": "source", "url": "https://me:secret@h.example/"}});
        assert_eq!(kept("fastpath", own.clone()), own);
        for other in ["wireless", "rpcd", "system", "", "../shadow"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
