// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of bridges: VLANs, PVIDs and the spanning tree.

use super::Check;
use super::migration;
use crate::facts::bridges::{Bridge, BridgePort};
use crate::facts::{Facts, Unknown};
use crate::finding::{Finding, Fix, Severity, Verdict};

const GROUP: &str = "bridge";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "bridge-per-vlan", group: GROUP, run: per_vlan },
    Check { id: "bridge-pvid", group: GROUP, run: pvid },
    Check { id: "bridge-vlan-empty", group: GROUP, run: empty },
    Check { id: "bridge-stp", group: GROUP, run: stp },
];

/// `BR_STATE_FORWARDING` of the kernel's `if_bridge.h`.
const FORWARDING: u64 = 3;
const STATES: [&str; 5] = ["disabled", "listening", "learning", "forwarding", "blocking"];
const TOPOLOGY: &str = "ubus call fastpath topology: bridges";

/// Reports several bridges with one VLAN each.
fn per_vlan(facts: &Facts) -> Verdict {
    let plain = facts.bridges.all.get()?.iter().filter(|of| !of.vlan_aware);
    let plain: Vec<&Bridge> = plain.filter(|of| !of.ports.is_empty()).collect();
    let tagged = plain.iter().any(|of| of.ports.iter().any(|port| port.vlan.is_some()));
    if plain.len() < 2 || !tagged {
        return Ok(None);
    }
    let names: Vec<&str> = plain.iter().map(|of| of.name.as_str()).collect();
    let mut finding =
        Finding::new(Severity::Advice).with("bridges", names.join(", ")).with("count", names.len());
    for bridge in &plain {
        let ports: Vec<&str> = bridge.ports.iter().map(|port| port.name.as_str()).collect();
        let source = format!("/sys/class/net/{}/brif", bridge.name);
        finding = finding.saw("ports", &bridge.name, ports.join(", "), source);
    }
    let edits = facts.uci.network.get().ok().and_then(|network| migration::edits(network, &plain));
    let case = if edits.is_some() { "" } else { "manual" };
    Ok(Some(finding.case(case).fix(edits.map(Fix::Change))))
}

fn aware(facts: &Facts) -> Result<impl Iterator<Item = &Bridge>, Unknown> {
    facts.bridges.members.get()?;
    Ok(facts.bridges.all.get()?.iter().filter(|of| of.vlan_aware))
}

fn shown(port: &BridgePort) -> String {
    let member = |(vid, tagged, pvid): &(u16, bool, bool)| {
        format!("{vid}{}{}", if *tagged { "t" } else { "u" }, if *pvid { "*" } else { "" })
    };
    let shown: Vec<String> = port.members.iter().map(member).collect();
    if shown.is_empty() { "–".into() } else { shown.join(" ") }
}

/// Reports ports without a VLAN, and ports that drop untagged frames because they have an untagged
/// VLAN but no PVID.
fn pvid(facts: &Facts) -> Verdict {
    let mut found: Option<Finding> = None;
    for bridge in aware(facts)? {
        for port in &bridge.ports {
            let untagged = port.members.iter().any(|(_, tagged, _)| !tagged);
            let own = port.members.iter().any(|(.., pvid)| *pvid);
            if !port.members.is_empty() && (!untagged || own) {
                continue;
            }
            let case = if port.members.is_empty() { "no-vlan" } else { "" };
            let finding = found.take().unwrap_or_else(|| {
                Finding::new(Severity::Warning)
                    .case(case)
                    .with("port", port.name.as_str())
                    .with("bridge", bridge.name.as_str())
            });
            let of = format!("{}: {}", bridge.name, port.name);
            found = Some(finding.saw("vlans", of, shown(port), TOPOLOGY));
        }
    }
    Ok(found)
}

/// Reports VLANs of the bridge device that have no port.
fn empty(facts: &Facts) -> Verdict {
    let mut finding = Finding::new(Severity::Advice);
    let mut vids = Vec::new();
    for bridge in aware(facts)? {
        let has = |vid: u16| {
            bridge.ports.iter().any(|port| port.members.iter().any(|(of, ..)| *of == vid))
        };
        for vid in bridge.own.iter().filter(|vid| !has(**vid)) {
            vids.push(vid.to_string());
            finding = finding.saw("no-port", &bridge.name, vid, TOPOLOGY);
        }
    }
    Ok(finding.with("vlans", vids.join(", ")).if_seen())
}

/// Reports ports with a link that the spanning tree blocks.
fn stp(facts: &Facts) -> Verdict {
    let mut found: Option<Finding> = None;
    for bridge in facts.bridges.all.get()? {
        for port in bridge.ports.iter().filter(|of| of.carrier && of.state != FORWARDING) {
            let at = usize::try_from(port.state).unwrap_or(usize::MAX);
            let state = STATES.get(at).copied().unwrap_or("?");
            let finding = found.take().unwrap_or_else(|| {
                Finding::new(Severity::Warning)
                    .with("port", port.name.as_str())
                    .with("bridge", bridge.name.as_str())
                    .with("state", state)
            });
            let source = format!("/sys/class/net/{}/brport/state", port.name);
            found = Some(finding.saw("state", &port.name, state, source));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
