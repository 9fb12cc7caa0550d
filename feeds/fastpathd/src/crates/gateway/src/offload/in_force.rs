// SPDX-License-Identifier: GPL-2.0-or-later
//! Handles outcomes of jobs, foreign changes to the table, hosts that move, and `flush`, and
//! reports the engine in force to the flow table. Intervals and retries are in `flowtable.rs`.

use ctnetlink::{Revision, Touch};
use flows::EngineState;
use model::Engine;
use ruleset::{Applied, Plan};

use crate::api;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network::rerouted::Rerouted;
use crate::network::stations::{self, Moved};
use crate::offload::Effect;
use crate::offload::flowtable::{Job, JobFailure};
use crate::offload::revocation::RevocationReason;

fn run(job: Job) -> AnyEffect {
    AnyEffect::Offload(Effect::Run(job))
}

impl Core {
    /// Handles the outcome of a job that applies or renews the table.
    pub(crate) fn applied(&mut self, result: Result<Applied, JobFailure>) -> Vec<AnyEffect> {
        match &result {
            Ok(how) => log::info!("table inet fastpath: {how:?}"),
            Err(JobFailure { why, .. }) => {
                log::error!("failed to apply table inet fastpath, previous rules kept: {why}");
            }
        }
        let result = result.map_err(JobFailure::brief);
        let next = self.offload.flowtable.applied(result, self.now);
        self.engine_changed();
        self.answer_when_settled(next)
    }

    /// Handles the outcome of a job that verifies the table.
    pub(crate) fn verified(&mut self, in_force: bool) -> Vec<AnyEffect> {
        let removed = self.offload.flowtable.take_removed();
        if !in_force || removed {
            log::warn!("table inet fastpath was changed or removed from outside: restoring it");
        }
        let next = self.offload.flowtable.verified(in_force, self.now);
        self.engine_changed();
        self.answer_when_settled(next)
    }

    /// Returns the next job, and answers held requests for the engine if no job is left.
    fn answer_when_settled(&mut self, next: Option<Job>) -> Vec<AnyEffect> {
        let mut effects: Vec<AnyEffect> = next.into_iter().map(run).collect();
        effects.extend(self.serve_ebpf());
        effects.extend(self.answer_engine());
        effects
    }

    /// Answers held requests for the engine once neither rules nor programs are pending.
    pub(super) fn answer_engine(&self) -> Option<AnyEffect> {
        let settled = self.offload.flowtable.is_settled() && self.offload.ebpf.is_known();
        settled.then_some(AnyEffect::Api(api::Effect::AnswerEngine))
    }

    /// Handles a change of rules, perhaps by ourselves.
    pub(crate) fn rules_changed(&mut self, revision: Revision) -> Vec<AnyEffect> {
        let mut effects = vec![AnyEffect::Offload(Effect::NoteRules)];
        effects.extend(self.table_touched(revision.table));
        match self.offload.revocations.changed(revision, self.now) {
            Some(reason) => {
                effects.extend(self.read_rules(&reason));
                effects.extend(self.revoke(reason));
            }
            // Revoke offloaded flows later; all other flows have to pass the rules now.
            None if revision.elements => {
                self.conntrack.flows_mut().rules_changed(false, self.now);
                effects.extend(self.serve_ebpf());
                effects.extend(self.read_events());
            }
            None => {}
        }
        effects
    }

    /// Handles a change of our own table.
    fn table_touched(&mut self, touch: Touch) -> Vec<AnyEffect> {
        if touch == Touch::None {
            return Vec::new();
        }
        let flowtable = &mut self.offload.flowtable;
        let was_there = flowtable.in_force().is_some();
        let next = flowtable.touched(touch, self.now);
        if was_there && flowtable.in_force().is_none() {
            log::warn!("table inet fastpath was removed from outside: restoring it");
            self.engine_changed();
        }
        self.answer_when_settled(next)
    }

    /// Revokes all offloaded flows: they have to pass the changed rules before an engine offloads
    /// them again.
    pub(super) fn revoke(&mut self, reason: RevocationReason) -> Vec<AnyEffect> {
        let flows = self.conntrack.flows().offloaded();
        if flows > 0 {
            log::info!("{reason}: {flows} offloaded flows have to pass the rules again");
        }
        self.offload.revocations.note(reason, flows, self.now);
        self.conntrack.flows_mut().rules_changed(true, self.now);
        let mut effects = self.serve_ebpf();
        effects.extend(self.read_events());
        effects.extend(self.revoke_flowtable());
        effects
    }

    /// Renews the flowtable, unless it is empty.
    fn revoke_flowtable(&mut self) -> Option<AnyEffect> {
        let flows = self.conntrack.flows();
        // A table that offloads no flow replaces the table in force anyway.
        let held = self.offload.planned().is_some_and(|plan| plan.unread);
        if held || !flows.forwards(None) && flows.unlisted() == 0 {
            return None;
        }
        self.offload.flowtable.revoke(self.now).map(run)
    }

