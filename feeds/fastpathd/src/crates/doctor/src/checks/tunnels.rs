// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of tunnels: MTU and MSS clamping, shared with PPPoE.

use serde_json::{Value, json};
use uci::{Package, Section};

use super::Check;
use crate::facts::reach::{names, names_only, reached};
use crate::facts::rules::SOURCE;
use crate::facts::tunnels::{LINKS, Outer, Tunnel};
use crate::facts::walk::statements;
use crate::facts::{Facts, Unknown, word};
use crate::finding::{Finding, Fix, Severity, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "tunnel-mtu", group: "pppoe", run: mtu },
    Check { id: "tunnel-mss", group: "pppoe", run: mss },
];

/// Headers of IP and TCP, in bytes.
const HEADERS_4: u64 = 40;
const HEADERS_6: u64 = 60;
/// Smallest MTU with IPv6. The kernel removes IPv6 from devices with a smaller one.
const MIN_MTU: u64 = 1280;
/// Prefixes of netifd's handlers before the name of the interface.
const PREFIXES: [&str; 12] = [
    "6in4-", "6rd-", "6to4-", "ds-", "gre4-", "gre4t-", "gre6-", "gre6t-", "ipip-", "ipip6-",
    "map-", "pppoe-",
];

/// Reports a tunnel whose outer packets can exceed the device that they leave by.
fn mtu(facts: &Facts) -> Verdict {
    let mut unknown = None;
    for tunnel in facts.tunnels.all.get()? {
        match tunnel.outer.get() {
            Ok(ends) => {
                let end =
                    ends.iter().filter(|end| tunnel.mtu > end.room).min_by_key(|end| end.room);
                if let Some(end) = end {
                    return exceeds(facts, tunnel, end).map(Some);
                }
            }
            Err(why) => unknown = unknown.or(Some(why)),
        }
    }
    unknown.map_or(Ok(None), Err)
}

fn exceeds(facts: &Facts, tunnel: &Tunnel, end: &Outer) -> Result<Finding, Unknown> {
    let network = facts.uci.network.get()?;
    // An interface with this option does not create the device, so netifd would ignore its MTU.
    let creates = |section: &&Section| section.text("device").is_none() && end.room >= MIN_MTU;
    let section = network.section(interface(network, &tunnel.device)).filter(creates);
    let fix = section
        .map(|section| Fix::set("network", &section.name, &json!({"mtu": end.room.to_string()})));
    Ok(too_large(Severity::Warning, (&tunnel.device, tunnel.mtu), (&end.device, end.mtu))
        .with("lower", end.device.as_str())
        .with("room", end.room)
        .saw("route", end.remote, &end.device, &end.source)
        .saw("headers", &tunnel.device, format!("{} B", end.mtu - end.room), LINKS)
        .fix(fix))
}

/// Returns the finding for a device whose MTU exceeds what the device below leaves. Lacks the
/// parameter `room`.
pub(super) fn too_large(severity: Severity, device: (&str, u64), lower: (&str, u64)) -> Finding {
    let mut finding = Finding::new(severity).with("device", device.0).with("mtu", device.1);
    for (name, mtu) in [device, lower] {
        finding = finding.saw("mtu", name, mtu, format!("/sys/class/net/{name}/mtu"));
    }
    finding
}

/// Reports a tunnel whose zone exchanges packets with devices of a larger MTU without MSS clamping.
fn mss(facts: &Facts) -> Verdict {
    for tunnel in facts.tunnels.all.get()? {
        let Some((from, larger)) = peer_mtu(facts, &tunnel.device)? else { continue };
        let syn = Syn { device: &tunnel.device, from: Some(&from), ipv6: tunnel.ipv6_only };
        if tunnel.mtu < larger && !clamps_mss(facts, &syn, tunnel.mtu)? {
            let finding = unclamped(facts, &tunnel.device, tunnel.mtu)?;
            return Ok(Some(finding.saw("mtu", &from, larger, LINKS)));
        }
    }
    Ok(None)
}

