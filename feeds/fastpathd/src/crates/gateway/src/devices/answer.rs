// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `devices`.

use std::collections::HashMap;
use std::net::IpAddr;

use flows::{HostBytes, Network, Now, OpenHost};
use serde::Serialize;
use topology::Mac;

use super::{Device, State, is_random};
use crate::network::view::NetworkView;

#[derive(Debug, Serialize)]
pub(crate) struct DevicesAnswer {
    since_ms: u64,
    now_ms: u64,
    devices: Vec<DeviceView>,
    others: BytesView,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    mac: Mac,
    random: bool,
    name: String,
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
    pub(crate) fn view(&self, open: &[OpenHost], network: &NetworkView, now: Now) -> DevicesAnswer {
        let mut by_mac: HashMap<Mac, Vec<&OpenHost>> = HashMap::new();
        for host in open {
            let station = network.topology().station_of(host.address).map(|(mac, _)| mac);
            if let Some(mac) = station.or_else(|| self.owners.get(&host.address).copied()) {
                by_mac.entry(mac).or_default().push(host);
            }
        }
        let view = |(mac, device): (&Mac, &Device)| {
            let hosts = by_mac.get(mac).map_or(&[][..], Vec::as_slice);
            let sum = |of: fn(&OpenHost) -> u64| hosts.iter().map(|host| of(host)).sum();
            let side = device.addresses.last().and_then(|at| network.side(*at, None));
            let (on, vlan, port) =
                side.map(|side| (side.device, side.vlan, side.port)).unwrap_or_default();
            DeviceView {
                mac: *mac,
                random: is_random(*mac),
                name: device.name(*mac, network).unwrap_or_default().to_owned(),
                addresses: device.addresses.clone(),
                device: on.to_string(),
                vlan,
                port: port.to_string(),
                learned_ms: now.unix_ms_at(device.learned),
                seen_ms: device.seen.map_or(0, |seen| now.unix_ms_at(seen)),
                flows: sum(|host| host.flows),
                offloaded: sum(|host| host.offloaded),
                up_bps: sum(|host| host.up_bps),
                down_bps: sum(|host| host.down_bps),
                bytes: device.bytes.into(),
            }
        };
        let mut devices: Vec<DeviceView> = self.devices.iter().map(view).collect();
        config::sort::by_key(&mut devices, |device| device.mac);
        DevicesAnswer {
            since_ms: now.unix_ms_at(self.since),
            now_ms: now.unix_ms,
            devices,
            others: self.others.into(),
        }
    }
}
