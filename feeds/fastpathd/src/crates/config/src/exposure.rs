// SPDX-License-Identifier: GPL-2.0-or-later
//! Firewall settings that open the router or a zone to the Internet, and the zones that lead there,
//! for changes, daemon and doctor; WAN interfaces and home networks go by the same zones.
//!
//! A policy, a forwarding, a rule or a redirect. An option of a rule narrows it only if it excludes
//! senders or ports, see `reach.rs`. To a host behind the router single ports may be opened; what
//! ends at the router itself may not reach its own services.

use std::collections::BTreeSet;

use serde_json::Value;
use uci::{Package, Section};

mod reach;

use crate::fw4::Transport;

pub use reach::{Router, listens, services};

/// One setting that lets everyone on the Internet in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// UCI's name of its section.
    pub section: String,
    /// The type of that section: `zone`, `forwarding`, `rule`, `redirect` or `defaults`.
    pub kind: &'static str,
    /// The zone that leads to the Internet.
    pub zone: String,
    /// The openings from there.
    pub opening: Opening,
}

/// The openings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// The router itself.
    Router,
    /// These ports of services of the router.
    Services(BTreeSet<u16>),
    /// The hosts of this zone; `*`: of every zone.
    Zone(String),
    /// Every port of the host with this address, by a redirect.
    Host(String),
}

impl Opening {
    /// The zone or the address; empty: the router, since a zone may have any name.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Router | Self::Services(_) => "",
            Self::Zone(to) | Self::Host(to) => to,
        }
    }
}

/// The zones that lead to the Internet: those named `wan` or with the interface `wan` or `wan6`,
/// and those that hide others behind their address. A zone may do the latter for reasons of its own
/// (a VPN server, a LAN whose hosts reach their own public address); it is left out if it reaches
/// the Internet through another one.
#[must_use]
pub fn outer_zones(firewall: &Value) -> BTreeSet<String> {
    zones_to_internet(&package(firewall))
}

fn package(values: &Value) -> Package {
    values.as_object().map(Package::read).unwrap_or_default()
}

fn zones_to_internet(firewall: &Package) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let mut outward = BTreeSet::new();
    for zone in sections(firewall, "zone") {
        let name = text(zone, "name");
        if name == WAN || zone.words("network").iter().any(|of| LINES.contains(of)) {
            lines.insert(name.to_owned());
        } else if zone.is_on("masq", false) || zone.is_on("masq6", false) {
            outward.insert(name.to_owned());
        }
    }
    let forwardings: Vec<(&str, &str)> =
        sections(firewall, "forwarding").map(|of| (text(of, "src"), text(of, "dest"))).collect();
    let behind = |zone: &str| {
        forwardings.iter().any(|(src, dest)| {
            let mutual = || forwardings.contains(&(*dest, zone));
            let outside = lines.contains(*dest) || (outward.contains(*dest) && !mutual());
            *src == zone && *dest != zone && outside
        })
    };
    let masqueraded: BTreeSet<_> = outward.iter().filter(|zone| !behind(zone)).cloned().collect();
    lines.extend(masqueraded);
    lines
}

/// All that is open to the Internet without limits, in the order of the file. `router` has its
/// addresses and services.
///
/// `firewall` are the `values` of `uci get {"config":"firewall"}`, or the result of
/// [`crate::parse_uci`] for the file.
#[must_use]
pub fn exposures(firewall: &Value, router: &Router) -> Vec<Exposure> {
    let firewall = &package(firewall);
    let outer = zones_to_internet(firewall);
    let defaults: Vec<&Section> = sections(firewall, "defaults").collect();
    let default = |policy| defaults.iter().find_map(|of| of.text(policy));
    let mut found = Vec::new();
    if default("forward").is_some_and(accepts) {
        // This policy applies where no zone's chain decides.
        let section = defaults.first().map(|of| of.name.as_str()).unwrap_or_default();
        let to = || Opening::Zone(ANY.to_owned());
        found.extend(outer.iter().map(|zone| exposure(section, "defaults", zone, to())));
    }
    for zone in sections(firewall, "zone") {
        let name = text(zone, "name");
        let open = zone.text("input").or(default("input")).is_some_and(accepts);
        if open && outer.contains(name) {
            found.push(exposure(&zone.name, "zone", name, Opening::Router));
        }
    }
    for forwarding in sections(firewall, "forwarding") {
        if let Some(to) = inner(text(forwarding, "dest"), &outer) {
            found.extend(opened(forwarding, "forwarding", &outer, &to));
        }
    }
    for rule in sections(firewall, "rule").filter(|rule| accepts(text(rule, "target"))) {
        let to = match text(rule, "dest") {
            "" => reach::enters(firewall, rule, router),
            dest => inner(dest, &outer).filter(|_| reach::passes(firewall, rule)),
        };
        if let Some(to) = to {
            found.extend(opened(rule, "rule", &outer, &to));
        }
    }
    for redirect in sections(firewall, "redirect") {
        if let Some(to) = reach::redirected(firewall, redirect, router) {
            found.extend(opened(redirect, "redirect", &outer, &to));
        }
    }
    found
}

/// Whether a rule lets strangers in to a port of the router. `outer` are the zones to the Internet.
#[must_use]
pub fn admits(
    firewall: &Package,
    outer: &BTreeSet<String>,
    rule: &Section,
    (transport, port): (Transport, u16),
) -> bool {
    let src = text(rule, "src");
    rule.is_on("enabled", true)
        && accepts(text(rule, "target"))
        && text(rule, "dest").is_empty()
        && (src == ANY || outer.contains(src))
        && reach::admits(firewall, rule, transport, port)
}

/// A zone of this name leads to the Internet, whatever its options.
pub const WAN: &str = "wan";
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

/// Exposures by a section: one for each zone to the Internet that its `src` includes.
fn opened(
    section: &Section,
    kind: &'static str,
    outer: &BTreeSet<String>,
    to: &Opening,
) -> Vec<Exposure> {
    let src = text(section, "src");
    let from = outer.iter().filter(|zone| src == ANY || src == *zone);
    from.map(|zone| exposure(&section.name, kind, zone, to.clone())).collect()
}

/// Whether a policy or target is ACCEPT.
#[must_use]
pub fn accepts(policy: &str) -> bool {
    crate::fw4::is_short_for(policy, "accept")
}

/// The sections of a type that are in force, in the order of the file.
fn sections<'a>(firewall: &'a Package, kind: &'a str) -> impl Iterator<Item = &'a Section> {
    firewall.of(kind).filter(|section| section.is_on("enabled", true))
}

fn text<'a>(section: &'a Section, option: &str) -> &'a str {
    section.text(option).unwrap_or_default()
}

#[cfg(test)]
#[path = "exposure_tests.rs"]
mod tests;
