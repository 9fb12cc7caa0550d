// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::BTreeSet;

use ruleset::{Applied, ForeignRules};
use serde_json::json;

use super::*;
use crate::fixture::{ask, running};
use crate::offload::flowtable::Job;
use crate::offload::hardware::HardwarePorts;
use crate::offload::{Effect, Event};

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
