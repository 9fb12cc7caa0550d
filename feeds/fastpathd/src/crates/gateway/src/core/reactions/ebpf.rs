// SPDX-License-Identifier: GPL-2.0-or-later
//! Connects the eBPF engine to the core, and requests its updates of conntrack.

use ebpf::dependency::DependencyChange;
use ebpf::engine::STEP;
use ruleset::Plan;

use crate::conntrack;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::Effect;
use crate::offload::ebpf::{AttachOutcome, Served, without_window_tracking};
use crate::offload::programs::ProgramsReason;

impl Core {
    pub(crate) fn attached(
        &mut self,
        result: Result<AttachOutcome, ProgramsReason>,
    ) -> Vec<AnyEffect> {
        let (held, next) = self.offload.attached(result, self.now);
        self.network.view_mut().set_programs(held);
        self.offload.ebpf_mut().programs_changed(self.network.view(), self.now);
        let mut effects: Vec<AnyEffect> = next.into_iter().map(Into::into).collect();
        effects.extend(self.step());
        effects.extend(self.replan());
        effects.extend(self.answer_engine());
        effects
    }

    pub(crate) fn dependencies_changed(&mut self, changes: &[DependencyChange]) -> Vec<AnyEffect> {
        let (network, now) = (self.network.view(), self.now);
        let request = self.offload.ebpf_mut().changed(changes, network, now);
        let mut effects: Vec<AnyEffect> =
            request.map(Effect::Attach).map(Into::into).into_iter().collect();
        effects.extend(self.serve_ebpf());
        effects
    }

    pub(crate) fn ebpf_second(&mut self) -> Vec<AnyEffect> {
        self.offload.ebpf_mut().set_timeouts(self.sys.facts().timeouts);
        self.offload.ebpf_mut().second(self.now);
        let mut effects = self.serve_ebpf();
        let retry = self.offload.ebpf_mut().retry(self.now).map(Effect::Attach);
        effects.extend(retry.map(AnyEffect::from));
        effects
    }

    /// Judges some flows by changed rules, then finds or removes some entries of the maps.
    pub(crate) fn step(&mut self) -> Vec<AnyEffect> {
        let mut more = self.conntrack.flows_mut().judge_some(STEP, self.now);
        if !more {
            more = self.offload.ebpf_mut().step(self.now);
        }
        let mut effects = self.serve_ebpf();
        effects.extend(self.offload.next_step(more).map(AnyEffect::from));
        effects
    }

    /// Executes the flow table's requests to the eBPF engine.
    pub(crate) fn serve_ebpf(&mut self) -> Vec<AnyEffect> {
        use conntrack::Effect::{ClearMarks, Confirm, Update};
        let flows = self.conntrack.flows_mut();
        let Served { extend, confirm, clear, started } =
            self.offload.ebpf_mut().serve(flows, self.network.view(), self.now);
        let (version, start) = (flows.rules(), flows.reading_start());
        let mut effects = Vec::new();
        if !confirm.is_empty() {
            effects.push(Confirm(confirm, start));
        }
        let bits = self.offload.flowtable().in_force().and_then(Plan::passed).map(|[a, b]| a | b);
        if let (Some(bits), false) = (bits, clear.is_empty()) {
            effects.push(ClearMarks(clear, bits, version));
        }
        if !extend.is_empty() {
            effects.push(Update(extend));
        }
        // Disable window tracking again: until a connection starts, conntrack records
        // acknowledgements, and would reject a RST that follows later acknowledgements.
        if !started.is_empty() {
            effects.push(Update(started.iter().map(without_window_tracking).collect()));
        }
        effects.into_iter().map(AnyEffect::Conntrack).collect()
    }
}

#[cfg(test)]
mod tests;
