// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's part about eBPF: which devices get programs, and that whatever happens to flows
//! reaches those that are carried.

use std::collections::BTreeSet;

use config::order;
use ebpf::endpoint::Change;
use flows::{Offer, Reason};
use ruleset::{Engine, Plan};

use crate::core::{Core, Effect};
use crate::ebpf_room::{Attached, Program, Served, Wanted, liberal};

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

    /// Does what the table of flows wishes.
    pub(crate) fn serve_ebpf(&mut self) -> Vec<Effect> {
        let Served { upkeep, free, renew } =
            self.ebpf.serve(&mut self.flows, &self.around, self.now);
        let mut effects = Vec::new();
        if !free.is_empty() {
            effects.push(Effect::Free(free));
        }
        let bits = self.room.in_force().and_then(Plan::passed).map(|[a, b]| a | b);
        if let (Some(bits), false) = (bits, renew.is_empty()) {
            effects.push(Effect::Renew(renew, bits));
        }
        if !upkeep.is_empty() {
            effects.push(Effect::Keep(upkeep));
        }
        effects
    }

    /// The marks of these connections are cleared; they may have passed the rules since.
    pub(crate) fn distrusted(&mut self, offers: &[Offer]) -> Vec<Effect> {
        for offer in offers {
            self.flows.renewed(offer.id);
        }
        vec![Effect::LookUp(offers.iter().map(|offer| (offer.zone, offer.orig)).collect())]
    }

    /// Conntrack does not mind the windows of these connections any more, or could not be told. It
    /// is told once more of those that are carried now: until then it has noted acknowledgements,
    /// and it would not believe a RST that follows on later ones.
    pub(crate) fn freed(&mut self, offers: &[Offer], told: bool) -> Vec<Effect> {
        let mut taken = Vec::new();
        for offer in offers {
            if told {
                if self.ebpf.answer(offer, &mut self.flows, &self.around, self.now) {
                    taken.push(liberal(offer));
                }
            } else if self.flows.awaits(offer.id) {
                self.flows.taken(offer.id, Err(Reason::NotTaken), self.now);
            }
        }
        let mut effects = self.serve_ebpf();
        if !taken.is_empty() {
            effects.push(Effect::Keep(taken));
        }
        effects
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
