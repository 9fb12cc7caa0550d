// SPDX-License-Identifier: GPL-2.0-or-later
//! Vendors and kinds of devices, which others read for the daemon.

use std::collections::HashMap;
use std::net::IpAddr;

use config::sort::Collect;
use serde_json::Value;
use topology::Mac;

use super::{Device, State, is_random, kinds};
use crate::network::view::NetworkView;

/// Seconds between looks for new devices and another vendor file.
const VENDORS_INTERVAL: u32 = 10;
const SERVICES_INTERVAL: u32 = 15;

/// Length and time (s, ns) of the vendor file. An unchanged one is read for new devices only.
pub type Stamp = (u64, i64, i64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    FindVendors(Search),
    /// Call `umdns browse`.
    BrowseServices,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// All devices with a MAC of a vendor.
    pub macs: Vec<Mac>,
    /// File of the last search; `None`: none was found.
    pub known: Option<Stamp>,
    /// Search although the file is the known one.
    pub again: bool,
}

#[derive(Debug)]
pub enum Event {
    /// A search has ended; `None` if it was not necessary.
    Searched(Option<Found>),
    /// The answer of `umdns browse`.
    Services(Value),
}

#[derive(Debug, Default)]
pub struct Found {
    /// `None` if the file cannot be read.
    pub stamp: Option<Stamp>,
    /// All MACs of the search; without a vendor: empty.
    pub vendors: Vec<(Mac, String)>,
}

#[derive(Debug, Default)]
pub(super) struct Identities {
    vendors: HashMap<Mac, String>,
    stamp: Option<Stamp>,
    is_searching: bool,
    announced: HashMap<IpAddr, &'static str>,
    age: u32,
}

impl State {
    /// Requests what is due. Called once a second.
    pub(crate) fn identity_second(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let identities = &mut self.identities;
        identities.age += 1;
        if identities.age.is_multiple_of(SERVICES_INTERVAL) {
            effects.push(Effect::BrowseServices);
        }
        if identities.age.is_multiple_of(VENDORS_INTERVAL) && !identities.is_searching {
            identities.is_searching = true;
            let known = self.pauses.settings.devices.iter().filter(|(_, of)| of.known);
            let all = self.devices.keys().chain(known.map(|(mac, _)| mac));
            let macs = all.filter(|mac| !is_random(**mac)).copied().into_set();
            let again = macs.iter().any(|mac| !identities.vendors.contains_key(mac));
            let macs = macs.into_iter().collect();
            effects.push(Effect::FindVendors(Search { macs, known: identities.stamp, again }));
        }
        effects
    }

    pub(crate) fn identity_event(&mut self, event: Event) {
        match event {
            Event::Searched(found) => {
                self.identities.is_searching = false;
                if let Some(found) = found {
                    self.identities.stamp = found.stamp;
                    self.identities.vendors = found.vendors.into_iter().collect();
                }
            }
            Event::Services(services) => self.identities.announced = kinds::announced(&services),
        }
    }

    /// Returns whether vendors can be looked up.
    pub(super) fn has_vendors(&self) -> bool {
        self.identities.stamp.is_some()
    }

    pub(super) fn vendor(&self, mac: Mac) -> &str {
        self.identities.vendors.get(&mac).map_or("", String::as_str)
    }

    /// Returns the kind and who tells it.
    pub(super) fn kind(
        &self,
        (mac, device): (Mac, &Device),
        network: &NetworkView,
    ) -> (&'static str, &'static str) {
        let settings = self.pauses.settings.devices.get(&mac);
        let own = settings.map(|of| of.kind).filter(|kind| !kind.is_empty());
        let mut told = device.addresses.iter().filter_map(|at| self.identities.announced.get(at));
        let first = told.next().copied();
        let announced = first.filter(|kind| !kind.is_empty() && told.all(|other| other == kind));
        let named = || {
            let name = network.names().of_station(mac)?;
            Some((kinds::of_name(name, mac, self.vendor(mac))?, "name"))
        };
        let certain = own.map(|kind| (kind, "owner")).or(announced.map(|kind| (kind, "mdns")));
        certain.or_else(named).unwrap_or_default()
    }
}
