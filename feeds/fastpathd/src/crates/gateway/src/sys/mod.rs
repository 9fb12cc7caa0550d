// SPDX-License-Identifier: GPL-2.0-or-later
//! The last readings of the machine: CPU load, rates of devices and kernel settings.

use std::time::Duration;

use kernel::{Facts, Machine, Readings};
use load::{CpuMeter, Load};
use netdev::NetMeter;

pub mod error;
pub mod kernel;
pub(crate) mod load;
pub(crate) mod netdev;

#[derive(Debug)]
pub(crate) struct State {
    machine: Machine,
    hostname: String,
    facts: Facts,
    cpu: CpuMeter,
    net: NetMeter,
}

impl State {
    pub(crate) fn new(machine: Machine) -> Self {
        let (cpu, net) = (CpuMeter::default(), NetMeter::default());
        Self { machine, hostname: String::new(), facts: Facts::default(), cpu, net }
    }

    pub(crate) fn read(&mut self, readings: &Readings, now: Duration) {
        self.cpu.read(&readings.stat);
        self.net.read(&readings.net_dev, now);
        self.facts = readings.facts;
        self.hostname.clone_from(&readings.hostname);
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn hostname(&self) -> &str {
        &self.hostname
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }

    pub(crate) fn load(&self) -> &[Load] {
        self.cpu.load()
    }

    pub(crate) fn rates(&self) -> &NetMeter {
        &self.net
    }
}
