// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines whether a pending change is in force, because `uci apply` answers before netifd and
//! fw4 start. Network and wireless changes are compared by facts, the firewall by the time of fw4's
//! last reload, and the daemon by the digest of its configuration.
//!
//! A fact is an observable part of the configuration. New facts must hold, and removed facts must
//! not. The state of a change without a fact is unknown.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::net::IpAddr;
use std::path::Path;
use std::time::UNIX_EPOCH;

use plugin::{Bus, Map};
use serde_json::Value;

use crate::draft::Draft;
use crate::validate::{Port, networks};
use ::uci::{Package, Packages};

const FASTPATH: &str = "fastpath";
/// fw4 writes its state at each start and reload, and holds the lock until the rules are loaded.
const FW4_STATE: &str = "/var/run/fw4.state";
const FW4_LOCK: &str = "/var/run/fw4.lock";

/// A part of the configuration that the kernel or netifd reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Interface { name: String, proto: String, device: String },
    Address { device: String, address: IpAddr },
    Member { bridge: String, port: String },
    Vlan { bridge: String, port: String, vlan: u64, tagged: bool },
    Mtu { device: String, mtu: u64 },
    Ssid { radio: String, ssid: String, networks: Vec<String> },
}

/// Observed state. A field is `None` if it was not requested or has no answer.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    topology: Option<Map>,
    interfaces: Option<Vec<Value>>,
    wireless: Option<Map>,
    /// Unix time of fw4's last reload, in milliseconds. `u64::MIN` during a reload.
    firewall_ms: Option<u64>,
    status: Option<Map>,
}

/// Whether the daemon uses the new `/etc/config/fastpath`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InUse {
    Yes,
    /// The daemon has not yet read the file.
    NotYet,
    Refused,
    /// The daemon does not run, or only secrets change, which the digest does not include.
    Unknown,
}

impl Seen {
    /// Requests the state that determines whether a change is in force.
    pub(crate) async fn of(bus: &Bus, draft: &Draft) -> Self {
        let mut seen = Self::of_daemon(bus, draft).await;
        for config in draft.touched() {
            match config {
                "network" => {
                    let dump = bus.call("network.interface", "dump", &Map::new()).await.ok();
                    seen.interfaces = dump.and_then(|of| of.get("interface")?.as_array().cloned());
                    seen.topology = bus.call("fastpath", "topology", &Map::new()).await.ok();
                }
                "wireless" => {
                    let radios = bus.call("network.wireless", "status", &Map::new()).await;
                    seen.wireless = radios.ok();
                }
                "firewall" => seen.firewall_ms = loaded(FW4_STATE, FW4_LOCK),
                _ => {}
            }
        }
        seen
    }

    /// Requests the daemon's status if its configuration changes.
    pub(crate) async fn of_daemon(bus: &Bus, draft: &Draft) -> Self {
        let mut seen = Self::default();
        if draft.touched().contains(&FASTPATH) {
            seen.status = bus.call("fastpath", "status", &Map::new()).await.ok();
        }
        seen
    }

    /// Returns the daemon's problems with a refused configuration.
    pub(crate) fn problems(&self) -> &[Value] {
        let problems = self.status.as_ref().and_then(|of| of.get("problems")?.as_array());
        problems.map_or(&[], Vec::as_slice)
    }

    fn links(&self) -> impl Iterator<Item = &Value> {
        list(self.topology.as_ref().and_then(|of| of.get("links")))
    }

    fn link(&self, name: &str) -> Option<&Value> {
        self.links().find(|link| link["name"] == name)
    }

    fn vlans(&self, bridge: &str, port: &str) -> impl Iterator<Item = &Value> {
        let bridges = list(self.topology.as_ref().and_then(|of| of.get("bridges")));
        let found = bridges.into_iter().find(|of| of["name"] == bridge);
        let port = list(found.map(|of| &of["ports"])).find(|of| of["name"] == port);
        list(port.map(|of| &of["vlans"]))
    }

