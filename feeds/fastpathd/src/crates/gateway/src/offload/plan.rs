// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests the programs and the table of a plan.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use flows::EngineState;
use model::{Engine, PacketChain};
use ruleset::Plan;
use topology::Topology;

use crate::network::view::Scope;
use crate::offload::ebpf::AttachRequest;
use crate::offload::flowtable::Source;
use crate::offload::programs::Program;
use crate::offload::{Effect, State};

impl State {
    /// Requests programs for the plan's devices. Devices with a program leave the flowtable.
    pub(crate) fn request_programs(
        &mut self,
        plan: &mut Plan,
        hook: Option<&'static str>,
        tunnels: BTreeSet<String>,
    ) -> Option<Effect> {
        let is_ebpf = plan.engine == Engine::Ebpf;
        let ebpf = &mut self.ebpf;
        let devices = if is_ebpf { &plan.devices - &tunnels } else { BTreeSet::new() };
        if is_ebpf {
            let hook = |program: &Program| program.hook_name.to_owned();
            plan.hold(ebpf.held().map(|program| (program.device.clone(), hook(program))));
            if ebpf.held().next().is_some() {
                plan.without_tunnels(tunnels);
            }
        }
        let hook = hook.filter(|_| is_ebpf);
        ebpf.request(AttachRequest { devices, hook }).map(Effect::Attach)
    }

    /// Verifies the table after a device was recreated: the kernel removes a deleted device from
    /// the flowtable, and does not add a new one with the same name.
    pub(crate) fn verify_recreated(&mut self, plan: &Plan, topology: &Topology) {
        let index = |name: &String| Some((name.clone(), topology.link_named(name)?.index));
        let indexes: BTreeMap<String, u32> = plan.devices.iter().filter_map(index).into_map();
        let before = std::mem::replace(&mut self.indexes, indexes);
        let other = |(name, index): (&String, &u32)| before.get(name).is_some_and(|b| b != index);
        if self.indexes.iter().any(other) {
            self.flowtable.verify_soon();
        }
    }

    pub(crate) fn packet_chains(&self, plan: &Plan, topology: &Topology) -> Vec<PacketChain> {
        self.foreign.packet_chains(plan, topology)
    }

    pub(crate) fn rules_unread(&self) -> bool {
        self.foreign.unread()
    }

    /// Stores the plan. Returns a job if the plan in force has to change.
    pub(crate) fn request(&mut self, mut plan: Plan, source: Source) -> Option<Effect> {
        self.planned = Some(plan.clone());
        if !self.ebpf.is_known() {
            return None;
        }
        // Decisions are texts for the administrator, so a different text does not require nft.
        plan.decisions.clear();
        self.flowtable.request(plan, source).map(Effect::Run)
    }

    pub(crate) fn verify_soon(&mut self) {
        self.flowtable.verify_soon();
    }

    /// Returns the engine in force and the scope of its rules.
    pub(crate) fn engine(&self) -> (EngineState, Scope) {
        match self.flowtable.in_force() {
            Some(plan) if plan.engine != Engine::Off => {
                let engine = EngineState {
                    engine: plan.engine,
                    left_out: plan.left_out,
                    excludes: plan.excludes.clone(),
                    roaming: plan.roaming.clone(),
                    limited: plan.limited_addresses(),
                    slow_packets: plan.slow_packets,
                    passed: plan.passed().unwrap_or_default(),
                    packet_chains: plan.packet_chains.clone(),
                    unread: plan.unread || self.foreign.unread(),
                };
                let scope = Scope {
                    devices: plan.devices.clone(),
                    shaped: plan.shaped.clone(),
                    encapsulated: plan.encapsulated.clone(),
                };
                (engine, scope)
            }
            Some(_) | None => Default::default(),
        }
    }
}
