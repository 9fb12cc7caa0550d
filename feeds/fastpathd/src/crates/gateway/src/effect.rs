// SPDX-License-Identifier: GPL-2.0-or-later
//! Effects that the core requests, one variant per subsystem. Each subsystem matches its own
//! effects exhaustively.

use crate::{
    api, configuration, conntrack, cpu, doctor, export, ips, latency, network, offload, rules,
};

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
pub enum Effect {
    Api(api::Effect),
    Configuration(configuration::Effect),
    Conntrack(conntrack::Effect),
    Cpu(cpu::Effect),
    Doctor(doctor::Effect),
    Export(export::Effect),
    Ips(ips::Effect),
    Latency(latency::Effect),
    Network(network::Effect),
    Offload(offload::Effect),
    Rules(rules::Effect),
}
