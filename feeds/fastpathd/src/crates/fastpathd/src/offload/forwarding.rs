// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's part about eBPF: which devices get programs, and that whatever happens to flows
//! reaches those that are carried.

use std::collections::BTreeSet;

use config::order;
use ebpf::ground::Change;
use flows::Connection;
use ruleset::{Engine, Plan};

use crate::core::{Core, Effect};
use crate::offload::ebpf::{Attached, Program, Served, Wanted, without_window_tracking};

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
        let mut effects = self.serve_ebpf();
        effects.extend(self.replan());
        effects.extend(self.engine_answer());
        effects
    }

    /// The network is another one since `news`.
    pub(crate) fn rerouted(&mut self, news: &[Change]) -> Vec<Effect> {
        self.ebpf.changed(news, &self.around, self.now);
        self.serve_ebpf()
    }

    /// Once a second.
    pub(crate) fn ebpf_tick(&mut self) -> Vec<Effect> {
        self.ebpf.set_timeouts(self.facts.timeouts);
        self.ebpf.tick(self.now);
        let mut effects = self.serve_ebpf();
        if self.ebpf.retries(self.now) {
            effects.extend(self.replan());
        }
        effects
    }

    /// Carries out what the flow table requests of the eBPF engine.
    pub(crate) fn serve_ebpf(&mut self) -> Vec<Effect> {
        let Served { extend, prepare, clear, installed } =
            self.ebpf.serve(&mut self.flows, &self.around, self.now);
        let mut effects = Vec::new();
        if !prepare.is_empty() {
            effects.push(Effect::Free(prepare));
        }
        let bits = self.room.in_force().and_then(Plan::passed).map(|[a, b]| a | b);
        if let (Some(bits), false) = (bits, clear.is_empty()) {
            effects.push(Effect::Renew(clear, bits));
        }
        if !extend.is_empty() {
            effects.push(Effect::Keep(extend));
        }
        // Once more: until a connection is carried, conntrack notes acknowledgements, and it would
        // reject a RST that follows later ones.
        if !installed.is_empty() {
            effects.push(Effect::Keep(installed.iter().map(without_window_tracking).collect()));
        }
        effects
    }

    /// The marks of these connections are cleared; they may have passed the rules since.
    pub(crate) fn marks_cleared(&mut self, connections: &[Connection]) -> Vec<Effect> {
        for connection in connections {
            self.flows.mark_cleared(connection.id);
        }
        vec![Effect::LookUp(connections.iter().map(|one| (one.zone, one.orig)).collect())]
    }

    /// Conntrack has disabled window tracking of these connections, or could not.
    pub(crate) fn window_tracking(
        &mut self,
        connections: &[Connection],
        disabled: bool,
    ) -> Vec<Effect> {
        for connection in connections {
            self.flows.window_tracking(connection.id, disabled, self.now);
        }
        self.serve_ebpf()
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
