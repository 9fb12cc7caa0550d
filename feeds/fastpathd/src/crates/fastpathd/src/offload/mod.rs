// SPDX-License-Identifier: GPL-2.0-or-later
//! Events, effects and state of offloading: the plan, the flowtable in nftables, and the eBPF
//! engine.

use std::collections::{BTreeMap, BTreeSet};

use ::ebpf::entry_side::Hook;
use ctnetlink::Revision;
use flows::Now;
use model::Engine;
use ruleset::{Applied, ForeignRules, Plan};

use self::attach::ProgramsReason;
use self::ebpf::{AttachOutcome, AttachRequest, EbpfEngine};
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use flowtable::{EngineReason, EngineReport, Flowtable, Job, JobFailure};
use hardware::{HardwarePorts, HardwareUse};
use revocation::{RevocationReason, Revocations};

pub(crate) mod answer;
pub(crate) mod attach;
mod carry;
pub(crate) mod ebpf;
mod endpoint;
pub(crate) mod flowtable;
mod foreign;
mod hardware;
mod in_force;
mod plan;
pub(crate) mod revocation;
pub(crate) mod run;
pub(crate) mod switches;

/// An event of rules and programs.
#[derive(Debug)]
pub(crate) enum Event {
    /// Rules of nftables were changed, perhaps by ourselves.
    RulesChanged(Revision),
    /// The rules of other programs, or why they could not be read.
    RulesRead(Result<ForeignRules, String>),
    /// Policies of `IPsec` were changed.
    PoliciesChanged,
    /// The stack has stopped forwarding, at all or from a device.
    ForwardingStopped,
    /// The outcome of a job that applies or renews the table.
    Applied(Result<Applied, JobFailure>),
    /// The outcome of a job that verifies the table: whether the plan is still in force.
    Verified(bool),
    /// Which ports of that table support hardware offload; `None` without it.
    HardwarePorts(Option<HardwarePorts>),
    /// Programs have been attached to devices, or could not be.
    Attached(Box<Result<AttachOutcome, ProgramsReason>>),
}

/// A request to nftables or to the loader of programs.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
pub(crate) enum Effect {
    /// Run nft.
    Run(Job),
    /// Read the rules of other programs.
    ReadRules,
    /// Attach programs to devices, and detach them from all others.
    Attach(AttachRequest),
    /// Save the generation of the rules in force: they are known.
    NoteRules,
}

/// A device that was to get a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) device: String,
    /// The hook of its program; none: no program is attached.
    pub(crate) hook: Option<Hook>,
    /// Where it is attached, by name: `xdp`, `xdp-generic`, `tcx`, `clsact`.
    pub(crate) hook_name: &'static str,
    /// Why there, or why nowhere.
    pub(crate) why: config::Cause,
}

/// The offloaded devices, and their engine.
#[derive(Debug)]
pub(crate) struct State {
    flowtable: Flowtable,
    ebpf: EbpfEngine,
    revocations: Revocations,
    foreign: foreign::State,
    hardware: HardwareUse,
    /// Indexes of the planned devices.
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

    pub(crate) fn flowtable(&self) -> &Flowtable {
        &self.flowtable
    }

    /// Hardware offload is in force, and no flow is in hardware.
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

    /// The engine asked for and the one in force, with times by the clock of now.
    pub(crate) fn report(&self, now: Now) -> EngineReport {
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
    pub(crate) fn offload_event(&mut self, event: Event) -> Vec<AnyEffect> {
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
