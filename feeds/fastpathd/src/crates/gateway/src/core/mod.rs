// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of all subsystems, without I/O, and the order in which they run each second.

use std::time::Duration;

use flows::Now;

use crate::effect::Effect;
use crate::event::Event;
use crate::sys::kernel::{Machine, Readings};
use crate::{
    configuration, conntrack, cpu, doctor, export, ips, latency, network, offload, rules, sys,
};

#[derive(Debug)]
pub struct Core {
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
    #[must_use]
    pub fn new(machine: Machine, now: Now) -> Self {
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

    /// Sets the time, and the CPU time that this process has used.
    pub fn set_clock(&mut self, now: Now, cpu_time: Duration) {
        self.now = now;
        self.cpu_time = cpu_time;
    }

    pub fn now(&self) -> Now {
        self.now
    }

    pub fn machine(&self) -> &Machine {
        self.sys.machine()
    }

    pub fn configuration(&self) -> &configuration::State {
        &self.configuration
    }

    pub fn network(&self) -> &network::State {
        &self.network
    }

    pub fn conntrack(&self) -> &conntrack::State {
        &self.conntrack
    }

    pub fn offload(&self) -> &offload::State {
        &self.offload
    }

    pub fn ips(&self) -> &ips::State {
        &self.ips
    }

    /// Trusts the marks that the first dump reports: the rules have not changed since they were
    /// set.
    pub fn trust_first_dump(&mut self) {
        self.conntrack.flows_mut().trust_first_dump();
    }

    /// Restores the machine's original values, as saved by a previous daemon.
    pub fn restore_cpu(&mut self, found: ::cpu::Found) {
        self.cpu.restore(found);
    }

    /// Restores the alerts that a previous daemon saved.
    pub fn restore_alerts(&mut self, text: &str) {
        self.ips.restore_alerts(text);
    }

    /// Notes that Suricata's configuration could not be written.
    pub fn not_written(&mut self, why: String) {
        self.ips.not_written(why);
    }

    /// Handles an event.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Configuration(event) => self.configuration_event(event),
            Event::Conntrack(event) => self.conntrack_event(event),
            Event::Cpu(event) => self.cpu_event(event),
            Event::Doctor(event) => self.doctor_event(event),
            Event::Export(event) => self.export_event(event),
            Event::Ips(event) => self.ips_event(event),
            Event::Latency(event) => self.latency_event(event),
            Event::Network(event) => self.network_event(event),
            Event::Offload(event) => self.offload_event(event),
            Event::Rules(event) => self.rules_event(event),
        }
    }

    /// Runs the periodic work of all subsystems. Called once a second.
    pub fn second(&mut self, readings: &Readings) -> Vec<Effect> {
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
