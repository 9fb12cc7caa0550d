// SPDX-License-Identifier: GPL-2.0-or-later
//! Firewall settings that open the router or a zone to the Internet, and the zones that lead there.
//!
//! A policy, a forwarding, a rule or a redirect can be an opening. An option narrows a rule only if
//! it excludes senders or ports (see `reach.rs`), and an earlier denial closes it. Single ports of
//! a host behind the router do not count as an exposure, but ports of the router's services do.

use crate::sort::Collect;
use std::collections::BTreeSet;

use serde_json::Value;
use uci::{Package, Section};

mod reach;
mod router;

use crate::fw4::{self, Transport};
use reach::{Families, Target};

pub use reach::{Kind, Packet, Packets};
pub use router::{Router, has_own_device, listens, services};

/// A setting that admits nearly everyone on the Internet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    pub section: String,
    /// Type of the section: `zone`, `forwarding`, `rule`, `redirect` or `defaults`.
    pub kind: &'static str,
    pub zone: String,
    pub opening: Opening,
    pub packets: Packets,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    Router,
    Services(BTreeSet<u16>),
    /// Hosts of this zone, or of all zones with `*`.
    Zone(String),
    /// All ports of the host with this address, by a redirect.
    Host(String),
}

impl Opening {
    /// Returns the zone or the address. Empty for the router, because a zone may have any name.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Router | Self::Services(_) => "",
            Self::Zone(to) | Self::Host(to) => to,
        }
    }
}

/// Returns the zones that lead to the Internet: zones named `wan` or with the interface `wan` or
/// `wan6`, and masquerading zones. A masquerading zone does not count if it reaches the Internet
/// through another zone, because VPN servers and hairpin NAT also masquerade.
#[must_use]
pub fn outer_zones(firewall: &Value) -> BTreeSet<String> {
    zones_to_internet(&package(firewall), &Router::default())
}

#[must_use]
pub fn wan_interfaces(firewall: &Package, router: &Router) -> BTreeSet<String> {
    let outer = zones_to_internet(firewall, router);
    let zones = sections(firewall, "zone").filter(|zone| outer.contains(text(zone, "name")));
    zones.flat_map(|zone| zone.words("network")).map(str::to_owned).into_set()
}

fn package(values: &Value) -> Package {
    values.as_object().map(Package::read).unwrap_or_default()
}

fn zones_to_internet(firewall: &Package, router: &Router) -> BTreeSet<String> {
    let mut wans = BTreeSet::new();
    let mut outward = BTreeSet::new();
    for zone in sections(firewall, "zone") {
        let name = text(zone, "name");
        if name == WAN || router.has_wan(zone) {
            wans.insert(name.to_owned());
        } else if zone.is_on("masq", false) || zone.is_on("masq6", false) {
            outward.insert(name.to_owned());
        }
    }
    let forwardings: Vec<(&str, &str)> =
        sections(firewall, "forwarding").map(|of| (text(of, "src"), text(of, "dest"))).collect();
    let behind = |zone: &str| {
        forwardings.iter().any(|(src, dest)| {
            let mutual = || forwardings.contains(&(*dest, zone));
            let outside = wans.contains(*dest) || (outward.contains(*dest) && !mutual());
            *src == zone && *dest != zone && outside
        })
    };
    let masqueraded: BTreeSet<_> = outward.iter().filter(|zone| !behind(zone)).cloned().into_set();
    wans.extend(masqueraded);
    wans
}

/// Returns all exposures in the order of the file. `firewall` has the `values` of
/// `uci get {"config":"firewall"}` or of [`crate::parse_uci`].
#[must_use]
pub fn exposures(firewall: &Value, router: &Router) -> Vec<Exposure> {
    openings(&package(firewall), router)
}

/// Like [`exposures`], for a parsed package.
#[must_use]
pub fn openings(firewall: &Package, router: &Router) -> Vec<Exposure> {
    let mut found = ExposureSearch {
        outer: zones_to_internet(firewall, router),
        denials: denials(firewall, router),
        exposures: Vec::new(),
    };
    policies(firewall, router, &mut found);
    for forwarding in sections(firewall, "forwarding") {
        let families = Families::named(forwarding.text("family"));
        let to = Opening::Zone(text(forwarding, "dest").to_owned());
        found.add(forwarding, "forwarding", LAST, &to, &reach::everything(families, router));
    }
    for (place, rule) in sections(firewall, "rule").enumerate() {
        if accepts(text(rule, "target")) {
            let (to, packets) = match text(rule, "dest") {
                "" => (Opening::Router, reach::enters(firewall, rule, router)),
                dest => (Opening::Zone(dest.to_owned()), reach::passes(firewall, rule, router)),
            };
            found.add(rule, "rule", order(rule, place), &to, &packets);
        }
    }
    for redirect in sections(firewall, "redirect") {
        if let Some((target, packets)) = reach::redirected(firewall, redirect, router) {
            let to = match target {
                Target::Router => Opening::Router,
                Target::Host(host) => Opening::Host(host),
            };
            found.add(redirect, "redirect", LAST, &to, &packets);
        }
    }
    found.exposures
}

