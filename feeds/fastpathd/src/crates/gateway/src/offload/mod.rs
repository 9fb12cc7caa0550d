// SPDX-License-Identifier: GPL-2.0-or-later
//! Events, effects and state of offloading.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use ctnetlink::Revision;
use flows::{FlowTable, Now, Path};
use model::Engine;
use ruleset::{Applied, ForeignRules, Plan};

use self::ebpf::{AttachOutcome, AttachRequest, EbpfEngine};
use self::programs::ProgramsReason;
use flowtable::{EngineReason, EngineReport, Flowtable, Job, JobFailure};
use hardware::{HardwarePorts, HardwareUse};
use revocation::{RevocationReason, Revocations};

pub(crate) mod answer;
pub mod ebpf;
mod endpoint;
pub mod flowtable;
mod foreign;
pub mod hardware;
mod plan;
pub mod programs;
pub(crate) mod revocation;
mod table;

#[derive(Debug)]
pub enum Event {
    /// The daemon or another program changed rules of nftables.
    RulesChanged(Revision),
    /// The rules of other programs, or why they could not be read.
    RulesRead(Result<ForeignRules, String>),
    PoliciesChanged,
    /// Forwarding was disabled, globally or for a device.
    ForwardingStopped,
    Applied(Result<Applied, JobFailure>),
    /// Ports of the table that support hardware offload; `None` without hardware offload.
    HardwarePorts(Option<HardwarePorts>),
    /// Whether the kernel has flowtables for bridged packets; `None` if unknown.
    BridgeFlowtable(Option<bool>),
    Attached(Box<Result<AttachOutcome, ProgramsReason>>),
    /// Continue the work that is too long for one step.
    Step,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful exist at a time, none is kept")]
pub enum Effect {
    Run(Job),
    ReadRules,
    /// Attach programs to devices, and detach them from all others.
    Attach(AttachRequest),
    /// Save the generation of the rules in force.
    SaveGeneration,
    /// Send [`Event::Step`], after pending events.
    Step,
}

#[derive(Debug)]
pub struct State {
    flowtable: Flowtable,
    /// The table was damaged, so flows have to pass the rules again once it is restored.
    is_damaged: bool,
    ebpf: EbpfEngine,
    /// [`Effect::Step`] is pending.
    is_stepping: bool,
    revocations: Revocations,
    foreign: foreign::State,
    hardware: HardwareUse,
    /// The kernel has flowtables for bridged packets; `None` if unknown.
    bridge_flowtable: Option<bool>,
    /// Interface indexes of the planned devices.
    indexes: BTreeMap<String, u32>,
    /// The last plan, with its decision for each device.
    planned: Option<Plan>,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            flowtable: Flowtable::new(),
            is_damaged: false,
            ebpf: EbpfEngine::new(),
            is_stepping: false,
            revocations: Revocations::default(),
            foreign: foreign::State::default(),
            hardware: HardwareUse::default(),
            bridge_flowtable: None,
            indexes: BTreeMap::new(),
            planned: None,
        }
    }

    #[must_use]
    pub fn flowtable(&self) -> &Flowtable {
        &self.flowtable
    }

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
            hardware_full: self.hardware.full().filter(|_| in_hardware),
            hardware_counts: self.hardware.counts().filter(|_| in_hardware),
            ..report
        }
    }

    /// Returns the devices with a program, and the next request.
    pub(crate) fn attached(
        &mut self,
        result: Result<AttachOutcome, ProgramsReason>,
        now: Now,
    ) -> (BTreeSet<String>, Option<Effect>) {
        let next = self.ebpf.attached(result, now).map(Effect::Attach);
        let held: BTreeSet<String> =
            self.ebpf.held().map(|program| program.device.clone()).into_set();
        self.flowtable.set_held(held.clone(), self.ebpf.why());
        (held, next)
    }

    /// Returns true once neither rules nor programs are pending.
    pub(crate) fn is_settled(&self) -> bool {
        self.flowtable.is_settled() && self.ebpf.is_known()
    }

    pub(crate) fn bridge_flowtable(&self) -> Option<bool> {
        self.bridge_flowtable
    }

    pub(crate) fn set_bridge_flowtable(&mut self, found: Option<bool>) {
        self.bridge_flowtable = found;
    }

    pub(crate) fn set_hardware_ports(&mut self, ports: Option<HardwarePorts>) {
        self.hardware.set_ports(ports);
    }

    /// Returns true if hardware offload has become used or unused. Called once a second.
    pub(crate) fn hardware_second(&mut self, flows: &FlowTable) -> bool {
        let [hardware, software] = [Path::Hardware, Path::Flowtable].map(|path| flows.on(path));
        self.hardware.set_driver(flows.hardware_full(), flows.hardware_counts());
        self.hardware.second(self.flowtable.active(), hardware, software)
    }

    pub(crate) fn rules_read(&mut self, rules: Result<ForeignRules, String>, now: Now) {
        self.foreign.read(rules, now);
    }

    pub(crate) fn rules_outdated(&mut self, reason: &RevocationReason, now: Now) -> bool {
        self.foreign.outdated(reason, now)
    }

    pub(crate) fn read_rules(&mut self, now: Now) -> Option<Effect> {
        self.foreign.begin_reading(now).then_some(Effect::ReadRules)
    }
}
