// SPDX-License-Identifier: GPL-2.0-or-later
//! Replans the offload whenever configuration, network or inspection change, and requests programs.
//! `crates/ruleset/src/plan.rs` selects the devices that `crates/topology/src/lowest.rs` finds.

use config::sort::Collect;
use std::collections::BTreeSet;

use model::Engine;
use ruleset::{Candidate, Plan};
use topology::{Mac, Name, Topology};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;

impl Core {
    /// Makes a new plan. Returns a job if the plan in force has to change.
    pub(crate) fn replan(&mut self) -> Vec<AnyEffect> {
        let known = self.network.is_known() && self.devices.pauses_known();
        let (Some((settings, source)), true) = (self.configuration.effective(), known) else {
            return Vec::new();
        };
        // Instruct Suricata first: this sets the number of queues, which the rules need.
        let mut effects: Vec<AnyEffect> = self.instruct().into_iter().collect();
        effects.extend(self.plan_latency());
        let topology = self.network.topology();
        let protection = self.ips.inspection().plan(&self.network.segments());
        let mut plan = ruleset::plan(&candidates(topology), &settings, &protection);
        plan.shape(topology.shaped().into_keys().map(|name| name.to_string()));
        let texts = |names: BTreeSet<Name>| names.into_iter().map(|name| name.to_string());
        let listed: BTreeSet<String> = texts(topology.tunnels(true)).into_set();
        let tunnels = listed.iter().cloned().chain(texts(topology.tunnels(false)));
        let tunnels: Vec<String> = tunnels.collect();
        let programs = self.offload.request_programs(&mut plan, settings.hook, listed);
        effects.extend(programs.map(AnyEffect::from));
        plan.tunnel(tunnels);
        let encapsulated = topology.encapsulated().into_iter();
        plan.encapsulate(
            encapsulated.map(|(top, stack)| (top.to_string(), texts(stack).into_set())),
        );
        self.offload.verify_recreated(&plan, topology);
        plan.packet_chains = self.offload.packet_chains(&plan, topology);
        plan.unread = plan.engine != Engine::Off && self.offload.rules_unread();
        plan.ipsec = self.sys.machine().ipsec;
        plan.paused = self.devices.paused().cloned();
        plan.hosts = self.devices.host_rules().to_vec();
        address(&mut plan, topology);
        if plan.has_flowtable() {
            plan.roaming.clone_from(self.network.roaming());
        }
        effects.extend(self.offload.request(plan, source).map(AnyEffect::from));
        effects
    }

    /// [`AnswerEngine`](crate::api::Effect::AnswerEngine) answers the caller later.
    pub(crate) fn command(&mut self, engine: Engine) -> Vec<AnyEffect> {
        self.configuration.command(engine);
        let mut effects = self.replan();
        self.offload.verify_soon();
        effects.extend(self.answer_engine());
        effects
    }
}

fn candidates(topology: &Topology) -> Vec<Candidate> {
    topology
        .lowest()
        .into_iter()
        .map(|d| Candidate { device: d.device.to_string(), eligible: d.eligible, why: d.why })
        .collect()
}

/// Adds the router's own MACs of each device.
fn address(plan: &mut Plan, topology: &Topology) {
    let own = |device: &String| topology.own_macs(device).iter().map(Mac::to_string).into_set();
    let own = plan.devices.iter().map(|device| (device.clone(), own(device)));
    plan.address(own.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests;
