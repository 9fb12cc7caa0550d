// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans the offload again whenever configuration, network or inspection change, and requests
//! programs. Which devices are in the plan is decided in `crates/ruleset/src/plan.rs`, which ones
//! can be in `crates/topology/src/lowest.rs`.

use std::collections::BTreeSet;

use model::Engine;
use ruleset::{Candidate, Plan};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::Effect;
use crate::offload::Program;
use crate::offload::ebpf::AttachRequest;

impl Core {
    /// Makes a new plan, and a job if the plan in force has to change.
    pub(crate) fn replan(&mut self) -> Vec<AnyEffect> {
        let (Some((settings, source)), true) =
            (self.configuration.effective(), self.network.is_known())
        else {
            return Vec::new();
        };
        // The number of queues comes from the CPU plan, for both.
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
        plan.tunnel(topology.tunnels().into_iter().map(|name| name.to_string()));
        effects.extend(self.request_programs(&mut plan, settings.hook));
        self.offload.planned = Some(plan.clone());
        if !self.offload.ebpf.is_known() {
            return effects;
        }
        // Only texts for the administrator: another text does not require nft to run.
        plan.decisions.clear();
        let job = self.offload.flowtable.request(plan, source);
        effects.extend(job.map(Effect::Run).map(AnyEffect::Offload));
        effects
    }

    /// Requests programs for the plan's devices, and leaves those that have one out of the
    /// flowtable.
    fn request_programs(
        &mut self,
        plan: &mut Plan,
        hook: Option<&'static str>,
    ) -> Option<AnyEffect> {
        let is_ebpf = plan.engine == Engine::Ebpf;
        let ebpf = &mut self.offload.ebpf;
        let devices = if is_ebpf { plan.devices.clone() } else { BTreeSet::new() };
        if is_ebpf {
            let hook = |program: &Program| program.hook_name.to_owned();
            plan.hold(ebpf.held().map(|program| (program.device.clone(), hook(program))));
        }
        let hook = hook.filter(|_| is_ebpf);
        let request = ebpf.request(AttachRequest { devices, hook });
        request.map(Effect::Attach).map(AnyEffect::Offload)
    }

    /// Chooses the engine until the configuration says something new. The answer to the caller
    /// follows with [`AnswerEngine`](crate::bus::Effect::AnswerEngine).
    pub(crate) fn command(&mut self, engine: Engine) -> Vec<AnyEffect> {
        self.configuration.command(engine);
        let mut effects = self.replan();
        self.offload.flowtable.verify_soon();
        effects.extend(self.answer_engine());
        effects
    }
}
