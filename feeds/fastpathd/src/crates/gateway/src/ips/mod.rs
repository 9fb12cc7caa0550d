// SPDX-License-Identifier: GPL-2.0-or-later
//! Events, effects and state of inspection and blocks.

use std::path::Path;
use std::time::Duration;

use config::Network;
use ctnetlink::{Entry, Tuple};
use flows::{InspectionState, Network as _};
use model::{Action, Gate};
use ruleset::InForce;

use crate::network::view::NetworkView;
use inspection::{CommandReply, Inspection, Instruction, ProbeSample};

pub mod answer;
mod flow_context;
pub mod inspection;

pub(crate) use inspection::check;

/// Interval between readings of our table's counters; each reading runs nft.
const TABLE_INTERVAL: Duration = Duration::from_secs(5);

/// Minimum interval between saves of the alerts, which the next daemon restores.
const SAVE_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub enum Event {
    Probed(ProbeSample),
    Replied(CommandReply),
    Events(Box<ips::Batch>),
    /// Our table as read from the kernel, and the queues before and after the reading.
    TableRead(Box<InForce>, [Vec<ips::Queue>; 2]),
    /// nft refused to block this source.
    NotBlocked(Network),
    /// nft refused to end a block.
    StillBlocked,
    /// Entries that were read before their counters and marks were reset.
    Reset(Vec<Entry>),
    /// Outcome of resetting all connections: the number that had left inspection, or the error.
    Reinspected(Result<usize, String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write this instruction for Suricata's init script, and notify the script.
    Instruct(Instruction),
    NotifyService,
    /// Reload Suricata's rules.
    ReloadRules,
    /// Block a source and end its flows.
    Block {
        element: Box<ruleset::BlockElement>,
        flows: Vec<(u16, Tuple)>,
    },
    Unblock(Vec<Network>),
    ReadTable,
    /// Reset all connections, so that they are inspected again.
    Reinspect,
    SaveAlerts(String),
}

#[derive(Debug)]
pub struct State {
    pub(crate) inspection: Inspection,
    events: ips::Events,
    table_at: Duration,
    /// The blocks of the previous daemon have been adopted.
    adopted: bool,
    /// Number of the newest saved alert, and time of the next save.
    saved: (u64, Duration),
}

impl State {
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            inspection: Inspection::new(now),
            events: ips::Events::default(),
            table_at: Duration::ZERO,
            adopted: false,
            saved: (0, now + SAVE_INTERVAL),
        }
    }

    pub(crate) fn restore_alerts(&mut self, text: &str) {
        self.events.alerts.restore(text);
        self.saved.0 = self.events.alerts.last();
    }

    /// Returns the alerts to save for the next daemon; `None` without new ones.
    #[must_use]
    pub fn unsaved_alerts(&self) -> Option<String> {
        (self.events.alerts.last() != self.saved.0).then(|| self.events.alerts.save())
    }

    #[must_use]
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    pub(crate) fn events(&self) -> &ips::Events {
        &self.events
    }

    #[must_use]
    pub fn newest_alert(&self) -> u64 {
        self.events.alerts.last()
    }

    pub(crate) fn configuration_write_failed(&mut self, why: String) {
        self.inspection.configuration_write_failed(why);
    }

    #[must_use]
    pub fn blocks(&self, now: Duration) -> Vec<ruleset::BlockElement> {
        let blocks = self.inspection.blocks.list();
        blocks.into_iter().map(|block| element(block, now)).collect()
    }

    /// Handles a probe. Returns true if the gate has to change, and true if the state has changed.
    pub(crate) fn probed(&mut self, sample: ProbeSample, now: Duration) -> [bool; 2] {
        let before = self.inspection.condition().state;
        let gate_changed = self.inspection.probed(now, sample);
        [gate_changed, self.inspection.condition().state != before]
    }

    pub(crate) fn replied(&mut self, reply: CommandReply, now: Duration) {
        self.inspection.replied(now, reply);
    }

    pub(crate) fn take(&mut self, mut batch: ips::Batch, network: &NetworkView, now: Duration) {
        if self.inspection.is_inline() {
            batch.alerts().for_each(|alert| name_device(alert, network));
        }
        self.events.take(now, batch);
        for line in self.events.log_lines() {
            log::warn!("{line}");
        }
        self.inspection.connected(self.events.connected);
        if let Some(counters) = self.events.counters.take() {
            self.inspection.set_counters(counters);
        }
    }

    /// Returns blocks of the sources that have offended, except for the router's own addresses.
    pub(crate) fn offences(
        &mut self,
        now: Duration,
        own: impl Fn(Network) -> bool,
    ) -> Vec<ips::Block> {
        let offenders = self.events.offenders().into_iter();
        let inspection = &mut self.inspection;
        offenders
            .filter_map(|offender| {
                let rule = (offender.sid, offender.reason.as_str());
                inspection.offended(now, offender.address, rule, &own)
            })
            .collect()
    }

    /// Adds the counters of our table, and adopts the blocks of a previous daemon once. Returns the
    /// effect that ends blocks which cannot be adopted.
    pub(crate) fn table_read(
        &mut self,
        found: &InForce,
        is_configured: bool,
        own: impl Fn(Network) -> bool,
        now: Duration,
    ) -> Option<Effect> {
        self.inspection.add_counters(found);
        // Adopt blocks only once: a block that was released meanwhile would come back.
        let first = !std::mem::replace(&mut self.adopted, true);
        let unwanted = is_configured && !self.inspection.blocking();
        if !first || unwanted {
            return None;
        }
        let mut ended = Vec::new();
        for block in found.blocks.iter().flatten() {
            let left = Duration::from_secs(block.left.into());
            if self.inspection.blocks.adopt(now, block.source, left, &own).is_err() {
                ended.push(block.source);
            }
        }
        (!ended.is_empty()).then_some(Effect::Unblock(ended))
    }

    /// Adopts the kernel's blocks again with the next reading.
    pub(crate) fn adopt_again(&mut self) {
        self.adopted = false;
    }

    pub(crate) fn offered(&mut self, found: &InForce, queues: [Vec<ips::Queue>; 2]) {
        self.inspection.offered(found, queues);
    }

    /// Ends the block that contains this source. Returns the block's own source, because an IPv4
    /// address may be written as an IPv6 one; `None` if there is no such block.
    pub(crate) fn release(&mut self, source: Network) -> Option<Network> {
        Some(self.inspection.blocks.release(source.address)?.source)
    }

    pub(crate) fn configure(
        &mut self,
        settings: &ips::Settings,
        main: &ruleset::Settings,
        now: Duration,
    ) -> Vec<Network> {
        self.inspection.configure(settings, main, now)
    }

    /// Says whether a host is always inspected, whatever the policies.
    pub(crate) fn inspect_hosts_always(&mut self, always: bool) {
        self.inspection.hosts_always = always;
    }

    pub(crate) fn instruct(
        &mut self,
        threads: ips::Threads,
        home: &[Network],
        store: &Path,
        ports: &[ips::CapturePort],
        now: Duration,
    ) -> Option<Effect> {
        self.inspection.threads = threads;
        self.inspection.instruct(now, home, store, ports).map(Effect::Instruct)
    }

    /// Expires blocks. Returns true if Suricata has to be instructed again. Called once a second.
    pub(crate) fn retry_due(&mut self, now: Duration) -> bool {
        self.inspection.blocks.expire(now);
        self.inspection.retry_due(now)
    }

    /// Reads our table and saves alerts if due. Called once a second.
    pub(crate) fn second(&mut self, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.inspection.is_enabled() && now >= self.table_at {
            self.table_at = now + TABLE_INTERVAL;
            effects.push(Effect::ReadTable);
        }
        if now >= self.saved.1
            && let Some(text) = self.unsaved_alerts()
        {
            self.saved = (self.newest_alert(), now + SAVE_INTERVAL);
            effects.push(Effect::SaveAlerts(text));
        }
        effects
    }

    /// Returns the inspection of the plan in force, for the flow table.
    pub(crate) fn in_force(&mut self, plan: Option<&ruleset::Plan>) -> InspectionState {
        let rules = plan.map(|plan| plan.protection.inspection.as_ref());
        // A table that another program removed is restored at once, so keep its gate.
        if let Some(rules) = rules {
            let gate = rules.map_or(Gate::Open, |rules| rules.gate);
            self.inspection.gate_in_force(gate);
        }
        let mut inspection = rules.flatten().map(state_of).unwrap_or_default();
        if let Some(plan) = plan {
            inspection.hosts =
                [Action::Always, Action::None].map(|of| plan.inspected_addresses(of));
        }
        // Nothing reads the queue, so the kernel drops its packets although no rule does.
        let stops = self.inspection.condition().state == ips::State::FailingClosed;
        if stops && inspection.gate == Some(Gate::Queue) {
            inspection.gate = Some(Gate::Closed);
        }
        inspection
    }
}

