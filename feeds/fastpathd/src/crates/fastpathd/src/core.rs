// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of all subsystems, without I/O, and the order in which they run each second.

use std::time::Duration;

use flows::Now;

use crate::effect::Effect;
use crate::sys::kernel::{Machine, Readings};
use crate::{
    configuration, conntrack, cpu, doctor, export, ips, latency, network, offload, rules, sys,
};

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) now: Now,
    /// CPU time that this process has used.
    pub(crate) cpu_time: Duration,
    pub(crate) sys: sys::State,
    pub(crate) configuration: configuration::State,
    pub(crate) network: network::State,
    pub(crate) conntrack: conntrack::State,
    pub(crate) offload: offload::State,
    pub(crate) ips: ips::State,
    pub(crate) latency: latency::State,
    pub(crate) rules: rules::Updates,
    pub(crate) cpu: cpu::State,
    pub(crate) doctor: doctor::State,
    pub(crate) export: export::State,
}

impl Core {
    pub(crate) fn new(machine: Machine, now: Now) -> Self {
        Self {
            now,
            cpu_time: Duration::ZERO,
            sys: sys::State::new(machine),
            configuration: configuration::State::default(),
            network: network::State::new(now),
            conntrack: conntrack::State::new(),
            offload: offload::State::new(),
            ips: ips::State::new(now.mono),
            latency: latency::State::default(),
            rules: rules::Updates::default(),
            cpu: cpu::State::default(),
            doctor: doctor::State::default(),
            export: export::State::default(),
        }
    }

    /// Runs the periodic work of all subsystems. Called once a second.
    pub(crate) fn second(&mut self, readings: &Readings) -> Vec<Effect> {
        self.sys.read(readings, self.now.mono);
        self.network.name_hosts(&readings.leases, &readings.hosts);
        let mut effects = self.mtu6_second(&readings.mtu6);
        effects.extend(self.ebpf_second());
        effects.extend(self.conntrack_second());
        effects.extend(self.network.second());
        effects.extend(self.roaming_second());
        effects.extend(self.routes_second());
        effects.extend(self.flows_strayed());
        effects.extend(self.flowtable_second());
        effects.extend(self.latency_second());
        effects.extend(self.cpu_second());
        effects.extend(self.rules_second(readings.offset_s));
        effects.extend(self.ips_second());
        effects.extend(self.doctor_second(readings.doctor));
        effects.extend(self.export_second());
        effects
    }
}

#[cfg(test)]
mod tests;
