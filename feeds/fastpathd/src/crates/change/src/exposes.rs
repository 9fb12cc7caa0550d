// SPDX-License-Identifier: GPL-2.0-or-later
//! Openings to the Internet that a draft adds, for packets that were not let in before.
//! `crates/config/src/exposure.rs` decides which firewall settings are openings.

use std::collections::BTreeSet;

use config::exposure::{self, Opening, Router, openings};
use serde::Serialize;

use crate::draft::Draft;
use crate::validate::faulty_sections;
use ::uci::{Package, Packages, Section};

/// An opening to the Internet that a draft adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NewExposure {
    /// Kind of the setting: `input`, `forward`, `rule` or `redirect`.
    code: &'static str,
    /// Zone that leads to the Internet.
    pub(crate) zone: String,
    /// Zone or host that becomes reachable, `*` for every zone. Empty for the router itself,
    /// because a zone may have any name.
    to: String,
    /// Message in English.
    pub(crate) text: String,
}

impl NewExposure {
    fn of(found: &exposure::Exposure) -> Self {
        let zone = found.zone.clone();
        let from = zone.escape_debug();
        let to = found.opening.target().to_owned();
        let (code, what) = match &found.opening {
            Opening::Router => ("input", "the router itself".to_owned()),
            Opening::Services(ports) => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                ("input", format!("the router's ports {}", ports.join(", ")))
            }
            Opening::Zone(to) if to == "*" => ("forward", "every zone".to_owned()),
            Opening::Zone(to) => ("forward", format!("zone '{}'", to.escape_debug())),
            Opening::Host(to) => ("forward", format!("every port of {}", to.escape_debug())),
        };
        let code = match found.kind {
            "rule" => "rule",
            "redirect" => "redirect",
            _ => code,
        };
        let text = format!("anybody on the Internet could reach {what} by zone '{from}'");
        Self { code, zone, to, text }
    }
}

/// Returns the ports of this router's services, from their configuration.
pub(crate) fn services() -> BTreeSet<u16> {
    exposure::services(|config| {
        let text = crate::store().config(config).ok()??;
        ::uci::parse(&text).ok()
    })
}

/// Returns the openings to the Internet that a draft adds, on a router with services at these
/// ports.
pub(crate) fn exposes(draft: &Draft, services: &BTreeSet<u16>) -> Vec<NewExposure> {
    let [lines, lines_after] = lines(draft, services);
    let Some([old, firewall]) = in_force(draft) else { return Vec::new() };
    let found = |packages: &Packages, firewall: &Package, lines: &BTreeSet<String>| {
        let mut services = services.clone();
        services.extend(packages.iter().flat_map(|(name, of)| exposure::listens(name, of)));
        openings(firewall, &Router::of(packages.get("network"), &services, lines))
    };
    let before = found(&draft.before, &old, &lines);
    let after = found(&draft.after, &firewall, &lines_after);
    let mut new: Vec<NewExposure> = Vec::new();
    for each in after.iter().filter(|each| !is_open(&before, each)) {
        let each = NewExposure::of(each);
        if !new.contains(&each) {
            new.push(each);
        }
    }
    new
}

/// Reports whether all packets of an opening were let in before.
fn is_open(before: &[exposure::Exposure], new: &exposure::Exposure) -> bool {
    let covering =
        before.iter().filter(|old| old.zone == new.zone && covers(&old.opening, &new.opening));
    let packets: BTreeSet<_> = covering.flat_map(|old| &old.packets).collect();
    new.packets.iter().all(|packet| packets.contains(packet))
}

/// Reports whether an opening leads wherever another one does. Ports do not count here; they are in
/// the packets.
fn covers(old: &Opening, new: &Opening) -> bool {
    use Opening::{Host, Router, Services, Zone};
    match (old, new) {
        (Router | Services(_), Router | Services(_)) => true,
        (Zone(old), Zone(new)) => old == "*" || old == new,
        (Zone(old), Host(_)) => old == "*",
        (Host(old), Host(new)) => old == new,
        (Router | Services(_), Zone(_) | Host(_))
        | (Zone(_), Router | Services(_))
        | (Host(_), Router | Services(_) | Zone(_)) => false,
    }
}

/// Returns the interfaces in zones that led to the Internet before, and the interfaces that lead
/// there afterwards in any zone: the former under their new names, and interfaces on their devices.
fn lines(draft: &Draft, services: &BTreeSet<u16>) -> [BTreeSet<String>; 2] {
    let network = |packages: &Packages| packages.get("network").cloned().unwrap_or_default();
    let (before, after) = (network(&draft.before), network(&draft.after));
    let router = Router::of(Some(&before), services, &BTreeSet::new());
    let firewall = draft.before.get("firewall");
    let lines = firewall.map(|of| exposure::lines(of, &router)).unwrap_or_default();
    let mut lines_after = lines.clone();
    for pair in draft.pairs().iter().filter(|pair| pair.config == "network") {
        if let (Some(before), Some(after)) = (pair.before, pair.after)
            && lines.contains(&before.name)
        {
            lines_after.insert(after.name.clone());
        }
    }
    // Below an interface with its own device (PPPoE) is the modem, as long as the interface exists.
    let is_gone = |line: &Section| !after.sections.iter().any(|of| of.name == line.name);
    let with_device = |line: &&Section| {
        lines.contains(&line.name) && (is_gone(line) || !exposure::has_own_device(line))
    };
    let devices: BTreeSet<&str> =
        before.of("interface").filter(with_device).filter_map(|of| of.text("device")).collect();
    let on_it = |of: &&Section| {
        let device = of.text("device").unwrap_or_default();
        let ports = after.of("device").filter(|of| of.text("name") == Some(device));
        let mut ports = ports.flat_map(|bridge| bridge.words("ports"));
        devices.contains(device) || ports.any(|port| devices.contains(port))
    };
    lines_after.extend(after.of("interface").filter(on_it).map(|of| of.name.clone()));
    [lines, lines_after]
}

/// Returns the firewall before and after without faulty sections, which fw4 leaves out. Faulty
/// sections that the draft touches stay, because fw4 does not leave out all of them.
fn in_force(draft: &Draft) -> Option<[Package; 2]> {
    let faulty = faulty_sections(&draft.before);
    let before = draft.before.get("firewall")?;
    let without = |package: &Package, is_left_out: &dyn Fn(&Section) -> bool| Package {
        sections: package.sections.iter().filter(|of| !is_left_out(of)).cloned().collect(),
    };
    let is_old = |section: &Section| faulty.contains(&section.name);
    let is_same = |section: &Section| is_old(section) && before.sections.contains(section);
    let after = draft.after.get("firewall")?;
    Some([without(before, &is_old), without(after, &is_same)])
}

#[cfg(test)]
mod tests;
