// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds queueing disciplines that flows would bypass, and programs that lost their clsact.

use std::collections::BTreeSet;

use ::ebpf::dependency::{Dependency, DependencyChange, Endpoint};
use ::ebpf::entry_side::Hook;
use flows::Now;
use topology::{QueueUse, Topology, bypassed_queue};

use super::{AttachRequest, EbpfEngine};
use crate::offload::programs::Program;
use crate::reconcile::Job;

impl EbpfEngine {
    pub(crate) fn set_feeds_cake(&mut self, devices: BTreeSet<u32>, topology: &Topology, now: Now) {
        if devices != self.feeds_cake {
            self.feeds_cake = devices;
            self.set_queues(topology, now);
        }
    }

    #[cfg(test)]
    pub(crate) fn feeds_cake(&self) -> &BTreeSet<u32> {
        &self.feeds_cake
    }

    /// Updates the administrator's queueing disciplines. Excludes a clsact with one of our programs
    /// or with our CAKE filters, which redirected packets pass at egress.
    pub(super) fn set_queues(&mut self, topology: &Topology, now: Now) {
        let mut shaped = Vec::new();
        for queue in topology.queues() {
            let name = topology.link(queue.index).map(|link| &*link.name);
            let ours = |program: &Program| {
                Some(&*program.device) == name && program.hook_name == &*queue.kind
            };
            let feeds = &*queue.kind == "clsact" && self.feeds_cake.contains(&queue.index);
            if !feeds && !self.programs.iter().any(ours) {
                shaped.push(queue.clone());
            }
        }
        let before = std::mem::replace(&mut self.shaped, shaped);
        let (old, new) = (before.iter(), self.shaped.iter());
        let differ = old
            .filter(|one| !self.shaped.contains(one))
            .chain(new.filter(|one| !before.contains(one)));
        let touched: Vec<DependencyChange> = differ
            .map(|queue| DependencyChange::Dependency(Dependency::Link(queue.index)))
            .collect();
        // The endpoints are unchanged, so remove all flows over these links to have them checked
        // again.
        if let Some(engine) = &mut self.engine {
            engine.changed(&touched, |_| None, now.mono);
        }
    }

    /// Returns a request to attach programs again if another program removed their clsact.
    pub(super) fn reattach_lost(&mut self, topology: &Topology, now: Now) -> Option<AttachRequest> {
        let request = self.attached.wanted()?;
        if self.attached.job().is_some_and(|job| job.before().is_none()) {
            return None;
        }
        let has_clsact = |program: &Program| {
            // A removed device has not lost its clsact.
            let Some(link) = topology.link_named(&program.device) else { return true };
            let mut queues = topology.queues().iter();
            queues.any(|q| &*q.kind == "clsact" && q.index == link.index)
        };
        let is_lost = self
            .held()
            .filter(|program| program.hook_name == "clsact")
            .any(|program| request.devices.contains(&program.device) && !has_clsact(program));
        if !is_lost {
            return None;
        }
        log::info!("a clsact with an eBPF program was removed: it is attached again");
        self.attached.removed(now.mono).map(Job::into_plan)
    }

    /// Returns true if packets to and from endpoint `to` would bypass a queue or limit. `from` is
    /// the hook of the other end: TC redirects packets through the lowest device's queue, XDP does
    /// not.
    pub(super) fn is_shaped(&self, to: &Endpoint, from: Hook) -> bool {
        let links = to.dependencies.iter().filter_map(|dependency| match dependency {
            Dependency::Link(index) => Some((*index, *index == to.side.device)),
            Dependency::Neighbour(..)
            | Dependency::Station(..)
            | Dependency::Vlans(_)
            | Dependency::Session => None,
        });
        let kept = QueueUse { leaving: from == Hook::Tc, incoming: false };
        bypassed_queue(&self.shaped, links, kept).is_some()
    }
}
