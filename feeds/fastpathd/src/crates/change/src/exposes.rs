// SPDX-License-Identifier: GPL-2.0-or-later
//! Exposures that a draft adds, by packets that were not admitted before. `config::exposure`
//! determines the openings of a firewall configuration.

use config::sort::Collect;
use std::collections::BTreeSet;

use config::exposure::{self, Opening, Router, openings};
use serde::Serialize;

use crate::draft::Draft;
use crate::validate::faulty_sections;
use ::uci::{Package, Packages, Section};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NewExposure {
    /// Kind of the setting: `input`, `forward`, `rule` or `redirect`.
    code: &'static str,
    /// Zone of the senders.
    pub(crate) zone: String,
    /// Reachable zone or host, `*` for all zones. Empty for the router, because a zone may have any
    /// name.
    to: String,
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

pub(crate) fn services() -> BTreeSet<u16> {
    exposure::services(|config| {
        let text = crate::store().config(config).ok()??;
        ::uci::parse(&text).ok()
    })
}

/// Returns the exposures that a draft adds. `services` are the ports of the router's services.
pub(crate) fn exposes(draft: &Draft, services: &BTreeSet<u16>) -> Vec<NewExposure> {
    let [wans, wans_after] = wan_interfaces(draft, services);
    let Some([old, firewall]) = in_force(draft) else { return Vec::new() };
    let found = |packages: &Packages, firewall: &Package, wans: &BTreeSet<String>| {
        let mut services = services.clone();
        services.extend(packages.iter().flat_map(|(name, of)| exposure::listens(name, of)));
        openings(firewall, &Router::of(packages.get("network"), &services, wans))
    };
    let before = found(&draft.before, &old, &wans);
    let after = found(&draft.after, &firewall, &wans_after);
    let mut new: Vec<NewExposure> = Vec::new();
    for each in after.iter().filter(|each| !is_open(&before, each)) {
        let each = NewExposure::of(each);
        if !new.contains(&each) {
            new.push(each);
        }
    }
    new
}

/// Returns whether openings of `before` admit all packets of `new`.
fn is_open(before: &[exposure::Exposure], new: &exposure::Exposure) -> bool {
    let covering =
        before.iter().filter(|old| old.zone == new.zone && covers(&old.opening, &new.opening));
    let packets: BTreeSet<_> = covering.flat_map(|old| &old.packets).into_set();
    new.packets.iter().all(|packet| packets.contains(packet))
}

/// Returns whether the target of `old` includes the target of `new`. Ignores ports, which are part
/// of the packets.
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

/// Returns the WAN interfaces before and after a draft. Afterwards, renamed WAN interfaces and all
/// interfaces on their devices count, regardless of their zone.
fn wan_interfaces(draft: &Draft, services: &BTreeSet<u16>) -> [BTreeSet<String>; 2] {
    let network = |packages: &Packages| packages.get("network").cloned().unwrap_or_default();
    let (before, after) = (network(&draft.before), network(&draft.after));
    let router = Router::of(Some(&before), services, &BTreeSet::new());
    let firewall = draft.before.get("firewall");
    let wans = firewall.map(|of| exposure::wan_interfaces(of, &router)).unwrap_or_default();
    let mut wans_after = wans.clone();
    for pair in draft.pairs().iter().filter(|pair| pair.config == "network") {
        if let (Some(before), Some(after)) = (pair.before, pair.after)
            && wans.contains(&before.name)
        {
            wans_after.insert(after.name.clone());
        }
    }
    // The device below PPPoE receives only frames of the modem while the PPPoE interface exists.
    let is_gone = |wan: &Section| !after.sections.iter().any(|of| of.name == wan.name);
    let with_device = |wan: &&Section| {
        wans.contains(&wan.name) && (is_gone(wan) || !exposure::has_own_device(wan))
    };
    let devices: BTreeSet<&str> =
        before.of("interface").filter(with_device).filter_map(|of| of.text("device")).into_set();
    let on_it = |of: &&Section| {
        let device = of.text("device").unwrap_or_default();
        let ports = after.of("device").filter(|of| of.text("name") == Some(device));
        let mut ports = ports.flat_map(|bridge| bridge.words("ports"));
        devices.contains(device) || ports.any(|port| devices.contains(port))
    };
    wans_after.extend(after.of("interface").filter(on_it).map(|of| of.name.clone()));
    [wans, wans_after]
}

/// Returns the firewall before and after without faulty sections, which fw4 usually skips. Faulty
/// sections that the draft changes count as in force.
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
