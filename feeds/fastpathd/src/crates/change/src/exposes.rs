// SPDX-License-Identifier: GPL-2.0-or-later
//! The openings to the Internet that a draft adds, with codes `input`, `forward`, `rule` and
//! `redirect`. Which
//! firewall settings are an opening is decided in `crates/config/src/exposure.rs`.

use std::collections::BTreeSet;

use config::exposure::{self, Opening, Router, exposures};
use serde::Serialize;

use crate::draft::Draft;
use ::uci::Packages;

/// An opening to the Internet that a change makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NewExposure {
    /// The kind of setting that opens it.
    code: &'static str,
    /// The zone that leads to the Internet.
    pub(crate) zone: String,
    /// The zone that can be reached, `*` for every zone; empty: the router itself, since a zone
    /// may have any name.
    to: String,
    /// In English.
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

/// Ports of this router's services, by their files.
pub(crate) fn services() -> BTreeSet<u16> {
    exposure::services(|config| {
        let text = std::fs::read_to_string(format!("/etc/config/{config}")).ok()?;
        ::uci::parse(&text).ok()
    })
}

/// Openings to the Internet that a draft adds on a router with services at these ports.
pub(crate) fn exposes(draft: &Draft, services: &BTreeSet<u16>) -> Vec<NewExposure> {
    let found = |packages: &Packages| found(packages, services);
    let before = found(&draft.before);
    let open = |new: &exposure::Exposure| {
        before.iter().any(|old| old.zone == new.zone && covers(&old.opening, &new.opening))
    };
    let mut new: Vec<NewExposure> = Vec::new();
    for each in found(&draft.after).iter().filter(|each| !open(each)) {
        let each = NewExposure::of(each);
        if !new.contains(&each) {
            new.push(each);
        }
    }
    new
}

fn covers(old: &Opening, new: &Opening) -> bool {
    match (old, new) {
        (Opening::Router, Opening::Router | Opening::Services(_)) => true,
        (Opening::Services(old), Opening::Services(new)) => old.is_superset(new),
        (Opening::Zone(old), Opening::Host(_)) => old == "*",
        (Opening::Zone(old), Opening::Zone(new)) => old == "*" || old == new,
        (Opening::Host(old), Opening::Host(new)) => old == new,
        (Opening::Router | Opening::Services(_) | Opening::Host(_), _)
        | (Opening::Zone(_), Opening::Router | Opening::Services(_)) => false,
    }
}

/// The openings of a configuration. Without the file nothing is reported.
fn found(packages: &Packages, services: &BTreeSet<u16>) -> Vec<exposure::Exposure> {
    let router = Router::of(packages.get("network"), services);
    let of = |firewall: &::uci::Package| exposures(&firewall.values(), &router);
    packages.get("firewall").map(of).unwrap_or_default()
}

#[cfg(test)]
#[path = "exposes_tests.rs"]
mod tests;