/// Returns the device with the largest MTU among the zones that firewall4 forwards to or from the
/// device's zone. `None` if there is none.
fn peer_mtu(facts: &Facts, device: &str) -> Result<Option<(String, u64)>, Unknown> {
    let (firewall, network) = (facts.uci.firewall.get()?, facts.uci.network.get()?);
    let Some(zone) = zone(facts, device)?.and_then(|zone| zone.text("name")) else {
        return Ok(None);
    };
    let other = |forwarding: &Section| {
        let (src, dest) = (forwarding.text("src")?, forwarding.text("dest")?);
        let other = if src == zone { dest } else { src };
        (src == zone || dest == zone).then(|| firewall.find("zone", "name", other)).flatten()
    };
    let zones = firewall.of("forwarding").filter_map(other);
    let devices = zones.flat_map(|zone| {
        let devices = zone
            .words("network")
            .into_iter()
            .filter_map(|name| network.section(name)?.text("device").map(str::to_owned));
        devices.chain(zone.words("device").into_iter().map(str::to_owned)).collect::<Vec<_>>()
    });
    let mtus = &facts.tunnels.mtus;
    Ok(devices
        .filter_map(|device| mtus.iter().find(|(name, _)| *name == device))
        .max_by_key(|(_, mtu)| mtu)
        .cloned())
}

/// Returns the name of the device's interface in UCI.
fn interface<'a>(network: &'a Package, device: &'a str) -> &'a str {
    let section = network.of("interface").find(|one| one.text("device") == Some(device));
    section.map_or_else(
        || PREFIXES.iter().find_map(|prefix| device.strip_prefix(prefix)).unwrap_or(device),
        |section| &section.name,
    )
}

fn zone<'a>(facts: &'a Facts, device: &str) -> Result<Option<&'a Section>, Unknown> {
    let interface = interface(facts.uci.network.get()?, device);
    let mut zones = facts.uci.firewall.get()?.of("zone");
    Ok(zones.find(|zone| {
        zone.words("device").contains(&device) || zone.words("network").contains(&interface)
    }))
}

/// Returns the finding for a device without MSS clamping.
pub(super) fn unclamped(facts: &Facts, device: &str, mtu: u64) -> Result<Finding, Unknown> {
    let fix =
        zone(facts, device)?.map(|zone| Fix::set("firewall", &zone.name, &json!({"mtu_fix": "1"})));
    Ok(Finding::new(Severity::Warning)
        .with("device", device)
        .with("mtu", mtu)
        .saw("mtu", device, mtu, format!("/sys/class/net/{device}/mtu"))
        .saw("clamp", "", "–", SOURCE)
        .fix(fix))
}

/// A SYN that a host sends through a device.
pub(super) struct Syn<'a> {
    pub device: &'a str,
    /// Device that it enters by. `None` for any other one.
    pub from: Option<&'a str>,
    pub ipv6: bool,
}

/// Returns whether a rule clamps the MSS of a SYN to the MTU of its device. The MSS of a host
/// limits the packets of its servers.
pub(super) fn clamps_mss(facts: &Facts, syn: &Syn<'_>, mtu: u64) -> Result<bool, Unknown> {
    let (family, headers) = if syn.ipv6 { ("ip6", HEADERS_6) } else { ("ip", HEADERS_4) };
    let starts = |chain: &Value| {
        (word(chain, "family") == "inet" || word(chain, "family") == family)
            && matches!(word(chain, "hook"), "forward" | "postrouting")
    };
    let met = reached(&facts.rules, starts, |value| meets(value, syn))?;
    let fits = |value: &Value| value.as_u64().is_none_or(|mss| mss.saturating_add(headers) <= mtu);
    let clamps = |(of, value): (&str, &Value)| match of {
        "mangle" => value["key"]["tcp option"]["name"] == "maxseg" && fits(&value["value"]),
        "xt" => value["name"] == "TCPMSS",
        _ => false,
    };
    Ok(met.into_iter().any(|rule| statements(rule).any(clamps)))
}

/// Returns whether a match may include the SYN.
fn meets(value: &Value, syn: &Syn<'_>) -> bool {
    let (left, right, not) = (&value["left"], &value["right"], value["op"] == "!=");
    let (own, other) = if syn.ipv6 { ("ipv6", "ip") } else { ("ipv4", "ip6") };
    if word(value, "right").starts_with('@') {
        return true;
    }
    match (left["meta"]["key"].as_str(), left["ct"]["key"].as_str()) {
        (Some("oifname" | "oif"), _) => names(right, syn.device) != not,
        (Some("iifname" | "iif"), _) => match syn.from {
            Some(device) => names(right, device) != not,
            None => not || !names_only(right, syn.device),
        },
        (Some("nfproto"), _) => names(right, own) != not,
        (_, Some("state")) => names(right, "new") != not,
        _ => left["payload"]["protocol"] != other,
    }
}

#[cfg(test)]
mod tests;