/// Adds openings by the policies of zones and of `defaults`.
fn policies(firewall: &Package, router: &Router, found: &mut ExposureSearch<'_>) {
    let defaults: Vec<&Section> = sections(firewall, "defaults").collect();
    let default = |policy| defaults.iter().find_map(|of| of.text(policy));
    let zones: Vec<&Section> = sections(firewall, "zone").collect();
    let all = || reach::everything(Families::BOTH, router);
    // The policies of `defaults` apply to interfaces without a zone.
    if let Some(section) = defaults.first() {
        let unzoned: Vec<&String> = router.unzoned_wans(&zones).collect();
        if default("forward").is_some_and(accepts) {
            let names: Vec<String> =
                found.outer.iter().chain(unzoned.iter().copied()).cloned().collect();
            for zone in names {
                found.open(section, "defaults", &zone, LAST, &Opening::Zone(ANY.to_owned()), all());
            }
        }
        for wan in unzoned.into_iter().filter(|_| default("input").is_some_and(accepts)) {
            found.open(section, "defaults", wan, LAST, &Opening::Router, all());
        }
    }
    for zone in zones {
        let name = text(zone, "name");
        let is_open = |policy| zone.text(policy).or(default(policy)).is_some_and(accepts);
        if !found.outer.contains(name) {
            continue;
        }
        let packets = || reach::everything(Families::named(zone.text("family")), router);
        if is_open("input") {
            found.open(zone, "zone", name, LAST, &Opening::Router, packets());
        }
        // Forwarding from one WAN interface to another reaches no host.
        if is_open("forward") && router.has_hosts(zone) {
            found.open(zone, "zone", name, LAST, &Opening::Zone(name.to_owned()), packets());
        }
    }
}

/// Position of a rule in fw4's chains. Rules for all zones precede rules for single zones.
type Order = (bool, usize);

const LAST: Order = (true, usize::MAX);

fn order(rule: &Section, place: usize) -> Order {
    (text(rule, "src") != ANY, place)
}

/// A rule that certainly drops or rejects packets.
struct Denial<'a> {
    order: Order,
    rule: &'a Section,
    packets: Packets,
}

fn denials<'a>(firewall: &'a Package, router: &Router) -> Vec<Denial<'a>> {
    let refuses = |rule: &Section| {
        ["drop", "reject"].iter().any(|word| fw4::is_short_for(text(rule, "target"), word))
    };
    let rules = sections(firewall, "rule").enumerate().filter(|(_, rule)| refuses(rule));
    let denial = |(place, rule)| Denial {
        order: order(rule, place),
        rule,
        packets: reach::denies(rule, router),
    };
    rules.map(denial).collect()
}

struct ExposureSearch<'a> {
    outer: BTreeSet<String>,
    denials: Vec<Denial<'a>>,
    exposures: Vec<Exposure>,
}

impl ExposureSearch<'_> {
    /// Adds one opening for each Internet zone in the section's `src`.
    fn add(
        &mut self,
        section: &Section,
        kind: &'static str,
        order: Order,
        to: &Opening,
        packets: &Packets,
    ) {
        if matches!(to, Opening::Zone(to) if to.is_empty() || self.outer.contains(to)) {
            return;
        }
        let src = text(section, "src");
        let from: Vec<String> =
            self.outer.iter().filter(|zone| src == ANY || src == *zone).cloned().collect();
        for zone in from {
            self.open(section, kind, &zone, order, to, packets.clone());
        }
    }

    /// Adds an opening. Excludes packets that an earlier rule denies.
    fn open(
        &mut self,
        section: &Section,
        kind: &'static str,
        zone: &str,
        order: Order,
        to: &Opening,
        mut packets: Packets,
    ) {
        for denial in self.denials.iter().filter(|denial| denial.order < order) {
            let (src, dest) = (text(denial.rule, "src"), text(denial.rule, "dest"));
            let is_before = match to {
                Opening::Router | Opening::Services(_) => dest.is_empty(),
                Opening::Zone(to) => !dest.is_empty() && (dest == ANY || dest == to),
                Opening::Host(_) => dest == ANY,
            };
            if is_before && (src == ANY || src == zone) {
                packets.retain(|packet| !denial.packets.contains(packet));
            }
        }
        let is_service = |packet: &Packet| match packet.kind {
            Kind::Service(_, port) => Some(port),
            Kind::Ports(_) | Kind::Other => None,
        };
        let services: BTreeSet<u16> = packets.iter().filter_map(is_service).into_set();
        let opening = match to {
            _ if packets.is_empty() => return,
            Opening::Router if packets.iter().all(|packet| is_service(packet).is_some()) => {
                Opening::Services(services)
            }
            to => to.clone(),
        };
        let (section, zone) = (section.name.clone(), zone.to_owned());
        self.exposures.push(Exposure { section, kind, zone, opening, packets });
    }
}

/// Returns whether a rule admits senders from the zones `outer` to a port of the router.
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

/// Zone that leads to the Internet regardless of its options.
pub const WAN: &str = "wan";
const ANY: &str = "*";

#[must_use]
pub fn accepts(policy: &str) -> bool {
    crate::fw4::is_short_for(policy, "accept")
}

fn sections<'a>(firewall: &'a Package, kind: &'a str) -> impl Iterator<Item = &'a Section> {
    firewall.of(kind).filter(|section| fw4::is_in_force(section))
}

fn text<'a>(section: &'a Section, option: &str) -> &'a str {
    section.text(option).unwrap_or_default()
}

#[cfg(test)]
mod tests;
