// SPDX-License-Identifier: GPL-2.0-or-later
//! Devices behind the router: machines by MAC, with all of their addresses and bytes.

use std::collections::HashMap;
use std::net::IpAddr;

use config::zone::Zone;
use flows::{HostBytes, HostGrowth, Network, Now};
use topology::{Mac, NeighbourState};

use crate::network::stations::forwards_to;
use crate::network::view::NetworkView;
use identity::Identities;
pub use identity::{Effect, Event, Found, Search, Stamp};
use pause::Pauses;

pub(crate) mod answer;
mod identity;
pub(crate) mod kinds;
mod pause;
pub(crate) mod settings;
pub(crate) mod ssids;
pub mod vendors;

/// Maximum devices. Any host can invent MACs; a further device with traffic replaces the one that
/// matters least.
const MAX_DEVICES: usize = 512;
/// Maximum replaced devices a second, because each is searched for.
const MAX_REPLACED: usize = 16;
/// Maximum addresses of a device. With privacy extensions, IPv6 hosts have a new one each day.
const MAX_ADDRESSES: usize = 16;

#[derive(Debug)]
struct Device {
    /// In the order in which they were last used; the most recent one is last.
    addresses: Vec<IpAddr>,
    learned: Now,
    /// When it last sent something; `None` before the first time.
    seen: Option<Now>,
    bytes: HostBytes,
}

#[derive(Debug)]
pub(crate) struct State {
    devices: HashMap<Mac, Device>,
    owners: HashMap<IpAddr, Mac>,
    /// Bytes of hosts without a known MAC and of replaced devices.
    others: HostBytes,
    /// Bytes since the last second, by device; `None`: others.
    grown: Vec<(Option<Mac>, HostBytes)>,
    since: Now,
    /// How many devices may be replaced in this second.
    replaceable: usize,
    pauses: Pauses,
    identities: Identities,
    pub(crate) ssids: ssids::State,
}

impl State {
    pub(crate) fn new(now: Now) -> Self {
        let (devices, owners, grown) = (HashMap::new(), HashMap::new(), Vec::new());
        Self {
            devices,
            owners,
            others: HostBytes::default(),
            grown,
            since: now,
            replaceable: 0,
            pauses: Pauses::default(),
            identities: Identities::default(),
            ssids: ssids::State::default(),
        }
    }

    /// Returns the time zone of the last second.
    pub(crate) fn zone(&self) -> Zone {
        self.pauses.zone()
    }

    /// Learns from neighbours and bridges, and adds forwarded bytes. Called once a second.
    pub(crate) fn second(&mut self, grown: HostGrowth, network: &NetworkView, now: Now) {
        let topology = network.topology();
        self.replaceable = 0;
        for neighbour in topology.neighbours() {
            let (Some(mac), address) = (neighbour.mac, neighbour.address) else { continue };
            let valid = neighbour.state == NeighbourState::Valid && forwards_to(address);
            if valid && self.owners.get(&address) != Some(&mac) && is_inside(network, address) {
                self.learn(mac, address, network, now);
            }
        }
        for entry in topology.fdb().filter(|entry| !entry.own) {
            // A bridge forgets a station 5 minutes after its last frame.
            if let Some(device) = self.devices.get_mut(&entry.mac) {
                device.seen = Some(now);
            }
        }
        self.replaceable = MAX_REPLACED;
        self.others.add(grown.others);
        self.grown = vec![(None, grown.others)];
        for (address, bytes) in grown.hosts {
            self.add(address, bytes, network, now);
        }
    }

    /// Returns the bytes of the last second.
    pub(crate) fn grown(&self) -> &[(Option<Mac>, HostBytes)] {
        &self.grown
    }

    /// Returns the device that has an address, or had it last.
    pub(crate) fn owner(&self, address: IpAddr, network: &NetworkView) -> Option<Mac> {
        let station = network.topology().station_of(address).map(|(mac, _)| mac);
        let station = station.filter(|mac| self.devices.contains_key(mac));
        station.or_else(|| self.owners.get(&address).copied())
    }

