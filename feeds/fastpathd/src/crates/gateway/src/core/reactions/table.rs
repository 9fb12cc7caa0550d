// SPDX-License-Identifier: GPL-2.0-or-later
//! Handles outcomes of jobs and changes of rules, and revokes offloaded flows.

use ctnetlink::{Revision, Touch};
use ruleset::Applied;

use crate::api;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::flowtable::JobFailure;
use crate::offload::hardware::HardwarePorts;
use crate::offload::revocation::RevocationReason;
use crate::offload::{Effect, Event};

impl Core {
    pub(crate) fn offload_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::RulesChanged(revision) => self.rules_changed(revision),
            Event::RulesRead(result) => self.rules_read(result),
            Event::PoliciesChanged => self.revoke(RevocationReason::Ipsec),
            Event::ForwardingStopped => self.revoke(RevocationReason::Forwarding),
            Event::Applied(result) => self.applied(result),
            Event::HardwarePorts(ports) => {
                self.hardware_ports(ports);
                Vec::new()
            }
            Event::BridgeFlowtable(found) => {
                self.offload.set_bridge_flowtable(found);
                Vec::new()
            }
            Event::Attached(result) => self.attached(*result),
            Event::Step => {
                self.offload.step_begins();
                self.step()
            }
        }
    }

    pub(crate) fn applied(&mut self, result: Result<Applied, JobFailure>) -> Vec<AnyEffect> {
        let before = self.paused_in_force().cloned();
        let (next, is_restored) = self.offload.applied(result, self.now);
        self.engine_changed();
        let mut effects = self.answer_when_settled(next);
        effects.extend(self.end_paused());
        // The flowtable may have flows that are not listed.
        if self.paused_in_force() != before.as_ref() && self.conntrack.flows().unlisted() > 0 {
            effects.extend(self.offload.revoke(self.conntrack.flows(), self.now).map(Into::into));
        }
        if is_restored {
            // Flows may have passed the changed rules.
            effects.extend(self.revoke(RevocationReason::Rules));
        }
        effects
    }

    fn answer_when_settled(&mut self, next: Option<Effect>) -> Vec<AnyEffect> {
        let mut effects: Vec<AnyEffect> = next.into_iter().map(Into::into).collect();
        effects.extend(self.step());
        effects.extend(self.answer_engine());
        effects
    }

    /// Answers pending `engine` requests once neither rules nor programs are pending.
    pub(super) fn answer_engine(&self) -> Option<AnyEffect> {
        self.offload.is_settled().then_some(AnyEffect::Api(api::Effect::AnswerEngine))
    }

    /// Handles a change of nftables rules by the daemon or by another program.
    pub(crate) fn rules_changed(&mut self, revision: Revision) -> Vec<AnyEffect> {
        let mut effects = vec![AnyEffect::Offload(Effect::SaveGeneration)];
        effects.extend(self.table_touched(revision.table));
        match self.offload.revocation(revision, self.now) {
            Some(reason) => {
                effects.extend(self.read_rules(&reason));
                effects.extend(self.revoke(reason));
            }
            // Offloaded flows are revoked later; all other flows have to pass the rules now.
            None if revision.elements => {
                self.conntrack.flows_mut().rules_changed(false, self.now);
                effects.extend(self.serve_ebpf());
                effects.extend(self.conntrack.read_events().map(AnyEffect::from));
            }
            None => {}
        }
        effects
    }

    fn table_touched(&mut self, touch: Touch) -> Vec<AnyEffect> {
        if touch == Touch::None {
            return Vec::new();
        }
        let (next, is_removed) = self.offload.touched(touch, self.now);
        if is_removed {
            self.engine_changed();
        }
        self.answer_when_settled(next)
    }

    /// Revokes all offloaded flows: they have to pass the changed rules again.
    pub(super) fn revoke(&mut self, reason: RevocationReason) -> Vec<AnyEffect> {
        self.offload.note_revoked(reason, self.conntrack.flows(), self.now);
        // First, so that nothing is forwarded by older rules from now on.
        self.offload.ebpf_mut().revoke(self.now);
        self.conntrack.flows_mut().rules_changed(true, self.now);
        let mut effects = self.step();
        effects.extend(self.conntrack.read_events().map(AnyEffect::from));
        let renewal = self.offload.revoke(self.conntrack.flows(), self.now);
        effects.extend(renewal.map(AnyEffect::from));
        effects
    }

    pub(crate) fn flows_strayed(&mut self) -> Option<AnyEffect> {
        if !self.conntrack.flows_mut().take_strayed() {
            return None;
        }
        self.offload.strayed(self.now).map(AnyEffect::from)
    }

    /// Moves every flow to the slow path until its next packet has passed the rules. Returns true
    /// if an engine may have offloaded any.
    pub(crate) fn flush(&mut self) -> (bool, Vec<AnyEffect>) {
        let [has_programs, has_flowtable] = self.offload.flush(self.conntrack.flows(), self.now);
        let mut effects = self.serve_ebpf();
        if has_flowtable {
            effects.extend(self.offload.renew(self.now).map(AnyEffect::from));
        }
        (has_programs || has_flowtable, effects)
    }

    pub(crate) fn flowtable_second(&mut self) -> Vec<AnyEffect> {
        let due = self.offload.delayed_revocation(self.now);
        let mut effects = due.as_ref().map(|reason| self.read_rules(reason)).unwrap_or_default();
        effects.extend(due.map(|reason| self.revoke(reason)).unwrap_or_default());
        effects.extend(self.offload.read_rules(self.now).map(AnyEffect::from));
        effects.extend(self.hardware_second());
        effects.extend(self.offload.second(self.now).map(AnyEffect::from));
        effects
    }

    /// Sets the ports of a table that has been applied or verified.
    fn hardware_ports(&mut self, ports: Option<HardwarePorts>) {
        self.network.view_mut().set_hardware(ports.as_ref().map(|ports| ports.able.clone()));
        self.offload.set_hardware_ports(ports);
    }

    /// Replans the queues when hardware offload, which bypasses them, starts or stops.
    fn hardware_second(&mut self) -> Option<AnyEffect> {
        if !self.offload.hardware_second(self.conntrack.flows()) {
            return None;
        }
        self.plan_latency()
    }

    /// Reports the engine in force to the flow table.
    pub(super) fn engine_changed(&mut self) {
        let (engine, scope) = self.offload.engine();
        self.network.view_mut().set_scope(scope);
        self.conntrack.flows_mut().engine(engine, self.now);
        self.inspection_changed();
    }
}

#[cfg(test)]
mod moved_tests;
#[cfg(test)]
mod switches_tests;
#[cfg(test)]
pub(super) mod tests;
