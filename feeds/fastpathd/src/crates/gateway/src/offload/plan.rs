// SPDX-License-Identifier: GPL-2.0-or-later
//! Replans the offload whenever configuration, network or inspection change, and requests programs.
//! `crates/ruleset/src/plan.rs` selects the devices that `crates/topology/src/lowest.rs` finds.

use std::collections::{BTreeMap, BTreeSet};

use model::Engine;
use ruleset::{Candidate, Plan};
use topology::{Mac, Name};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::Effect;
use crate::offload::Program;
use crate::offload::ebpf::AttachRequest;

impl Core {
    /// Makes a new plan. Returns a job if the plan in force has to change.
    pub(crate) fn replan(&mut self) -> Vec<AnyEffect> {
        let (Some((settings, source)), true) =
            (self.configuration.effective(), self.network.is_known())
        else {
            return Vec::new();
        };
        // Instruct Suricata first: this sets the number of queues, which the rules need, by the CPU
        // plan.
        let mut effects: Vec<AnyEffect> = self.instruct().into_iter().collect();
        effects.extend(self.plan_latency());
        let topology = self.network.topology();
        let candidates: Vec<Candidate> = topology
            .lowest()
            .into_iter()
            .map(|d| Candidate { device: d.device.to_string(), eligible: d.eligible, why: d.why })
            .collect();
        let protection = self.ips.inspection().plan(&self.network.places());
        let mut plan = ruleset::plan(&candidates, &settings, &protection);
        plan.shape(topology.shaped().into_keys().map(|name| name.to_string()));
        let texts = |names: BTreeSet<Name>| names.into_iter().map(|name| name.to_string());
        let listed: BTreeSet<String> = texts(topology.tunnels(true)).collect();
        let tunnels = listed.iter().cloned().chain(texts(topology.tunnels(false)));
        let tunnels: Vec<String> = tunnels.collect();
        effects.extend(self.request_programs(&mut plan, settings.hook, listed));
        plan.tunnel(tunnels);
        self.see_returned(&plan);
        plan.packet_chains = self.packet_chains(&plan);
        plan.unread = plan.engine != Engine::Off && self.offload.foreign.unread();
        plan.ipsec = self.sys.machine().ipsec;
        let topology = self.network.topology();
        let own = |device: &String| topology.own_macs(device).iter().map(Mac::to_string).collect();
        let own = plan.devices.iter().map(|device| (device.clone(), own(device)));
        plan.address(own.collect::<Vec<_>>());
        if plan.has_flowtable() {
            plan.roaming.clone_from(self.network.roaming());
        }
        self.offload.planned = Some(plan.clone());
        if !self.offload.ebpf.is_known() {
            return effects;
        }
        // The decisions are texts for the administrator: nft need not run for another text.
        plan.decisions.clear();
        let job = self.offload.flowtable.request(plan, source);
        effects.extend(job.map(Effect::Run).map(AnyEffect::Offload));
        effects
    }

    /// Requests programs for the plan's devices, and removes devices with a program from the
    /// flowtable.
    fn request_programs(
        &mut self,
        plan: &mut Plan,
        hook: Option<&'static str>,
        tunnels: BTreeSet<String>,
    ) -> Option<AnyEffect> {
        let is_ebpf = plan.engine == Engine::Ebpf;
        let ebpf = &mut self.offload.ebpf;
        let devices = if is_ebpf { &plan.devices - &tunnels } else { BTreeSet::new() };
        if is_ebpf {
            let hook = |program: &Program| program.hook_name.to_owned();
            plan.hold(ebpf.held().map(|program| (program.device.clone(), hook(program))));
            if ebpf.held().next().is_some() {
                plan.without_tunnels(tunnels);
            }
        }
        let hook = hook.filter(|_| is_ebpf);
        let request = ebpf.request(AttachRequest { devices, hook });
        request.map(Effect::Attach).map(AnyEffect::Offload)
    }

    /// Verifies the table after a device was recreated: the kernel removes a deleted device from
    /// the flowtable, and does not add a new one with the same name.
    fn see_returned(&mut self, plan: &Plan) {
        let topology = self.network.topology();
        let index = |name: &String| Some((name.clone(), topology.link_named(name)?.index));
        let indexes: BTreeMap<String, u32> = plan.devices.iter().filter_map(index).collect();
        let before = std::mem::replace(&mut self.offload.indexes, indexes);
        let other = |(name, index): (&String, &u32)| before.get(name).is_some_and(|b| b != index);
        if self.offload.indexes.iter().any(other) {
            self.offload.flowtable.verify_soon();
        }
    }

    /// Sets the engine until the file names another one. The caller's answer follows with
    /// [`AnswerEngine`](crate::api::Effect::AnswerEngine).
    pub(crate) fn command(&mut self, engine: Engine) -> Vec<AnyEffect> {
        self.configuration.command(engine);
        let mut effects = self.replan();
        self.offload.flowtable.verify_soon();
        effects.extend(self.answer_engine());
        effects
    }
}