pub(crate) fn blocking(block: &ips::Block, flows: Vec<(u16, Tuple)>, now: Duration) -> Effect {
    Effect::Block { element: Box::new(element(block, now)), flows }
}

/// Sets the device of an alert from its sender, because an NFQUEUE does not report devices.
fn name_device(alert: &mut ips::Alert, network: &NetworkView) {
    let sender = alert.src.filter(|address| !network.is_local(*address));
    if let Some(side) = sender.and_then(|address| network.side(address, None)) {
        alert.device = side.device.to_string();
    }
}

/// Converts a block to an element of the nft set.
fn element(block: &ips::Block, now: Duration) -> ruleset::BlockElement {
    let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    ruleset::BlockElement {
        source: block.source,
        seconds: seconds(block.until.saturating_sub(block.since)),
        left: seconds(block.until.saturating_sub(now)),
        comment: format!("{} {}", block.sid, block.reason),
    }
}

fn state_of(inspection: &ruleset::InspectionRules) -> InspectionState {
    InspectionState {
        gate: Some(inspection.gate),
        bypass: inspection.marks.bypass(),
        spent: inspection.marks.spent(),
        policies: inspection.policies.clone(),
        default: inspection.default,
        exempt: inspection.exempt.clone(),
        hosts: Default::default(),
        budget_bytes: inspection.budget_bytes,
        budget_packets: inspection.budget_packets,
    }
}
