// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of all subsystems, without I/O. The files of this folder connect them.

use std::time::Duration;

use flows::Now;

use crate::api::Subsystems;
use crate::api::status::{self, Tick};
use crate::effect::Effect;
use crate::event::Event;
use crate::ips::answer::{self, News};
use crate::sys::kernel::Machine;
use crate::{
    configuration, conntrack, cpu, devices, doctor, export, history, ips, latency, network,
    offload, rules, sys,
};

pub mod calls;
mod configure;
mod reactions;
mod second;

#[derive(Debug)]
pub struct Core {
    now: Now,
    /// CPU time used by this process.
    cpu_time: Duration,
    sys: sys::State,
    configuration: configuration::State,
    network: network::State,
    conntrack: conntrack::State,
    devices: devices::State,
    offload: offload::State,
    ips: ips::State,
    latency: latency::State,
    rules: rules::Updates,
    cpu: cpu::State,
    doctor: doctor::State,
    export: export::State,
    history: history::State,
}

impl Core {
    #[must_use]
    pub fn new(machine: Machine, now: Now) -> Self {
        Self {
            now,
            cpu_time: Duration::ZERO,
            conntrack: conntrack::State::new(machine.memory),
            sys: sys::State::new(machine),
            configuration: configuration::State::default(),
            network: network::State::new(now),
            devices: devices::State::new(now),
            offload: offload::State::new(),
            ips: ips::State::new(now.mono),
            latency: latency::State::new(),
            rules: rules::Updates::default(),
            cpu: cpu::State::default(),
            doctor: doctor::State::default(),
            export: export::State::default(),
            history: history::State::new(now),
        }
    }

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

    /// Trusts the marks of the first dump, because the rules have not changed since they were set.
    pub fn trust_first_dump(&mut self) {
        self.conntrack.flows_mut().trust_first_dump();
    }

    /// Restores the machine's original values that a previous daemon saved.
    pub fn restore_cpu(&mut self, found: ::cpu::Found) {
        self.cpu.restore(found);
    }

    pub fn restore_alerts(&mut self, text: &str) {
        self.ips.restore_alerts(text);
    }

    /// Records that Suricata's configuration could not be written.
    pub fn configuration_write_failed(&mut self, why: String) {
        self.ips.configuration_write_failed(why);
    }

    pub(crate) fn subsystems(&self) -> Subsystems<'_> {
        Subsystems {
            now: self.now,
            cpu_time: self.cpu_time,
            sys: &self.sys,
            configuration: &self.configuration,
            network: &self.network,
            conntrack: &self.conntrack,
            devices: &self.devices,
            offload: &self.offload,
            ips: &self.ips,
            latency: &self.latency,
            rules: &self.rules,
            cpu: &self.cpu,
            doctor: &self.doctor,
        }
    }

    /// Returns the payload of the notification `tick`.
    #[must_use]
    pub fn tick(&self) -> Tick<'_> {
        status::tick(self.subsystems())
    }

    /// Returns the payload of the notification `alert`, with the alerts after `since`.
    #[must_use]
    pub fn news(&self, since: u64) -> News<'_> {
        answer::news(&self.ips, self.conntrack.flows(), self.network.view(), since)
    }

    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Configuration(event) => self.configuration_event(event),
            Event::Conntrack(event) => self.conntrack_event(event),
            Event::Cpu(event) => self.cpu_event(event),
            Event::Devices(event) => {
                self.devices.identity_event(event);
                Vec::new()
            }
            Event::Doctor(event) => self.doctor_event(event),
            Event::Export(event) => self.export_event(event),
            Event::History(event) => self.history_event(event),
            Event::Ips(event) => self.ips_event(event),
            Event::Latency(event) => self.latency_event(event),
            Event::Network(event) => self.network_event(event),
            Event::Offload(event) => self.offload_event(event),
            Event::Rules(event) => self.rules_event(event),
        }
    }
}

#[cfg(test)]
impl Core {
    pub(crate) fn network_mut(&mut self) -> &mut network::State {
        &mut self.network
    }

    pub(crate) fn conntrack_mut(&mut self) -> &mut conntrack::State {
        &mut self.conntrack
    }
}

#[cfg(test)]
mod tests;
