// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's part about eBPF: which devices get programs, and that whatever happens to flows
//! reaches those that are carried.

use std::collections::BTreeSet;

use config::order;
use ebpf::ground::Change;
use ruleset::{Engine, Plan};

use crate::core::{Core, Effect};
use crate::ebpf_room::{Attached, Program, Wanted};

impl Core {
    /// Has devices given programs or taken from them, and leaves those that have one out of the
    /// flowtable.
    pub(crate) fn want_programs(
        &mut self,
        plan: &mut Plan,
        hook: Option<&'static str>,
    ) -> Option<Effect> {
        let ebpf = plan.engine == Engine::Ebpf;
        let devices = if ebpf { plan.devices.clone() } else { BTreeSet::new() };
        if ebpf {
            let words = |program: &Program| format!("held by eBPF ({})", program.word);
            plan.hold(self.ebpf.held().map(|program| (program.device.clone(), words(program))));
        }
        let hook = hook.filter(|_| ebpf);
        self.ebpf.want(Wanted { devices, hook }).map(Effect::Attach)
    }

    /// What became of the programs.
    pub(crate) fn attached(&mut self, result: Result<Attached, String>) -> Vec<Effect> {
        self.ebpf.attached(result, self.now);
        let held = order::set(self.ebpf.held().map(|program| program.device.clone()));
        self.around.set_programs(held.clone());
        self.room.hold(held, self.ebpf.why());
        self.ebpf.reprogrammed(&self.around, self.now);
        let mut effects: Vec<Effect> = self.serve_ebpf().into_iter().collect();
        effects.extend(self.replan());
        effects
    }

    /// The network is another one since `news`.
    pub(crate) fn rerouted(&mut self, news: &[Change]) -> Option<Effect> {
        self.ebpf.changed(news, &self.around, self.now);
        self.serve_ebpf()
    }

    /// Once a second.
    pub(crate) fn ebpf_tick(&mut self) -> Vec<Effect> {
        self.ebpf.set_timeouts(self.facts.timeouts);
        self.ebpf.tick(self.now);
        let mut effects: Vec<Effect> = self.serve_ebpf().into_iter().collect();
        if self.ebpf.retries(self.now) {
            effects.extend(self.replan());
        }
        effects
    }

    /// Does what the table of flows wishes.
    pub(crate) fn serve_ebpf(&mut self) -> Option<Effect> {
        let upkeep = self.ebpf.serve(&mut self.flows, &self.around, self.now);
        (!upkeep.is_empty()).then_some(Effect::Keep(upkeep))
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
