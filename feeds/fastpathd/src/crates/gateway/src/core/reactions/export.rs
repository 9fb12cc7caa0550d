// SPDX-License-Identifier: GPL-2.0-or-later
//! Connects the exporters to the flow table and the network.

use flows::Now;
use ipfix::Queue;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::export::egress::EgressDevices;
use crate::export::{Effect, Event, Serial, Settings, encoded};
use crate::network;

/// Flows per batch of final records, a small part of a collector's queue.
const FINAL_BATCH: usize = 2000;

impl Core {
    pub(crate) fn export_event(&mut self, event: Event) -> Vec<AnyEffect> {
        self.export.event(event);
        Vec::new()
    }

    pub(crate) fn configure_export(&mut self, settings: &[Settings]) -> Option<AnyEffect> {
        let run = self.export.configure(settings, self.now)?;
        self.conntrack.flows_mut().record(self.export.timeouts(), self.now);
        Some(run.into())
    }

    /// Sends the flow table's pending records.
    pub(crate) fn export_records(&mut self) -> Option<AnyEffect> {
        let records = self.conntrack.flows_mut().records();
        let send = || Effect::Send(encoded(&records, self.network.topology())).into();
        (!records.is_empty()).then(send)
    }

    /// Returns the collectors that are receiving flow records.
    #[must_use]
    pub fn reading_records(&self) -> Vec<Serial> {
        self.export.reading_records()
    }

    /// Returns the final records of a batch of flows from index `next`; `None` after the last.
    pub fn last_records(&mut self, next: &mut usize) -> Option<Queue> {
        let flows = self.conntrack.flows_mut();
        if *next >= flows.len() {
            return None;
        }
        flows.record_rest(*next..*next + FINAL_BATCH, self.now);
        *next += FINAL_BATCH;
        Some(encoded(&flows.records(), self.network.topology()))
    }

    pub(crate) fn export_second(&mut self) -> Vec<AnyEffect> {
        let (network, now) = (&self.network, self.now);
        let devices = self.export.set_egress(|| egress_devices(network, now));
        let interfaces = self.export.set_interfaces(self.network.topology());
        devices.into_iter().chain(interfaces).map(Into::into).collect()
    }
}

/// Returns the egress devices that messages may use; `None` before zones and links are known.
fn egress_devices(network: &network::State, now: Now) -> Option<EgressDevices> {
    if !network.zones_known() || !network.is_complete(now) {
        return None;
    }
    let (zones, interfaces) = (network.segments().zones, network.view().interfaces());
    Some(EgressDevices::of(&zones, network.firewall(), interfaces, network.topology()))
}

#[cfg(test)]
mod tests;