    fn add(&mut self, address: IpAddr, bytes: HostBytes, network: &NetworkView, now: Now) {
        let station = network.topology().station_of(address);
        let owner = match station {
            Some((mac, true)) => {
                self.learn(mac, address, network, now);
                Some(mac)
            }
            // A router behind which the host is, or the MAC that the address had before the
            // neighbour expired.
            Some((mac, false)) => Some(mac),
            None => self.owners.get(&address).copied(),
        };
        let owner = owner.filter(|mac| self.devices.contains_key(mac));
        self.grown.push((owner, bytes));
        match owner.and_then(|mac| self.devices.get_mut(&mac)) {
            Some(device) => {
                device.bytes.add(bytes);
                if bytes.sent > 0 {
                    device.seen = Some(now);
                }
            }
            None => self.others.add(bytes),
        }
    }

    fn learn(&mut self, mac: Mac, address: IpAddr, network: &NetworkView, now: Now) {
        if !is_station(mac) {
            return;
        }
        if !self.devices.contains_key(&mac) {
            if self.devices.len() >= MAX_DEVICES {
                if self.replaceable == 0 {
                    return;
                }
                self.replaceable -= 1;
                if !self.replace(network) {
                    return;
                }
            }
            self.devices.insert(mac, Device::new(now));
        }
        if let Some(before) = self.owners.insert(address, mac)
            && before != mac
            && let Some(device) = self.devices.get_mut(&before)
        {
            device.addresses.retain(|each| *each != address);
        }
        let Some(device) = self.devices.get_mut(&mac) else { return };
        if device.addresses.last() != Some(&address) {
            device.addresses.retain(|each| *each != address);
            device.addresses.push(address);
        }
        if device.addresses.len() > MAX_ADDRESSES {
            let oldest = device.addresses.remove(0);
            self.owners.remove(&oldest);
        }
    }

    /// Removes a device without a name, with a random MAC, or that was not seen for the longest
    /// time, in this order. Its bytes are kept. Returns false if the owner knows all devices.
    fn replace(&mut self, network: &NetworkView) -> bool {
        let rank = |(mac, device): (&Mac, &Device)| {
            let named = device.name(*mac, network).is_some();
            (named, !is_random(*mac), device.seen.map(|now| now.mono), *mac)
        };
        let unknown = self.devices.iter().filter(|(mac, _)| !self.is_known(**mac, network));
        let Some((.., mac)) = unknown.map(rank).min() else { return false };
        if let Some(device) = self.devices.remove(&mac) {
            self.others.add(device.bytes);
            for address in device.addresses {
                self.owners.remove(&address);
            }
        }
        true
    }

    /// Returns whether the owner has a section for the device.
    fn is_known(&self, mac: Mac, network: &NetworkView) -> bool {
        self.pauses.settings.devices.get(&mac).is_some_and(|settings| settings.known)
            || network.reservations().has(mac)
    }
}

impl Device {
    fn new(learned: Now) -> Self {
        Self { addresses: Vec::new(), learned, seen: None, bytes: HostBytes::default() }
    }

    /// Returns the owner's name, that in the lease of its MAC, or that of its last address with a
    /// name.
    fn name<'a>(&self, mac: Mac, network: &'a NetworkView) -> Option<&'a str> {
        let of_address = || self.addresses.iter().rev().find_map(|at| network.name(*at));
        let reserved = network.reservations().name(mac);
        reserved.or_else(|| network.names().of_station(mac)).or_else(of_address)
    }
}

fn is_inside(network: &NetworkView, address: IpAddr) -> bool {
    let side = network.side(address, None);
    side.is_some_and(|side| !side.outer && !side.zone.is_empty())
}

fn is_station(mac: Mac) -> bool {
    mac.0[0] & 1 == 0 && mac.0 != [0; 6]
}

/// Returns whether the MAC is locally administered (IEEE 802), as those of phones are.
fn is_random(mac: Mac) -> bool {
    mac.0[0] & 2 != 0
}

#[cfg(test)]
mod tests;
