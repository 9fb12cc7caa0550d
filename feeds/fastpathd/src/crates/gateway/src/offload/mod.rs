// SPDX-License-Identifier: GPL-2.0-or-later
//! Events, effects and state of offloading: the plan, the flowtable in nftables, and the eBPF
//! engine.

use std::collections::{BTreeMap, BTreeSet};

use ::ebpf::entry_side::Hook;
use ctnetlink::Revision;
use flows::Now;
use model::Engine;
use ruleset::{Applied, ForeignRules, Plan};

use self::ebpf::{AttachOutcome, AttachRequest, EbpfEngine};
use self::programs::ProgramsReason;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use flowtable::{EngineReason, EngineReport, Flowtable, Job, JobFailure};
use hardware::{HardwarePorts, HardwareUse};
use revocation::{RevocationReason, Revocations};

pub(crate) mod answer;
mod carry;
pub mod ebpf;
mod endpoint;
pub mod flowtable;
mod foreign;
pub mod hardware;
mod in_force;
mod plan;
pub mod programs;
pub(crate) mod revocation;

#[derive(Debug)]
pub enum Event {
    /// Rules of nftables were changed, perhaps by ourselves.
    RulesChanged(Revision),
    /// The rules of other programs, or why they could not be read.
    RulesRead(Result<ForeignRules, String>),
    /// `IPsec` policies have changed.
    PoliciesChanged,
    /// Forwarding was disabled, globally or for a device.
    ForwardingStopped,
    /// Outcome of a job that applies or renews the table.
    Applied(Result<Applied, JobFailure>),
    /// Outcome of a job that verifies the table: true if the plan is still in force.
    Verified(bool),
    /// Ports of the table that support hardware offload; `None` without hardware offload.
    HardwarePorts(Option<HardwarePorts>),
    /// Programs have been attached to devices, or could not be.
    Attached(Box<Result<AttachOutcome, ProgramsReason>>),
}

/// A request to nftables or to the loader of programs.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
pub enum Effect {
    /// Run nft.
    Run(Job),
    /// Read the rules of other programs.
    ReadRules,
    /// Attach programs to devices, and detach them from all others.
    Attach(AttachRequest),
    /// Save the generation of the rules in force, which are known.
    NoteRules,
}

/// A device that a program was requested for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub device: String,
    /// Hook of its program; `None` if no program is attached.
    pub hook: Option<Hook>,
    /// Name of the hook: `xdp`, `xdp-generic`, `tcx` or `clsact`; empty without a program.
    pub hook_name: &'static str,
    /// Why a better hook, or any hook, could not be used.
    pub why: config::Cause,
}

#[derive(Debug)]
pub struct State {
    flowtable: Flowtable,
    ebpf: EbpfEngine,
    revocations: Revocations,
    foreign: foreign::State,
    hardware: HardwareUse,
    /// Interface indexes of the planned devices.
    indexes: BTreeMap<String, u32>,
    /// The last plan, with its decision for each device.
    planned: Option<Plan>,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            flowtable: Flowtable::new(),
            ebpf: EbpfEngine::default(),
            revocations: Revocations::default(),
            foreign: foreign::State::default(),
            hardware: HardwareUse::default(),
            indexes: BTreeMap::new(),
            planned: None,
        }
    }

    #[must_use]
    pub fn flowtable(&self) -> &Flowtable {
        &self.flowtable
    }

    /// Returns true if hardware offload is in force without a flow in hardware.
    pub(crate) fn hardware_is_unused(&self) -> bool {
        self.hardware.is_unused()
    }

    pub(crate) fn planned(&self) -> Option<&Plan> {
        self.planned.as_ref()
    }

    pub(crate) fn ebpf(&self) -> &EbpfEngine {
        &self.ebpf
    }

    pub(crate) fn ebpf_mut(&mut self) -> &mut EbpfEngine {
        &mut self.ebpf
    }

    /// Returns the wanted engine and the engine in force. Converts times with the clock `now`.
    #[must_use]
    pub fn report(&self, now: Now) -> EngineReport {
        let in_hardware = self.flowtable.active() == Engine::FlowtableHw;
        let mut report = self.flowtable.report(now);
        let said = self.foreign.failure();
        if !said.is_empty() && self.planned.as_ref().is_some_and(|plan| plan.unread) {
            report.cause = EngineReason::Unread { said: said.to_owned() }.cause();
            report.why.clone_from(&report.cause.text);
        }
        EngineReport {
            revocation: self.revocations.report(now),
            hardware_unused: self.hardware.is_unused(),
            hardware_ports: self.hardware.ports().filter(|_| in_hardware).cloned(),
            ..report
        }
    }

    fn held_devices(&self) -> BTreeSet<String> {
        self.ebpf.held().map(|program| program.device.clone()).collect()
    }
}

impl Core {
    pub fn offload_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::RulesChanged(revision) => self.rules_changed(revision),
            Event::RulesRead(result) => self.rules_read(result),
            Event::PoliciesChanged => self.revoke(RevocationReason::Ipsec),
            Event::ForwardingStopped => self.revoke(RevocationReason::Forwarding),
            Event::Applied(result) => self.applied(result),
            Event::Verified(in_force) => self.verified(in_force),
            Event::HardwarePorts(ports) => {
                self.hardware_ports(ports);
                Vec::new()
            }
            Event::Attached(result) => self.attached(*result),
        }
    }
}
