// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects whether hardware takes flows, and which ports support that. `OpenWrt`'s kernel accepts a
//! flowtable with `flags offload` without support of any driver, so the engine in force does not
//! show it.

use std::collections::BTreeSet;

use flows::Path;
use model::Engine;
use netlink::{Family, RequestError, attribute, attributes, contents, push_attribute, push_nested};
use serde::Serialize;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;

/// Seconds with flows in the flowtable but none in hardware until hardware counts as unused.
const UNUSED_AFTER: u32 = 60;

/// Ports of the flowtable, and those with `hw-tc-offload` on, which may forward flows in hardware.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HardwarePorts {
    able: BTreeSet<String>,
    present: usize,
}

impl HardwarePorts {
    /// Asks the kernel about each port's driver; `None` on failure. A missing port counts as
    /// unable.
    pub(crate) fn read(ports: &BTreeSet<String>) -> Option<Self> {
        let mut kernel = Family::open("ethtool").ok()?;
        let mut able = BTreeSet::new();
        for port in ports {
            match has_feature(&mut kernel, port, ABLE) {
                Ok(true) => able.insert(port.clone()),
                Ok(false) => false,
                Err(error) if error.refused() == Some(libc::ENODEV) => false,
                Err(_) => return None,
            };
        }
        Some(Self { able, present: ports.len() })
    }
}

/// Returns true if this feature of a port is on.
fn has_feature(kernel: &mut Family, port: &str, feature: &str) -> Result<bool, RequestError> {
    /// `ETHTOOL_MSG_FEATURES_GET`, and attributes of requests and answers.
    const FEATURES_GET: u8 = 11;
    const HEADER: u16 = 1;
    const DEV_NAME: u16 = 2;
    const ACTIVE: u16 = 4;
    const BITS: u16 = 3;
    const NAME: u16 = 2;
    let (device, mut request) = ([port.as_bytes(), &[0]].concat(), Vec::new());
    push_nested(&mut request, HEADER, |header| push_attribute(header, DEV_NAME, &device));
    let answer = kernel.request(FEATURES_GET, &request)?;
    let sets = contents(&answer).filter_map(|content| attribute(content, ACTIVE));
    // A set without a mask lists the bits that are on.
    let mut on = sets.filter_map(|set| attribute(set, BITS)).flat_map(attributes);
    let name = [feature.as_bytes(), &[0]].concat();
    Ok(on.any(|(_, bit)| attribute(bit, NAME) == Some(&name)))
}

/// Feature of a driver that may hold entries of a flowtable.
const ABLE: &str = "hw-tc-offload";

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
    fn a_port_without_the_driver_feature_is_not_able() {
        let ports = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        // `lo` of the test machine has hw-tc-offload off and fixed.
        let read = HardwarePorts::read(&ports(&["lo", "no-such-port"])).unwrap();
        assert_eq!(read, HardwarePorts { able: BTreeSet::new(), present: 2 });
    }

    #[test]
    fn active_features_are_found_by_name() {
        let mut kernel = Family::open("ethtool").unwrap();
        assert!(has_feature(&mut kernel, "lo", "tx-scatter-gather").unwrap());
        assert!(!has_feature(&mut kernel, "lo", "hw-tc-offload").unwrap());
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
        let ports = HardwarePorts::read(&BTreeSet::from(["lo".to_owned()]));
        core.offload_event(Event::HardwarePorts(ports));
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
