// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests programs for devices, and opens their maps.

use std::collections::BTreeSet;

use ::ebpf::engine::{Maps, OffloadEngine};
use flows::Now;

use super::EbpfEngine;
use crate::offload::programs::{Program, ProgramsReason};
use crate::reconcile::{Job, Outcome, Plan};

/// A request that these devices, and no others, have programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachRequest {
    pub devices: BTreeSet<String>,
    /// Hook, as `fastpath-bpf` names it; `None` for the best hook of each device.
    pub hook: Option<&'static str>,
}

#[derive(Debug)]
pub struct OpenMaps {
    pub maps: Box<dyn Maps>,
    /// Entries that each flow map can hold.
    pub capacity: usize,
    /// Identifies the maps: programs that are loaded again get another id.
    pub id: u32,
}

#[derive(Debug)]
pub struct AttachOutcome {
    pub programs: Vec<Program>,
    /// `None` if no device has a program.
    pub opened: Option<OpenMaps>,
}

impl Plan for AttachRequest {}

impl EbpfEngine {
    /// Returns the request to send, unless it repeats the last one or an outcome is pending.
    pub(crate) fn request(&mut self, request: AttachRequest) -> Option<AttachRequest> {
        if self.attached.wanted() != Some(&request) {
            self.answered &= self.requests_any();
        }
        self.attached.want(request).map(Job::into_plan)
    }

    /// Returns true if it is known which devices have programs, so that rules can cover the others.
    pub(crate) fn is_known(&self) -> bool {
        !self.requests_any() || self.answered
    }

    fn requests_any(&self) -> bool {
        self.attached.wanted().is_some_and(|request| !request.devices.is_empty())
    }

    /// Removes all flows if no device has a program. Returns the next request.
    pub(crate) fn attached(
        &mut self,
        result: Result<AttachOutcome, ProgramsReason>,
        now: Now,
    ) -> Option<AttachRequest> {
        self.answered = true;
        self.failure = None;
        let attached = result.map(|AttachOutcome { programs, opened }| {
            self.programs = programs;
            let known = self.engine.as_ref().map(|_| self.id);
            if let Some(opened) = opened.filter(|opened| known != Some(opened.id)) {
                self.open(opened, now);
            }
        });
        let outcome = match attached {
            Ok(()) => Outcome::Applied,
            Err(why) => {
                log::error!("eBPF: {why}");
                self.failure = Some(why.brief());
                self.programs.clear();
                Outcome::Failed((), None)
            }
        };
        if self.held().next().is_none()
            && let Some(engine) = &mut self.engine
        {
            engine.remove_all(now.mono);
        }
        self.attached.done(outcome, now.mono).map(Job::into_plan)
    }

    /// Switches to other maps. Offloaded flows are installed there with their next change.
    fn open(&mut self, opened: OpenMaps, now: Now) {
        let OpenMaps { maps, capacity, id } = opened;
        let engine = OffloadEngine::new(maps, capacity, self.timeouts);
        let report = self.engine.as_mut().map(|before| {
            before.remove_all(now.mono);
            before.report()
        });
        self.engine = Some(engine.after(report.unwrap_or_default()));
        self.id = id;
        self.dumps = 0;
    }

    /// Returns the request if a retry is due. Called once a second.
    pub(crate) fn retry(&mut self, now: Now) -> Option<AttachRequest> {
        self.attached.second(now.mono).map(Job::into_plan)
    }
}
