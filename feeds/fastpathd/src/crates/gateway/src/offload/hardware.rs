// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects whether hardware takes flows, and which ports support that. `OpenWrt`'s kernel accepts a
//! flowtable with `flags offload` without support of any driver, so the engine in force does not
//! show it.

use std::collections::BTreeSet;

use flows::Path;
use model::Engine;
use serde::Serialize;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;

/// Seconds with flows in the flowtable but none in hardware until hardware counts as unused.
const UNUSED_AFTER: u32 = 60;

/// Ports of the flowtable, and those with `hw-tc-offload` on, which may forward flows in hardware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HardwarePorts {
    pub able: BTreeSet<String>,
    pub present: usize,
}

/// Counts the seconds with flows in the flowtable but none in hardware.
#[derive(Debug, Default)]
pub(crate) struct HardwareUse {
    seconds: u32,
    /// `None` without hardware offload, or if the drivers are unknown.
    ports: Option<HardwarePorts>,
}

impl HardwareUse {
    /// Returns true if hardware offload is in force without effect.
    pub(crate) fn is_unused(&self) -> bool {
        self.seconds >= UNUSED_AFTER
    }

    pub(crate) fn ports(&self) -> Option<&HardwarePorts> {
        self.ports.as_ref()
    }

    /// Counts a second with this many flows in hardware and in software. Returns true if
    /// [`is_unused`](Self::is_unused) has changed.
    fn second(&mut self, engine: Engine, hardware: u64, software: u64) -> bool {
        let before = self.is_unused();
        if engine != Engine::FlowtableHw || hardware > 0 {
            self.seconds = 0;
        } else if software > 0 {
            self.seconds = self.seconds.saturating_add(1);
        }
        self.is_unused() != before
    }
}

impl Core {
    /// Sets the ports of a table that has been applied or verified.
    pub(super) fn hardware_ports(&mut self, ports: Option<HardwarePorts>) {
        self.network.view_mut().set_hardware(ports.as_ref().map(|ports| ports.able.clone()));
        self.offload.hardware.ports = ports;
    }

    /// Counts a second. Replans the queues if use of hardware, which bypasses them, has changed.
    pub(super) fn hardware_second(&mut self) -> Option<AnyEffect> {
        let flows = self.conntrack.flows();
        let [hardware, software] = [Path::Hardware, Path::Flowtable].map(|path| flows.on(path));
        let engine = self.offload.flowtable.active();
        if !self.offload.hardware.second(engine, hardware, software) {
            return None;
        }
        self.plan_latency()
    }
}

#[cfg(test)]
mod tests {
    use ruleset::{Applied, ForeignRules};
    use serde_json::json;

    use super::*;
    use crate::fixture::{ask, running};
    use crate::offload::flowtable::Job;
    use crate::offload::{Effect, Event};

    #[test]
    fn hardware_is_unused_after_a_minute_of_traffic_without_a_hardware_flow() {
        let mut hardware = HardwareUse::default();
        for _ in 0..100 {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 0), "without traffic");
        }
        for _ in 1..UNUSED_AFTER {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 5));
        }
        assert!(hardware.second(Engine::FlowtableHw, 0, 5));
        assert!(!hardware.second(Engine::FlowtableHw, 0, 5), "told once");
        assert!(hardware.second(Engine::FlowtableHw, 1, 5));
        assert!(!hardware.is_unused());
    }

    #[test]
    fn other_engines_never_report_unused_hardware() {
        let mut hardware = HardwareUse::default();
        for engine in [Engine::Off, Engine::Flowtable, Engine::Ebpf] {
            for _ in 0..100 {
                assert!(!hardware.second(engine, 0, 5));
            }
        }
    }

    #[test]
    fn hardware_offload_respects_early_ingress_chains_of_a_port() {
        let listing = json!({"nftables": [
            {"chain": {"family": "netdev", "table": "qos", "name": "lan1", "type": "filter",
                "hook": "ingress", "prio": -200, "policy": "accept", "dev": "lan1"}},
            {"rule": {"family": "netdev", "table": "qos", "chain": "lan1", "handle": 7, "expr": [
                {"limit": {"rate": 500, "per": "second", "inv": true}}, {"drop": null}]}},
        ]});
        let mut core = running();
        core.rules_read(Ok(ForeignRules::parse(&listing)));
        let chains = |effects: Vec<AnyEffect>| {
            effects.into_iter().find_map(|effect| match effect {
                AnyEffect::Offload(Effect::Run(Job::Apply { plan, .. })) => {
                    Some(plan.packet_chains.len())
                }
                _ => None,
            })
        };
        assert_eq!(chains(core.command(Engine::FlowtableHw)), Some(1));
        core.applied(Ok(Applied::Replaced));
        assert_eq!(chains(core.command(Engine::Flowtable)), Some(0));
    }

    #[test]
    fn status_shows_the_hardware_ports_of_the_engine_in_force() {
        let mut core = running();
        core.command(Engine::FlowtableHw);
        let ports = HardwarePorts { able: BTreeSet::new(), present: 1 };
        core.offload_event(Event::HardwarePorts(Some(ports)));
        let not_yet = ask(&mut core, "status", json!({}))["engine"].take();
        assert_eq!(
            (&not_yet["active"], &not_yet["hardware_ports"]),
            (&json!("flowtable"), &json!(null))
        );
        core.applied(Ok(Applied::Replaced));
        let engine = ask(&mut core, "status", json!({}))["engine"].take();
        assert_eq!(engine["hardware_ports"], json!({"able": [], "present": 1}));
        core.offload_event(Event::HardwarePorts(None));
        assert_eq!(ask(&mut core, "status", json!({}))["engine"]["hardware_ports"], json!(null));
    }
}
