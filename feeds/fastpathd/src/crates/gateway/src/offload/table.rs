// SPDX-License-Identifier: GPL-2.0-or-later
//! Handles outcomes of jobs and foreign changes to the table, and revokes offloaded flows.

use ctnetlink::{Revision, Touch};
use flows::{FlowTable, Now};
use ruleset::{Applied, Plan};
use topology::Topology;

use crate::network::rerouted::Rerouted;
use crate::network::stations::{self, Moved};
use crate::offload::flowtable::JobFailure;
use crate::offload::revocation::RevocationReason;
use crate::offload::{Effect, State};

impl State {
    /// Returns the next job, and true if another program had changed the table in force.
    pub(crate) fn applied(
        &mut self,
        result: Result<Applied, JobFailure>,
        now: Now,
    ) -> (Option<Effect>, bool) {
        let mut is_restored = false;
        match &result {
            Ok(how) => {
                // The kernel removes a deleted device from the flowtable, which changes no rule.
                let rules_changed = !matches!(how, Applied::Unchanged | Applied::Devices);
                is_restored = self.flowtable.is_verifying() && rules_changed;
                if is_restored {
                    log::warn!("table inet fastpath was changed or removed from outside: restored");
                } else if *how != Applied::Unchanged {
                    log::info!("table inet fastpath: {how:?}");
                }
                is_restored |= std::mem::take(&mut self.is_damaged);
            }
            Err(JobFailure { why, left, .. }) => {
                log::error!("failed to apply the rules: {why}");
                self.is_damaged |= self.flowtable.is_damaged(*left);
            }
        }
        let result = result.map_err(JobFailure::brief);
        (self.flowtable.applied(result, now).map(Effect::Run), is_restored)
    }

    /// Handles a change of our own table. Returns the next job, and true if the table was removed.
    pub(crate) fn touched(&mut self, touch: Touch, now: Now) -> (Option<Effect>, bool) {
        let was_there = self.flowtable.in_force().is_some();
        let next = self.flowtable.touched(touch, now);
        let is_removed = was_there && self.flowtable.in_force().is_none();
        if is_removed {
            log::warn!("table inet fastpath was removed from outside: restoring it");
        }
        (next.map(Effect::Run), is_removed)
    }

    pub(crate) fn second(&mut self, now: Now) -> Option<Effect> {
        self.flowtable.second(now).map(Effect::Run)
    }

    pub(crate) fn revocation(&mut self, revision: Revision, now: Now) -> Option<RevocationReason> {
        self.revocations.changed(revision, now)
    }

    pub(crate) fn delayed_revocation(&mut self, now: Now) -> Option<RevocationReason> {
        self.revocations.due(now)
    }

    pub(crate) fn note_revoked(&mut self, reason: RevocationReason, flows: &FlowTable, now: Now) {
        let flows = flows.offloaded();
        if flows > 0 {
            log::info!("{reason}: {flows} offloaded flows have to pass the rules again");
        }
        self.revocations.note(reason, flows, now);
    }

    /// Renews the flowtable, unless it is empty.
    pub(crate) fn revoke(&mut self, flows: &FlowTable, now: Now) -> Option<Effect> {
        // While rules are unread, a table that offloads no flow replaces the table in force.
        let is_unread = self.planned.as_ref().is_some_and(|plan| plan.unread);
        if is_unread || !flows.forwards(None) && flows.unlisted() == 0 {
            return None;
        }
        self.flowtable.revoke(now).map(Effect::Run)
    }

    /// Renews the flowtable after changed routes or links, since its entries keep their routes.
    pub(crate) fn rerouted(
        &mut self,
        rerouted: &Rerouted,
        flows: &FlowTable,
        now: Now,
    ) -> Option<Effect> {
        if !self.flowtable.in_force()?.has_flowtable() || !rerouted.concerns(flows) {
            return None;
        }
        let offloaded = flows.in_flowtable();
        if offloaded > 0 {
            log::info!("routes were changed: {offloaded} offloaded flows are routed again");
        }
        self.revocations.note(RevocationReason::Routes, offloaded, now);
        self.flowtable.revoke(now).map(Effect::Run)
    }

    /// Renews the flowtable after a link's MTU has shrunk, since its entries keep their MTU.
    pub(crate) fn mtu_shrunk(&mut self, flows: &FlowTable, now: Now) -> Option<Effect> {
        let has_flowtable = self.flowtable.in_force()?.has_flowtable();
        if !has_flowtable || !flows.forwards(None) {
            return None;
        }
        log::info!("the MTU of a link is smaller: renewing the flowtable");
        self.revocations.note(RevocationReason::Mtu, flows.in_flowtable(), now);
        self.flowtable.revoke(now).map(Effect::Run)
    }

    /// Renews the flowtable after hosts have moved, since its entries keep their ports.
    pub(crate) fn stations_moved(
        &mut self,
        moved: &[Moved],
        topology: &Topology,
        flows: &FlowTable,
        now: Now,
    ) -> Option<Effect> {
        let in_force = self.flowtable.in_force()?;
        let moved: Vec<Moved> = moved
            .iter()
            .filter(|one| !stations::all_within(one, &in_force.roaming, topology))
            .copied()
            .collect();
        if moved.is_empty() || !in_force.has_flowtable() {
            return None;
        }
        let addresses = stations::addresses(&moved, topology);
        if !flows.forwards(addresses.as_deref()) {
            return None;
        }
        log::info!("hosts have moved to another port: renewing the flowtable");
        self.revocations.note(RevocationReason::Stations, flows.in_flowtable(), now);
        self.flowtable.renew(now).map(Effect::Run)
    }

    /// Renews the flowtable because flows have a new route or mark. The kernel checks neither again
    /// for an entry that sends to a port directly.
    pub(crate) fn strayed(&mut self, now: Now) -> Option<Effect> {
        if !self.flowtable.in_force()?.has_flowtable() {
            return None;
        }
        log::info!("flows are routed or marked otherwise: renewing the flowtable");
        self.flowtable.renew(now).map(Effect::Run)
    }

    pub(crate) fn step_begins(&mut self) {
        self.is_stepping = false;
    }

    /// Returns the request for the next step if there is `more` work, unless one is pending.
    pub(crate) fn next_step(&mut self, more: bool) -> Option<Effect> {
        (more && !std::mem::replace(&mut self.is_stepping, true)).then_some(Effect::Step)
    }

    /// Removes all flows from the programs. Returns true if programs may have forwarded flows, and
    /// true if there is a flowtable to renew.
    pub(crate) fn flush(&mut self, flows: &FlowTable, now: Now) -> [bool; 2] {
        self.revocations.note(RevocationReason::Flush, flows.offloaded(), now);
        let has_programs = self.ebpf.remove_all(now);
        [has_programs, self.flowtable.in_force().is_some_and(Plan::has_flowtable)]
    }

    pub(crate) fn renew(&mut self, now: Now) -> Option<Effect> {
        self.flowtable.renew(now).map(Effect::Run)
    }
}
