// SPDX-License-Identifier: GPL-2.0-or-later
//! Pauses devices: plans rules that drop their packets, then ends their connections, because
//! packets of offloaded flows meet no rule. Plans limits and inspection of devices.

use ruleset::Paused;

use crate::conntrack;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network;
use crate::sys::kernel::Readings;

impl Core {
    /// Replans if the clock paused or resumed a device, or one with rules has another address.
    pub(crate) fn pause_second(&mut self, readings: &Readings) -> Vec<AnyEffect> {
        let Readings { tz, offset_s, clock_is_set, .. } = readings;
        let topology = self.network.topology();
        self.devices.clock((tz, *offset_s), *clock_is_set, topology, self.now);
        let planned = self.offload.planned();
        let off = self.devices.ssids_off();
        let scheduled = self.devices.schedules_ssids();
        let switch = off.and_then(|off| self.devices.ssids.second(&off, scheduled, self.now.mono));
        let switch = switch.map(|off| network::Effect::SwitchSsids(off).into());
        let same = planned.and_then(|plan| plan.paused.as_ref()) == self.devices.paused()
            && planned.map_or(&[][..], |plan| &plan.hosts) == self.devices.host_rules();
        let mut effects = if same { Vec::new() } else { self.replan() };
        effects.extend(switch);
        effects
    }

    pub(crate) fn paused_in_force(&self) -> Option<&Paused> {
        self.offload.flowtable().in_force()?.paused.as_ref()
    }

    /// Ends connections of the hosts that the rules in force drop. Called when rules come into
    /// force, and after each dump, which may find connections that the daemon did not know.
    pub(crate) fn end_paused(&mut self) -> Vec<AnyEffect> {
        let Some(paused) = self.paused_in_force().filter(|paused| !paused.macs.is_empty()) else {
            return Vec::new();
        };
        let topology = self.network.topology();
        let connections = self.conntrack.flows().connections_with(|address| {
            let mac = || topology.station_of(address).map(|(mac, _)| mac.to_string());
            paused.addresses.contains(&address)
                || mac().is_some_and(|mac| paused.macs.contains(&mac))
        });
        if connections.is_empty() {
            return Vec::new();
        }
        log::info!("{} connections of paused devices are ended", connections.len());
        let entries = connections.iter().map(|one| (one.zone, one.orig)).collect();
        vec![conntrack::Effect::Delete(entries).into()]
    }
}

#[cfg(test)]
mod tests;