    /// Renews the flowtable after a change of routes or links, since its entries keep their routes.
    /// The eBPF engine does not need this.
    pub(crate) fn flowtable_rerouted(&mut self, rerouted: &Rerouted) -> Option<AnyEffect> {
        if !self.offload.flowtable().in_force()?.has_flowtable() {
            return None;
        }
        let flows = self.conntrack.flows();
        if !rerouted.concerns(flows) {
            return None;
        }
        let offloaded = flows.in_flowtable();
        if offloaded > 0 {
            log::info!("routes were changed: {offloaded} offloaded flows are routed again");
        }
        self.offload.revocations.note(RevocationReason::Routes, offloaded, self.now);
        self.offload.flowtable.revoke(self.now).map(run)
    }

    /// Renews the flowtable after a link's MTU has shrunk, since entries keep the MTU that they
    /// began with. The eBPF engine does not need this.
    pub(crate) fn mtu_shrunk(&mut self) -> Option<AnyEffect> {
        let has_flowtable = self.offload.flowtable().in_force()?.has_flowtable();
        if !has_flowtable || !self.conntrack.flows().forwards(None) {
            return None;
        }
        log::info!("the MTU of a link is smaller: renewing the flowtable");
        let offloaded = self.conntrack.flows().in_flowtable();
        self.offload.revocations.note(RevocationReason::Mtu, offloaded, self.now);
        self.offload.flowtable.revoke(self.now).map(run)
    }

    /// Renews the flowtable after hosts have moved, so that their flows enter it again by the
    /// present network. The eBPF engine does not need this.
    pub(crate) fn stations_moved(&mut self, moved: &[Moved]) -> Option<AnyEffect> {
        let in_force = self.offload.flowtable().in_force()?;
        let topology = self.network.topology();
        let moved: Vec<Moved> = moved
            .iter()
            .filter(|one| !stations::all_within(one, &in_force.roaming, topology))
            .copied()
            .collect();
        if moved.is_empty() || !in_force.has_flowtable() {
            return None;
        }
        let addresses = stations::addresses(&moved, topology);
        if !self.conntrack.flows().forwards(addresses.as_deref()) {
            return None;
        }
        log::info!("hosts have moved to another port: renewing the flowtable");
        let offloaded = self.conntrack.flows().in_flowtable();
        self.offload.revocations.note(RevocationReason::Stations, offloaded, self.now);
        self.offload.flowtable.renew(self.now).map(run)
    }

    /// Renews the flowtable if flows have a new route or mark. The kernel checks neither again for
    /// an entry that sends to a port directly.
    pub(crate) fn flows_strayed(&mut self) -> Option<AnyEffect> {
        if !self.conntrack.flows_mut().take_strayed()
            || !self.offload.flowtable().in_force()?.has_flowtable()
        {
            return None;
        }
        log::info!("flows are routed or marked otherwise: renewing the flowtable");
        self.offload.flowtable.renew(self.now).map(run)
    }

    /// Moves every flow to the slow path until its next packet has passed the rules. Returns true
    /// if an engine may have offloaded any.
    pub(crate) fn flush(&mut self) -> (bool, Vec<AnyEffect>) {
        let offloaded = self.conntrack.flows().offloaded();
        self.offload.revocations.note(RevocationReason::Flush, offloaded, self.now);
        let has_programs = self.offload.ebpf.remove_all(self.now);
        let has_flowtable = self.offload.flowtable().in_force().is_some_and(Plan::has_flowtable);
        let mut effects = self.serve_ebpf();
        if has_flowtable {
            effects.extend(self.offload.flowtable.renew(self.now).map(run));
        }
        (has_programs || has_flowtable, effects)
    }

    pub(crate) fn flowtable_second(&mut self) -> Vec<AnyEffect> {
        let due = self.offload.revocations.due(self.now);
        let mut effects = due.as_ref().map(|reason| self.read_rules(reason)).unwrap_or_default();
        effects.extend(due.map(|reason| self.revoke(reason)).unwrap_or_default());
        effects.extend(self.read_rules_again());
        effects.extend(self.hardware_second());
        effects.extend(self.offload.flowtable.second(self.now).map(run));
        effects
    }

    /// Reports the engine in force to the flow table.
    pub(super) fn engine_changed(&mut self) {
        let (engine, devices, left_out, shaped) = match self.offload.flowtable().in_force() {
            Some(plan) if plan.engine != Engine::Off => {
                let engine = EngineState {
                    engine: plan.engine,
                    excludes: plan.excludes.clone(),
                    roaming: plan.roaming.clone(),
                    slow_packets: plan.slow_packets,
                    passed: plan.passed().unwrap_or_default(),
                    packet_chains: plan.packet_chains.clone(),
                    unread: plan.unread || self.offload.foreign.unread(),
                };
                (engine, plan.devices.clone(), plan.left_out, plan.shaped.clone())
            }
            Some(_) | None => Default::default(),
        };
        self.network.view_mut().set_devices(devices, left_out, shaped);
        self.conntrack.flows_mut().engine(engine, self.now);
        self.inspection_changed();
    }
}

#[cfg(test)]
pub(super) mod tests;

#[cfg(test)]
mod moved_tests;