    /// Returns whether a fact holds. `None` if unknown.
    fn holds(&self, fact: &Fact) -> Option<bool> {
        match fact {
            Fact::Interface { name, proto, device } => {
                let of = self.interfaces.as_ref()?.iter().find(|of| of["interface"] == **name);
                Some(of.is_some_and(|of| of["proto"] == **proto && of["device"] == **device))
            }
            Fact::Address { device, address } => {
                self.topology.as_ref()?;
                let is = |of: &Value| {
                    let text = of.as_str().and_then(|text| text.split('/').next());
                    text.and_then(|text| text.parse().ok()) == Some(*address)
                };
                let link = self.link(device);
                Some(list(link.map(|link| &link["addresses"])).any(is))
            }
            // A missing port cannot become a member, so the fact is unknown.
            Fact::Member { bridge, port } => Some(self.link(port)?["master"] == **bridge),
            Fact::Vlan { bridge, port, vlan, tagged } => {
                self.link(port)?;
                let mut vlans = self.vlans(bridge, port);
                Some(vlans.any(|of| of["vid"] == *vlan && of["tagged"] == *tagged))
            }
            Fact::Mtu { device, mtu } => Some(self.link(device)?["mtu"] == *mtu),
            Fact::Ssid { radio, ssid, networks } => {
                let radio = self.wireless.as_ref()?.get(radio)?;
                let is = |point: &Value| {
                    let config = &point["config"];
                    let of = list(config.get("network")).filter_map(Value::as_str);
                    config["ssid"] == **ssid && of.eq(networks.iter().map(String::as_str))
                };
                let there = list(radio.get("interfaces")).any(is);
                Some(there && radio["up"] == true && radio["pending"] == false)
            }
        }
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> + use<'_> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Returns the time of fw4's last reload. `None` without the state file.
fn loaded(state: &str, lock: &str) -> Option<u64> {
    let written = Path::new(state).metadata().and_then(|of| of.modified()).ok()?;
    let busy = File::open(lock)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    let ms = written.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(if busy { u64::MIN } else { u64::try_from(ms).ok()? })
}

fn facts(network: Option<&Package>) -> BTreeSet<Fact> {
    let mut facts = BTreeSet::new();
    let Some(network) = network else { return facts };
    for section in network.of("interface").filter(|of| !of.is_on("disabled", false)) {
        let device = section.text("device").unwrap_or_default();
        // An alias uses the device of another interface.
        if device.is_empty() || device.starts_with('@') {
            continue;
        }
        let (name, device) = (section.name.clone(), device.to_owned());
        let proto = section.text("proto").unwrap_or("none").to_owned();
        if section.is_on("auto", true) {
            for (address, _) in networks(section) {
                facts.insert(Fact::Address { device: device.clone(), address });
            }
        }
        facts.insert(Fact::Interface { name, proto, device });
    }
    for section in network.of("device") {
        let device = section.text("name").unwrap_or_default().to_owned();
        if section.text("type") == Some("bridge") {
            for port in section.words("ports") {
                facts.insert(Fact::Member { bridge: device.clone(), port: port.to_owned() });
            }
        }
        if let Some(mtu) = section.text("mtu").and_then(|mtu| mtu.parse().ok()) {
            facts.insert(Fact::Mtu { device, mtu });
        }
    }
    for section in network.of("bridge-vlan") {
        let Some(vlan) = section.text("vlan").and_then(|vlan| vlan.parse().ok()) else { continue };
        let bridge = section.text("device").unwrap_or_default();
        for port in section.words("ports").into_iter().filter_map(Port::read) {
            let (bridge, port, tagged) = (bridge.to_owned(), port.name.to_owned(), port.tagged);
            facts.insert(Fact::Vlan { bridge, port, vlan, tagged });
        }
    }
    facts
}

/// Returns the facts of a wireless configuration: the enabled SSIDs.
fn points(wireless: Option<&Package>) -> BTreeSet<Fact> {
    let mut facts = BTreeSet::new();
    let Some(wireless) = wireless else { return facts };
    for point in wireless.of("wifi-iface").filter(|point| !point.is_on("disabled", false)) {
        for radio in point.words("device") {
            let of = wireless.section(radio);
            if of.is_none_or(|of| of.is_on("disabled", false)) {
                continue;
            }
            let networks = point.words("network").into_iter().map(str::to_owned).collect();
            let ssid = point.text("ssid").unwrap_or_default().to_owned();
            facts.insert(Fact::Ssid { radio: radio.to_owned(), ssid, networks });
        }
    }
    facts
}

pub(crate) fn in_use(draft: &Draft, seen: &Seen) -> InUse {
    let digest = |packages: &Packages| {
        let values = packages.get(FASTPATH).map(Package::values);
        config::digest(&values.unwrap_or_default())
    };
    let (before, after) = (digest(&draft.before), digest(&draft.after));
    let reported = seen.status.as_ref().and_then(|status| status.get("configuration"));
    let Some(reported) = reported.filter(|_| before != after) else { return InUse::Unknown };
    if reported["digest"] == *after {
        InUse::Yes
    } else if reported["refused"] == *after {
        InUse::Refused
    } else {
        InUse::NotYet
    }
}

/// Returns whether a change at `at_ms` is in force in network, wireless, firewall and daemon.
/// `None` if unknown. Ignores other files, which cannot disconnect an administrator.
pub(crate) fn in_force(draft: &Draft, at_ms: u64, seen: &Seen) -> Option<bool> {
    let mut answers = Vec::new();
    for config in draft.touched() {
        match config {
            "network" => answers.push(holds(draft, seen, config, facts)),
            "wireless" => answers.push(holds(draft, seen, config, points)),
            "firewall" => answers.push(seen.firewall_ms.map(|loaded| loaded >= at_ms)),
            FASTPATH => answers.push(match in_use(draft, seen) {
                InUse::Yes => Some(true),
                InUse::NotYet | InUse::Refused => Some(false),
                InUse::Unknown => None,
            }),
            _ => {}
        }
    }
    all(answers)
}

fn holds(
    draft: &Draft,
    seen: &Seen,
    config: &str,
    facts: fn(Option<&Package>) -> BTreeSet<Fact>,
) -> Option<bool> {
    let of = |packages: &Packages| facts(packages.get(config));
    let (before, after) = (of(&draft.before), of(&draft.after));
    let made = after.difference(&before).map(|fact| seen.holds(fact));
    let ended = before.difference(&after).map(|fact| seen.holds(fact).map(|holds| !holds));
    let known: Vec<bool> = made.chain(ended).flatten().collect();
    (!known.is_empty()).then(|| !known.contains(&false))
}

/// Combines answers. A false answer outweighs an unknown one, and an unknown answer a true one.
fn all(answers: Vec<Option<bool>>) -> Option<bool> {
    if answers.contains(&Some(false)) {
        return Some(false);
    }
    answers.into_iter().collect::<Option<Vec<bool>>>().map(|_| true)
}

#[cfg(test)]
mod tests;
