// SPDX-License-Identifier: GPL-2.0-or-later
//! Which devices are paused now, and the addresses of devices with rules of their own.

use config::sort::Collect;
use config::zone::Zone;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use flows::Now;
use model::Action;
use ruleset::{HostRules, Paused};
use topology::{Mac, NeighbourState, Topology};

use super::State;
use super::settings::{Clock, DeviceSettings, Pause, Settings, SsidOff};
use crate::network::stations::forwards_to;

/// Maximum addresses of a device in the rules.
const MAX_ADDRESSES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Pauses {
    pub(super) settings: Settings,
    /// Clock of the last second; `None` before the first reading.
    clock: Option<Clock>,
    pub(super) paused: BTreeMap<Mac, Pause>,
    /// Devices whose packets the rules have to drop; `None` without sections.
    rules: Option<Paused>,
    hosts: Vec<HostRules>,
}

impl Pauses {
    pub(super) fn zone(&self) -> Zone {
        self.clock.map_or(Zone::fixed(0), |clock| clock.zone)
    }

    /// Returns when a pause ends in Unix ms; 0: unknown, or it does not end by itself.
    pub(super) fn end_ms(&self, mac: Mac) -> u64 {
        let end = self.clock.and_then(|clock| self.settings.end(mac, &clock));
        end.and_then(|end| u64::try_from(end).ok()).map_or(0, |end| end * 1000)
    }
}

impl State {
    pub(crate) fn configure(&mut self, settings: &Settings, topology: &Topology) {
        self.pauses.settings = settings.clone();
        self.judge(topology);
    }

    /// Sets the clock. `offset_s` is the offset of local time if `tz` has no zone.
    pub(crate) fn clock(
        &mut self,
        (tz, offset_s): (&str, i64),
        is_set: bool,
        topology: &Topology,
        now: Now,
    ) {
        let zone = Zone::parse(tz).unwrap_or(Zone::fixed(offset_s));
        // The kernel calls a clock unset again after hours without a time server, or when a program
        // sets it.
        let is_set = is_set || self.pauses.clock.is_some_and(|clock| clock.is_set);
        let unix = i64::try_from(now.unix_ms / 1000).unwrap_or(i64::MAX);
        self.pauses.clock = Some(Clock { unix, zone, is_set });
        self.judge(topology);
    }

    /// Returns the local day of a Unix time in ms, counted from the epoch; `None` until the clock
    /// is set.
    pub(crate) fn local_day(&self, unix_ms: u64) -> Option<i64> {
        let clock = self.pauses.clock.as_ref().filter(|clock| clock.is_set)?;
        let unix = i64::try_from(unix_ms / 1000).ok()?;
        Some((unix + clock.zone.offset(unix)).div_euclid(86_400))
    }

    /// Returns the devices with a quota, in MB per day.
    pub(crate) fn quotas(&self) -> Vec<(Mac, u32)> {
        let all = self.pauses.settings.devices.iter();
        all.map(|(mac, of)| (*mac, of.quota_mb)).filter(|(_, quota)| *quota > 0).collect()
    }

    /// Returns the SSIDs that schedules switch off. `None` until the clock is set: SSIDs stay as
    /// they were, because an owner without another way to the router could not enter.
    pub(crate) fn ssids_off(&self) -> Option<Vec<SsidOff>> {
        let clock = self.pauses.clock.as_ref().filter(|clock| clock.is_set)?;
        Some(self.pauses.settings.ssids_off(clock))
    }

    pub(crate) fn schedules_ssids(&self) -> bool {
        self.pauses.settings.schedules_ssids()
    }

    /// Returns the SSIDs of [`ssids_off`](Self::ssids_off) that are off.
    pub(crate) fn ssids_in_force(&self) -> Vec<SsidOff> {
        let mut off = self.ssids_off().unwrap_or_default();
        off.retain(|ssid| self.ssids.is_off(ssid));
        off
    }

    /// Returns false while it is unknown which devices are paused.
    pub(crate) fn pauses_known(&self) -> bool {
        self.pauses.clock.is_some() || self.pauses.settings.devices.is_empty()
    }

    /// Returns the devices whose packets the rules have to drop; `None` without sections, so that
    /// the first pause does not need another table.
    pub(crate) fn paused(&self) -> Option<&Paused> {
        self.pauses.rules.as_ref()
    }

    /// Returns whether a device is always inspected.
    pub(crate) fn any_always(&self) -> bool {
        let mut devices = self.pauses.settings.devices.values();
        devices.any(|device| device.inspect == Some(Action::Always))
    }

    /// Returns the rules of devices with limits or inspection of their own, by MAC.
    pub(crate) fn host_rules(&self) -> &[HostRules] {
        &self.pauses.hosts
    }

    fn judge(&mut self, topology: &Topology) {
        let Some(clock) = &self.pauses.clock else { return };
        let settings = &self.pauses.settings;
        let paused = settings.paused(clock);
        let with_rules = settings.devices.iter().filter(|(_, settings)| settings.has_rules());
        let host = |(mac, settings): (&Mac, &DeviceSettings)| HostRules {
            mac: mac.to_string(),
            addresses: BTreeSet::new(),
            limits: settings.limits,
            inspect: settings.inspect,
        };
        let mut hosts: BTreeMap<Mac, HostRules> = with_rules.map(|of| (*of.0, host(of))).into_map();
        let mut addresses = BTreeSet::new();
        let of = |mac: &Mac| paused.contains_key(mac) || hosts.contains_key(mac);
        for (address, mac) in self.addresses(&of, topology) {
            if paused.contains_key(&mac) {
                addresses.insert(address);
            }
            if let Some(host) = hosts.get_mut(&mac) {
                host.addresses.insert(address);
            }
        }
        let macs = paused.keys().map(Mac::to_string).into_set();
        let rules = (!settings.devices.is_empty()).then_some(Paused { macs, addresses });
        self.pauses.rules = rules;
        self.pauses.hosts = hosts.into_values().collect();
        self.pauses.paused = paused;
    }

    /// Returns the addresses of these devices: those of neighbours, and the last ones of devices
    /// whose neighbour has expired.
    fn addresses(&self, of: &dyn Fn(&Mac) -> bool, topology: &Topology) -> Vec<(IpAddr, Mac)> {
        let mut owners: BTreeMap<IpAddr, Mac> = BTreeMap::new();
        if self.pauses.settings.devices.is_empty() {
            return Vec::new();
        }
        for neighbour in topology.neighbours().filter(|one| one.state == NeighbourState::Valid) {
            let Some(mac) = neighbour.mac else { continue };
            let owner = owners.entry(neighbour.address).or_insert(mac);
            // Another device on another link.
            if of(owner) {
                *owner = mac;
            }
        }
        for (address, mac) in &self.owners {
            owners.entry(*address).or_insert(*mac);
        }
        let mut counts: BTreeMap<Mac, usize> = BTreeMap::new();
        let mut chosen = |(address, mac): &(IpAddr, Mac)| {
            let (address, mac) = (*address, *mac);
            let is_its = of(&mac) && forwards_to(address);
            let count = counts.entry(mac).or_default();
            *count += usize::from(is_its && !topology.is_local(address));
            is_its && !topology.is_local(address) && *count <= MAX_ADDRESSES
        };
        owners.into_iter().filter(|each| chosen(each)).collect()
    }
}
