// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `devices`.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use flows::{HostBytes, Network, Now, OpenHost};
use ruleset::Plan;
use serde::Serialize;
use topology::Mac;

use super::settings::{DeviceSettings, Pause, inspect_name};
use super::{Device, State, is_random};
use crate::network::view::NetworkView;

#[derive(Debug, Serialize)]
pub(crate) struct DevicesAnswer {
    since_ms: u64,
    now_ms: u64,
    /// The vendor file is installed.
    vendors: bool,
    devices: Vec<DeviceView>,
    others: BytesView,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    mac: Mac,
    random: bool,
    name: String,
    known: bool,
    kind: &'static str,
    kind_source: &'static str,
    vendor: String,
    group: String,
    quota_mb: u32,
    paused: &'static str,
    until_ms: u64,
    limit_down: u32,
    limit_up: u32,
    inspect: &'static str,
    addresses: Vec<IpAddr>,
    device: String,
    vlan: u16,
    port: String,
    learned_ms: u64,
    seen_ms: u64,
    flows: u64,
    offloaded: u64,
    up_bps: u64,
    down_bps: u64,
    #[serde(flatten)]
    bytes: BytesView,
}

#[derive(Debug, Serialize)]
struct BytesView {
    #[serde(rename = "up_bytes")]
    up: u64,
    #[serde(rename = "down_bytes")]
    down: u64,
    #[serde(rename = "offloaded_bytes")]
    offloaded: u64,
}

impl From<HostBytes> for BytesView {
    fn from(bytes: HostBytes) -> Self {
        let HostBytes { sent, received, offloaded } = bytes;
        Self { up: sent, down: received, offloaded }
    }
}

impl State {
    /// Returns the names of devices by MAC. Those by the owner take precedence.
    pub(crate) fn names(&self, network: &NetworkView) -> BTreeMap<String, String> {
        let found = self.devices.iter();
        let found = found.filter_map(|(mac, device)| Some((mac, device.name(*mac, network)?)));
        let given = self.pauses.settings.devices.iter().map(|(mac, of)| (mac, of.name.as_str()));
        let all = found.chain(given.filter(|(_, name)| !name.is_empty()));
        all.map(|(mac, name)| (mac.to_string(), name.to_owned())).into_map()
    }

    /// Returns bytes and names of all devices.
    pub(crate) fn metered<'a>(
        &'a self,
        network: &'a NetworkView,
    ) -> BTreeMap<Mac, (HostBytes, Option<&'a str>)> {
        let of = |(mac, device): (&Mac, &'a Device)| {
            let given = self.pauses.settings.devices.get(mac).map(|of| of.name.as_str());
            let given = given.filter(|name| !name.is_empty());
            (*mac, (device.bytes, given.or_else(|| device.name(*mac, network))))
        };
        self.devices.iter().map(of).into_map()
    }

    /// Returns the bytes of hosts without a known MAC and of replaced devices.
    pub(crate) fn others(&self) -> HostBytes {
        self.others
    }

    /// `in_force` are the rules in force; without them, no device is paused or limited.
    pub(crate) fn view(
        &self,
        open: &[OpenHost],
        network: &NetworkView,
        in_force: Option<&Plan>,
        now: Now,
    ) -> DevicesAnswer {
        let mut by_mac: HashMap<Mac, Vec<&OpenHost>> = HashMap::new();
        for host in open {
            let station = network.topology().station_of(host.address).map(|(mac, _)| mac);
            if let Some(mac) = station.or_else(|| self.owners.get(&host.address).copied()) {
                by_mac.entry(mac).or_default().push(host);
            }
        }
        let paused = in_force.and_then(|plan| plan.paused.as_ref());
        let limits = |mac: &str| {
            let host = in_force?.hosts.iter().find(|host| host.mac == mac)?;
            Some(host.limits)
        };
        let empty = (Device::new(now), DeviceSettings::default());
        let view = |mac: &Mac| {
            let seen = self.devices.get(mac);
            let device = seen.unwrap_or(&empty.0);
            let settings = self.pauses.settings.devices.get(mac).unwrap_or(&empty.1);
            let dropped = |_: &&Pause| paused.is_some_and(|it| it.macs.contains(&mac.to_string()));
            let pause = self.pauses.paused.get(mac).filter(dropped);
            let named = Some(settings.name.as_str()).filter(|name| !name.is_empty());
            let hosts = by_mac.get(mac).map_or(&[][..], Vec::as_slice);
            let sum = |of: fn(&OpenHost) -> u64| hosts.iter().map(|host| of(host)).sum();
            let side = device.addresses.last().and_then(|at| network.side(*at, None));
            let (on, vlan, port) =
                side.map(|side| (side.device, side.vlan, side.port)).unwrap_or_default();
            let limits = if settings.has_rules() { limits(&mac.to_string()) } else { None };
            let [limit_down, limit_up] = limits.unwrap_or_default();
            let (kind, kind_source) = self.kind((*mac, device), network);
            DeviceView {
                mac: *mac,
                random: is_random(*mac),
                name: named.or(device.name(*mac, network)).unwrap_or_default().to_owned(),
                known: self.is_known(*mac, network),
                kind,
                kind_source,
                vendor: self.vendor(*mac).to_owned(),
                group: settings.group.clone(),
                quota_mb: settings.quota_mb,
                paused: pause.map_or("", |pause| pause.name()),
                until_ms: pause.map_or(0, |_| self.pauses.end_ms(*mac)),
                limit_down,
                limit_up,
                inspect: settings.inspect.map_or("", inspect_name),
                addresses: device.addresses.clone(),
                device: on.to_string(),
                vlan,
                port: port.to_string(),
                learned_ms: seen.map_or(0, |device| now.unix_ms_at(device.learned)),
                seen_ms: device.seen.map_or(0, |seen| now.unix_ms_at(seen)),
                flows: sum(|host| host.flows),
                offloaded: sum(|host| host.offloaded),
                up_bps: sum(|host| host.up_bps),
                down_bps: sum(|host| host.down_bps),
                bytes: device.bytes.into(),
            }
        };
        let sections = self.pauses.settings.devices.iter().filter(|(_, settings)| settings.known);
        let macs = self.devices.keys().chain(sections.map(|(mac, _)| mac));
        let macs: BTreeSet<&Mac> = macs.into_set();
        DevicesAnswer {
            since_ms: now.unix_ms_at(self.since),
            now_ms: now.unix_ms,
            vendors: self.has_vendors(),
            devices: macs.into_iter().map(view).collect(),
            others: self.others.into(),
        }
    }
}
