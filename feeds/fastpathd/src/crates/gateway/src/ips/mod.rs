// SPDX-License-Identifier: GPL-2.0-or-later
//! Events and effects of inspection: instructs Suricata, reads our table, blocks sources, and
//! adopts the blocks of a previous daemon.

use std::time::Duration;

use config::Network;
use ctnetlink::{Entry, Tuple};
use flows::Network as _;
use ruleset::InForce;
use topology::Topology;

use crate::api;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network::view::NetworkView;
use inspection::{CommandReply, Inspection, Instruction, ProbeSample};

pub mod answer;
mod flow_context;
mod in_force;
pub mod inspection;
#[cfg(test)]
mod tests;

pub(crate) use inspection::check;

/// Interval between readings of our table. Its counters are shown, but each reading runs nft.
const TABLE_EVERY: Duration = Duration::from_secs(5);

/// Shortest interval between writes of the alerts for the next daemon, into memory.
const ALERTS_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub enum Event {
    /// A probe of Suricata's queues and process.
    Probed(ProbeSample),
    /// Suricata's reply on its command socket.
    Replied(CommandReply),
    /// A batch of Suricata's events.
    Events(Box<ips::Batch>),
    /// Our table as read from the kernel, and the queues before and after the reading.
    TableRead(Box<InForce>, [Vec<ips::Queue>; 2]),
    /// nft refused to block this source.
    NotBlocked(Network),
    /// nft refused to end a block.
    StillBlocked,
    /// Entries that were read before their counters and marks were reset.
    Reset(Vec<Entry>),
    /// All connections were reset: the number that had left inspection, or why the reset failed.
    Reinspected(Result<usize, String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write this instruction for Suricata's init script, and notify the script.
    Instruct(Instruction),
    /// Notify the script again.
    NotifyService,
    /// Have Suricata reload its rules.
    ReloadRules,
    /// Block a source and end its flows.
    Block { element: Box<ruleset::BlockElement>, flows: Vec<(u16, Tuple)> },
    /// End the blocks of these sources.
    Unblock(Vec<Network>),
    /// Read our table back.
    ReadTable,
    /// Reset all connections, so that they are inspected again.
    Reinspect,
    /// Write the alerts for the next daemon.
    SaveAlerts(String),
}

#[derive(Debug)]
pub struct State {
    inspection: Inspection,
    events: ips::Events,
    /// Time of the next reading of our table.
    table_at: Duration,
    /// The blocks of the previous daemon have been adopted.
    adopted: bool,
    /// Number of the newest saved alert, and time of the next saving.
    saved: (u64, Duration),
}

impl State {
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            inspection: Inspection::new(now),
            events: ips::Events::default(),
            table_at: Duration::ZERO,
            adopted: false,
            saved: (0, now + ALERTS_EVERY),
        }
    }

    /// Restores the alerts that a previous daemon saved.
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

    /// Returns the number of the newest alert.
    #[must_use]
    pub fn newest_alert(&self) -> u64 {
        self.events.alerts.last()
    }

    /// Notes that Suricata's configuration could not be written.
    pub(crate) fn not_written(&mut self, why: String) {
        self.inspection.not_written(why);
    }

    /// Returns the blocks for a new table.
    #[must_use]
    pub fn blocks(&self, now: Duration) -> Vec<ruleset::BlockElement> {
        let blocks = self.inspection.blocks.list();
        blocks.into_iter().map(|block| element(block, now)).collect()
    }
}

