// SPDX-License-Identifier: GPL-2.0-or-later
//! Connects inspection to the core: instructions for Suricata, blocks, and the flow table.

use config::Network;
use ctnetlink::Entry;
use ruleset::InForce;
use topology::Topology;

use crate::api;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::ips::inspection::{CommandReply, ProbeSample};
use crate::ips::{Effect, Event, blocking};

impl Core {
    pub(crate) fn ips_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Probed(sample) => return self.probed(sample),
            Event::Replied(reply) => self.replied(reply),
            Event::Events(batch) => return self.events_read(*batch),
            Event::TableRead(found, queues) => {
                self.ips.offered(&found, queues);
                return self.table_read(&found);
            }
            Event::NotBlocked(source) => return self.not_blocked(source),
            Event::StillBlocked => self.ips.adopt_again(),
            Event::Reset(entries) => return self.entries_reset(&entries),
            Event::Reinspected(result) => return self.reinspected(result),
        }
        Vec::new()
    }

    pub(crate) fn probed(&mut self, sample: ProbeSample) -> Vec<AnyEffect> {
        let [gate_changed, state_changed] = self.ips.probed(sample, self.now.mono);
        if state_changed {
            self.inspection_changed();
        }
        if gate_changed { self.replan() } else { Vec::new() }
    }

    pub(crate) fn replied(&mut self, reply: CommandReply) {
        self.ips.replied(reply, self.now.mono);
    }

    pub(crate) fn events_read(&mut self, mut batch: ips::Batch) -> Vec<AnyEffect> {
        let forwarded = self.export.forward(std::mem::take(&mut batch.lines));
        let mut effects: Vec<AnyEffect> = forwarded.into_iter().map(Into::into).collect();
        self.ips.take(batch, self.network.view(), self.now.mono);
        let topology = self.network.topology();
        let blocks = self.ips.offences(self.now.mono, |source| is_own(topology, source));
        for block in blocks {
            let table = self.conntrack.flows();
            let connections = table.connections_of(block.source);
            let ebpf = self.offload.ebpf_mut();
            ebpf.reject(&connections, block.sid, block.until, (topology, table), self.now);
            let flows = connections.iter().map(|one| (one.zone, one.orig)).collect();
            effects.push(blocking(&block, flows, self.now.mono).into());
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

    /// Ends the block that contains this source, on request. `None` if there is no such block.
    pub(crate) fn unblock(&mut self, source: Network) -> Option<AnyEffect> {
        let source = self.ips.release(source)?;
        self.offload.ebpf_mut().accept(&[source], self.now);
        log::info!("{} is unblocked by command", source.brief());
        Some(Effect::Unblock(vec![source]).into())
    }

    /// Removes a block that nft refused; the next offence of the source requests it again. The
    /// table of the current job may contain the block, so nft has to end it as well.
    fn not_blocked(&mut self, source: Network) -> Vec<AnyEffect> {
        let Some(source) = self.ips.release(source) else { return Vec::new() };
        self.offload.ebpf_mut().accept(&[source], self.now);
        vec![Effect::Unblock(vec![source]).into()]
    }

    /// Applies new settings. Returns the effect that lifts blocks, if the settings end any.
    pub(crate) fn configure_ips(
        &mut self,
        settings: &ips::Settings,
        main: &ruleset::Settings,
    ) -> Option<AnyEffect> {
        let ended = self.ips.configure(settings, main, self.now.mono);
        if ended.is_empty() {
            return None;
        }
        self.offload.ebpf_mut().accept(&ended, self.now);
        Some(Effect::Unblock(ended).into())
    }

    pub(crate) fn table_read(&mut self, found: &InForce) -> Vec<AnyEffect> {
        let is_configured = self.configuration.settings().is_some();
        let topology = self.network.topology();
        let own = |source| is_own(topology, source);
        let lifted = self.ips.table_read(found, is_configured, own, self.now.mono);
        lifted.into_iter().map(Into::into).collect()
    }

    pub(crate) fn instruct(&mut self) -> Option<AnyEffect> {
        // Wait for network and CPUs: an earlier instruction would start Suricata twice.
        if !self.network.is_complete(self.now) || !self.cpu.is_known() {
            return None;
        }
        let (home, ports) = (self.network.home(), self.network.ports());
        let (threads, store) = (self.cpu.threads(), self.rules.store());
        self.ips.inspect_hosts_always(self.devices.any_always());
        let instruction = self.ips.instruct(threads, &home, store, &ports, self.now.mono);
        instruction.map(AnyEffect::from)
    }

    pub(crate) fn ips_second(&mut self) -> Vec<AnyEffect> {
        let mut effects = Vec::new();
        if self.ips.retry_due(self.now.mono) {
            effects.push(self.instruct().unwrap_or(Effect::NotifyService.into()));
        }
        effects.extend(self.ips.second(self.now.mono).into_iter().map(AnyEffect::from));
        effects
    }

    /// Passes the inspection in force to the flow table, so that both decide alike.
    pub(crate) fn inspection_changed(&mut self) {
        let inspection = self.ips.in_force(self.offload.flowtable().in_force());
        self.conntrack.flows_mut().inspection(inspection, self.now);
    }
}

/// Returns true if a source contains one of the router's own addresses.
fn is_own(topology: &Topology, source: Network) -> bool {
    topology.is_local(source.address) || topology.has_own_in(source)
}

#[cfg(test)]
mod tests;
