// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of the daemon's loop, one variant per subsystem.

use crate::{
    configuration, conntrack, cpu, devices, doctor, export, history, ips, latency, network,
    offload, rules,
};

#[derive(Debug)]
pub enum Event {
    Configuration(configuration::Event),
    Conntrack(conntrack::Event),
    Cpu(cpu::Event),
    Devices(devices::Event),
    Doctor(doctor::Event),
    Export(export::Event),
    History(history::Event),
    Ips(ips::Event),
    Latency(latency::Event),
    Network(network::Event),
    Offload(offload::Event),
    Rules(rules::Event),
}

impl From<network::Event> for Event {
    fn from(event: network::Event) -> Self {
        Self::Network(event)
    }
}
