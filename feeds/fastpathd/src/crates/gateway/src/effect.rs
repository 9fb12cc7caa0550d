// SPDX-License-Identifier: GPL-2.0-or-later
//! Effects that the core requests, one variant per subsystem.

use crate::{
    api, configuration, conntrack, cpu, devices, doctor, export, history, ips, latency, network,
    offload, rules,
};

macro_rules! effects {
    ($($variant:ident($subsystem:ident),)*) => {
        #[derive(Debug, Clone, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
        pub enum Effect {
            $($variant($subsystem::Effect),)*
        }

        $(impl From<$subsystem::Effect> for Effect {
            fn from(effect: $subsystem::Effect) -> Self {
                Self::$variant(effect)
            }
        })*
    };
}

effects! {
    Api(api),
    Configuration(configuration),
    Conntrack(conntrack),
    Cpu(cpu),
    Devices(devices),
    Doctor(doctor),
    Export(export),
    History(history),
    Ips(ips),
    Latency(latency),
    Network(network),
    Offload(offload),
    Rules(rules),
}
