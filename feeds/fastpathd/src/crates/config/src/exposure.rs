// SPDX-License-Identifier: GPL-2.0-or-later
//! What the firewall's configuration opens to the Internet.
//!
//! Only what opens everything: a policy, a forwarding, a rule without a port or an address. Ports
//! that are opened one by one are the owner's business.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::order;
use crate::value::switch;

/// One setting that lets everyone on the Internet in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// UCI's name of its section.
    pub section: String,
    /// The type of that section: `zone`, `forwarding`, `rule` or `defaults`.
    pub kind: &'static str,
    /// The zone that leads to the Internet.
    pub zone: String,
    /// What is open from there.
    pub opening: Opening,
}

/// What is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// The router's own services.
    Router,
    /// The hosts of this zone; `*`: of every zone.
    Zone(String),
}

/// The zones that lead to the Internet: those named `wan` or with the interface `wan` or `wan6`,
/// and those that hide others behind their address. A zone may do the latter for reasons of its own
/// (a VPN server, a LAN whose hosts reach their own public address); it is left out if it reaches
/// the Internet through another one.
#[must_use]
pub fn outer_zones(firewall: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let mut outward = BTreeSet::new();
    for zone in sections(firewall, "zone") {
        let name = zone.text("name");
        if name == WAN || zone.words("network").iter().any(|of| LINES.contains(of)) {
            lines.insert(name.to_owned());
        } else if zone.on("masq", false) || zone.on("masq6", false) {
            outward.insert(name.to_owned());
        }
    }
    let ways: Vec<(&str, &str)> = sections(firewall, "forwarding")
        .into_iter()
        .map(|way| (way.text("src"), way.text("dest")))
        .collect();
    let behind = |zone: &str| {
        ways.iter().any(|(src, dest)| {
            let mutual = || ways.contains(&(*dest, zone));
            let outside = lines.contains(*dest) || (outward.contains(*dest) && !mutual());
            *src == zone && *dest != zone && outside
        })
    };
    let masqueraded = order::set(outward.iter().filter(|zone| !behind(zone)).cloned());
    lines.extend(masqueraded);
    lines
}

/// All that is open to the Internet without limits, in the order of the file.
///
/// `firewall` are the `values` of `uci get {"config":"firewall"}`, or what [`crate::parse_uci`]
/// makes of the file.
#[must_use]
pub fn exposures(firewall: &Value) -> Vec<Exposure> {
    let outer = outer_zones(firewall);
    let defaults = sections(firewall, "defaults");
    let default = |policy| defaults.iter().map(|of| of.text(policy)).find(|text| !text.is_empty());
    let mut found = Vec::new();
    if default("forward").is_some_and(accepts) {
        // What no zone's chain decides on is left to this policy.
        let section = defaults.first().map(|of| of.name).unwrap_or_default();
        let to = || Opening::Zone(ANY.to_owned());
        found.extend(outer.iter().map(|zone| exposure(section, "defaults", zone, to())));
    }
    for zone in sections(firewall, "zone") {
        let own = Some(zone.text("input")).filter(|text| !text.is_empty());
        let open = own.or(default("input")).is_some_and(accepts);
        if open && outer.contains(zone.text("name")) {
            found.push(exposure(zone.name, "zone", zone.text("name"), Opening::Router));
        }
    }
    for way in sections(firewall, "forwarding") {
        if let Some(to) = inner(way.text("dest"), &outer) {
            found.extend(opened(&way, "forwarding", &outer, &to));
        }
    }
    for rule in sections(firewall, "rule").into_iter().filter(Section::takes_all) {
        let to = match rule.text("dest") {
            "" => Some(Opening::Router),
            dest => inner(dest, &outer),
        };
        if let Some(to) = to {
            found.extend(opened(&rule, "rule", &outer, &to));
        }
    }
    found
}

const WAN: &str = "wan";
/// Interfaces that lead to the Internet by `OpenWrt`'s own naming.
const LINES: &[&str] = &["wan", "wan6"];
const ANY: &str = "*";

fn exposure(section: &str, kind: &'static str, zone: &str, opening: Opening) -> Exposure {
    Exposure { section: section.to_owned(), kind, zone: zone.to_owned(), opening }
}

/// The destination, if it is a zone that does not lead to the Internet itself.
fn inner(dest: &str, outer: &BTreeSet<String>) -> Option<Opening> {
    (!dest.is_empty() && !outer.contains(dest)).then(|| Opening::Zone(dest.to_owned()))
}

/// What a section opens whose `src` is a zone that leads to the Internet, or any zone.
fn opened(
    section: &Section<'_>,
    kind: &'static str,
    outer: &BTreeSet<String>,
    to: &Opening,
) -> Vec<Exposure> {
    let src = section.text("src");
    let from = outer.iter().filter(|zone| src == ANY || src == *zone);
    from.map(|zone| exposure(section.name, kind, zone, to.clone())).collect()
}

/// fw4 takes any beginning of the word, in any case.
fn accepts(policy: &str) -> bool {
    !policy.is_empty() && "accept".starts_with(&policy.to_ascii_lowercase())
}

struct Section<'a> {
    name: &'a str,
    options: &'a Map<String, Value>,
}

/// The sections of a type that are in force, in the order of the file.
fn sections<'a>(firewall: &'a Value, kind: &str) -> Vec<Section<'a>> {
    let all = firewall.as_object().into_iter().flatten();
    let mut found: Vec<Section<'a>> = all
        .filter_map(|(name, options)| Some(Section { name, options: options.as_object()? }))
        .filter(|section| section.text(".type") == kind && section.on("enabled", true))
        .collect();
    order::sort_by_key(&mut found, |of| of.options.get(".index").and_then(Value::as_u64));
    found
}

impl<'a> Section<'a> {
    fn text(&self, option: &str) -> &'a str {
        self.options.get(option).and_then(Value::as_str).unwrap_or_default()
    }

    /// The entries of a list, or the words of a text, which is a list too.
    fn words(&self, option: &str) -> Vec<&'a str> {
        match self.options.get(option) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(other) => other.as_str().unwrap_or_default().split_ascii_whitespace().collect(),
            None => Vec::new(),
        }
    }

    fn on(&self, option: &str, absent: bool) -> bool {
        switch(self.text(option)).unwrap_or(absent)
    }

    /// Whether a rule accepts whatever comes: every other option would narrow it down.
    fn takes_all(&self) -> bool {
        const WIDE: &[&str] =
            &["name", "src", "dest", "target", "enabled", "family", "proto", "counter", "log"];
        let wide = |(option, value): (&String, &Value)| {
            option.starts_with('.') || WIDE.contains(&option.as_str()) || *value == ""
        };
        self.options.iter().all(wide) && accepts(self.text("target")) && self.all_ports()
    }

    /// Without a protocol a rule is for TCP and UDP.
    fn all_ports(&self) -> bool {
        let carries = |proto: &str| {
            matches!(proto, "all" | "any" | "*" | "tcp" | "udp" | "tcpudp" | "6" | "17" | "0")
        };
        let protocols = self.words("proto");
        protocols.is_empty() || protocols.into_iter().any(carries)
    }
}

#[cfg(test)]
#[path = "exposure_tests.rs"]
mod tests;