impl Core {
    pub fn ips_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Probed(sample) => self.probed(sample),
            Event::Replied(reply) => {
                self.replied(reply);
                Vec::new()
            }
            Event::Events(batch) => self.events_read(*batch),
            Event::TableRead(found, queues) => {
                self.ips.inspection.offered(&found, queues);
                self.table_read(&found)
            }
            Event::NotBlocked(source) => {
                self.not_blocked(source);
                Vec::new()
            }
            // Adopt blocks once more: the next reading lists the sources that the kernel still
            // blocks.
            Event::StillBlocked => {
                self.ips.adopted = false;
                Vec::new()
            }
            Event::Reset(entries) => self.entries_reset(&entries),
            Event::Reinspected(result) => self.reinspected(result),
        }
    }

    /// Handles a probe, twice a second while inspection is enabled.
    pub(crate) fn probed(&mut self, sample: ProbeSample) -> Vec<AnyEffect> {
        let before = self.ips.inspection.condition().state;
        let gate_changed = self.ips.inspection.probed(self.now.mono, sample);
        if self.ips.inspection.condition().state != before {
            self.inspection_changed();
        }
        if gate_changed { self.replan() } else { Vec::new() }
    }

    pub(crate) fn replied(&mut self, reply: CommandReply) {
        self.ips.inspection.replied(self.now.mono, reply);
    }

    /// Handles Suricata's events: counters, alerts, and sources to be blocked.
    pub(crate) fn events_read(&mut self, mut batch: ips::Batch) -> Vec<AnyEffect> {
        let handed_on = self.export_events(std::mem::take(&mut batch.lines));
        let ips = &mut self.ips;
        if ips.inspection.is_inline() {
            batch.alerts().for_each(|alert| name_device(alert, self.network.view()));
        }
        ips.events.take(self.now.mono, batch);
        for line in ips.events.log_lines() {
            log::warn!("{line}");
        }
        ips.inspection.connected(ips.events.connected);
        if let Some(counters) = ips.events.counters.take() {
            ips.inspection.set_counters(counters);
        }
        let now = self.now.mono;
        let mut effects: Vec<_> = handed_on.into_iter().collect();
        let topology = self.network.topology();
        for offender in ips.events.offenders() {
            let rule = (offender.sid, offender.reason.as_str());
            let own = |source| is_own(topology, source);
            let Some(block) = ips.inspection.offended(now, offender.address, rule, own) else {
                continue;
            };
            let table = self.conntrack.flows();
            let connections = table.connections_of(block.source);
            let ebpf = self.offload.ebpf_mut();
            ebpf.reject(&connections, block.sid, block.until, (topology, table), self.now);
            let flows = connections.iter().map(|one| (one.zone, one.orig)).collect();
            let element = Box::new(element(&block, now));
            effects.push(AnyEffect::Ips(Effect::Block { element, flows }));
        }
        effects
    }

    /// Updates flows from entries that were read before their counters were reset.
    fn entries_reset(&mut self, entries: &[Entry]) -> Vec<AnyEffect> {
        for entry in entries {
            self.conntrack.flows_mut().reinspected(entry, self.now, self.network.view());
        }
        self.serve_ebpf()
    }

    fn reinspected(&mut self, result: Result<usize, String>) -> Vec<AnyEffect> {
        match &result {
            Ok(flows) => log::info!("{flows} connections are inspected again"),
            Err(why) => log::error!("resetting inspection: {why}"),
        }
        let mut effects = vec![AnyEffect::Api(api::Effect::AnswerReinspect(result))];
        effects.extend(self.dump_if_due());
        effects
    }

    /// Ends the block that contains this source, by command. `None` if there is no such block.
    pub(crate) fn unblock(&mut self, source: Network) -> Option<AnyEffect> {
        // Use the block's own source: an IPv4 address may be written as an IPv6 one.
        let source = self.ips.inspection.blocks.release(source.address)?.source;
        self.offload.ebpf_mut().accept(&[source], self.now);
        log::info!("{} is unblocked by command", source.brief());
        Some(AnyEffect::Ips(Effect::Unblock(vec![source])))
    }

    /// Removes a block that is not in force. The next offence of its source requests it again.
    fn not_blocked(&mut self, source: Network) {
        if self.ips.inspection.blocks.release(source.address).is_some() {
            self.offload.ebpf_mut().accept(&[source], self.now);
        }
    }

    /// Applies new settings. Returns the effect that lifts blocks, if the settings end any.
    pub(crate) fn configure_ips(
        &mut self,
        settings: &ips::Settings,
        main: &ruleset::Settings,
    ) -> Option<AnyEffect> {
        let ended = self.ips.inspection.configure(settings, main, self.now.mono);
        if ended.is_empty() {
            return None;
        }
        self.offload.ebpf_mut().accept(&ended, self.now);
        Some(AnyEffect::Ips(Effect::Unblock(ended)))
    }

    /// Handles the contents of our table: counters, and at the start the blocks of the previous
    /// daemon.
    pub(crate) fn table_read(&mut self, found: &InForce) -> Vec<AnyEffect> {
        let ips = &mut self.ips;
        ips.inspection.add_counters(found);
        // Adopt blocks only once: a block that was released meanwhile would come back.
        let first = !std::mem::replace(&mut ips.adopted, true);
        let unwanted = self.configuration.settings().is_some() && !ips.inspection.blocking();
        if !first || unwanted {
            return Vec::new();
        }
        let topology = self.network.topology();
        let mut ended = Vec::new();
        for block in &found.blocks {
            let left = Duration::from_secs(block.left.into());
            let own = |source| is_own(topology, source);
            if ips.inspection.blocks.adopt(self.now.mono, block.source, left, own).is_err() {
                ended.push(block.source);
            }
        }
        let lifted = (!ended.is_empty()).then_some(Effect::Unblock(ended));
        lifted.map(AnyEffect::Ips).into_iter().collect()
    }

    /// Returns the instruction for Suricata's service, if it has changed.
    pub(crate) fn instruct(&mut self) -> Option<AnyEffect> {
        // Wait until everything is known: an earlier instruction would start Suricata twice.
        if !self.network.is_complete(self.now) || !self.cpu.is_known() {
            return None;
        }
        let (home, ports) = (self.network.home(), self.network.ports());
        let inspection = &mut self.ips.inspection;
        inspection.threads = self.cpu.threads();
        let instruction = inspection.instruct(self.now.mono, &home, self.rules.store(), &ports);
        instruction.map(Effect::Instruct).map(AnyEffect::Ips)
    }

    pub(crate) fn ips_second(&mut self) -> Vec<AnyEffect> {
        let mut effects = Vec::new();
        self.ips.inspection.blocks.expire(self.now.mono);
        if self.ips.inspection.retry_due(self.now.mono) {
            effects.push(self.instruct().unwrap_or(AnyEffect::Ips(Effect::NotifyService)));
        }
        let ips = &mut self.ips;
        if ips.inspection.is_enabled() && self.now.mono >= ips.table_at {
            ips.table_at = self.now.mono + TABLE_EVERY;
            effects.push(AnyEffect::Ips(Effect::ReadTable));
        }
        if self.now.mono >= ips.saved.1
            && let Some(text) = ips.unsaved_alerts()
        {
            ips.saved = (ips.newest_alert(), self.now.mono + ALERTS_EVERY);
            effects.push(AnyEffect::Ips(Effect::SaveAlerts(text)));
        }
        effects
    }
}

/// Sets the device of an alert from its sender, because an NFQUEUE does not report devices.
fn name_device(alert: &mut ips::Alert, network: &NetworkView) {
    let sender = alert.src.filter(|address| !network.is_local(*address));
    if let Some(side) = sender.and_then(|address| network.side(address, None)) {
        alert.device = side.device.to_string();
    }
}

/// Returns true if a source contains one of the router's own addresses.
fn is_own(topology: &Topology, source: Network) -> bool {
    topology.is_local(source.address) || topology.has_own_in(source)
}

/// Converts a block for nft.
fn element(block: &ips::Block, now: Duration) -> ruleset::BlockElement {
    let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    ruleset::BlockElement {
        source: block.source,
        seconds: seconds(block.until.saturating_sub(block.since)),
        left: seconds(block.until.saturating_sub(now)),
        comment: format!("{} {}", block.sid, block.reason),
    }
}
