// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates the flow table from conntrack, and corrects conntrack for offloaded flows.

use ctnetlink::{Entry, EntryUpdate};
use flows::ReadingStart;

use crate::conntrack::{Effect, Event, reopening};
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::ebpf::Waiting;

impl Core {
    pub(crate) fn conntrack_event(&mut self, event: Event) -> Vec<AnyEffect> {
        let mut effects = match event {
            Event::Changed(events) => self.entries_changed(&events),
            Event::Lost => self.events_lost(),
            Event::Counted(counts) => {
                self.conntrack.flows_mut().seen_by_stack(&counts, self.now);
                Vec::new()
            }
            Event::Sampled(sample) => {
                self.conntrack.flows_mut().seen_by_cpu(sample);
                Vec::new()
            }
            Event::Entries(entries) => self.entries_read(&entries),
            Event::DumpEnded(complete) => self.dump_ended(complete),
            Event::Sweep => self.sweep(),
            Event::LookedUp(entries, start) => self.looked_up(&entries, start),
            Event::Confirmed(connections, start) => self.confirmed(&connections, start),
            Event::MarksCleared(connections, version) => {
                vec![self.conntrack.marks_cleared(&connections, version).into()]
            }
            Event::MarksKept(connections) => {
                self.conntrack.marks_kept(&connections, self.now);
                Vec::new()
            }
            Event::EventsRead(version) => {
                self.conntrack.earlier_events_read(version).into_iter().map(Into::into).collect()
            }
        };
        effects.extend(self.network.ask_routes().map(AnyEffect::from));
        effects.extend(self.export_records());
        effects
    }

    /// Updates the flows of these events. Flows that have left inspection are looked up at once,
    /// while their byte count is still close to the inspected bytes.
    pub(crate) fn entries_changed(&mut self, events: &[ctnetlink::Event]) -> Vec<AnyEffect> {
        let mut forged = Vec::new();
        for event in events {
            let event = match event {
                ctnetlink::Event::New(_) => *event,
                ctnetlink::Event::Update(entry) => {
                    ctnetlink::Event::Update(self.reopened(entry, &mut forged))
                }
                ctnetlink::Event::Destroy(entry) => {
                    let flows = self.conntrack.flows_mut();
                    self.offload.ebpf_mut().connection_ended(entry, flows, self.now);
                    *event
                }
            };
            self.conntrack.flows_mut().event(&event, self.now, self.network.view());
        }
        let departed = self.conntrack.flows_mut().departed();
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged).map(AnyEffect::from));
        if !departed.is_empty() {
            effects.push(self.conntrack.look_up(departed).into());
        }
        effects
    }

    pub(crate) fn events_lost(&mut self) -> Vec<AnyEffect> {
        self.conntrack.events_lost(self.now);
        self.dump_if_due()
    }

    pub(crate) fn entries_read(&mut self, entries: &[Entry]) -> Vec<AnyEffect> {
        let mut forged = Vec::new();
        for entry in entries {
            let entry = self.reopened(entry, &mut forged);
            self.conntrack.flows_mut().merge(&entry, self.now, self.network.view());
        }
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged).map(AnyEffect::from));
        effects
    }

    pub(crate) fn dump_ended(&mut self, complete: bool) -> Vec<AnyEffect> {
        self.conntrack.dump_ended(complete, self.now);
        self.sweep()
    }

    /// Removes a batch of flows that the dump lacks. The next dump starts after the last batch.
    fn sweep(&mut self) -> Vec<AnyEffect> {
        let more = self.conntrack.sweep();
        let mut effects = self.serve_ebpf();
        if more {
            effects.push(Effect::Sweep.into());
        } else if self.conntrack.swept(self.cpu_time) {
            self.offload.ebpf_mut().dump_ended();
            effects.extend(self.step());
            effects.extend(self.end_paused());
        }
        effects
    }

    pub(crate) fn looked_up(&mut self, entries: &[Entry], start: ReadingStart) -> Vec<AnyEffect> {
        let mut forged = Vec::new();
        for entry in entries {
            let entry = self.reopened(entry, &mut forged);
            self.conntrack.flows_mut().refresh(&entry, start, self.now, self.network.view());
        }
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged).map(AnyEffect::from));
        effects
    }

    /// Confirms connections by conntrack entries that were read after their map entries were added.
    pub(crate) fn confirmed(
        &mut self,
        connections: &[(Waiting, Option<Entry>)],
        start: ReadingStart,
    ) -> Vec<AnyEffect> {
        for (waiting, entry) in connections {
            if self.offload.ebpf().is_waiting(waiting) {
                let (now, network) = (self.now, self.network.view());
                let flows = self.conntrack.flows_mut();
                flows.confirmed(waiting.connection.id, entry.as_ref(), start, now, network);
            }
        }
        self.serve_ebpf()
    }

    fn reopened(&mut self, entry: &Entry, forged: &mut Vec<EntryUpdate>) -> Entry {
        let ebpf = self.offload.ebpf_mut();
        self.conntrack.reopened(entry, forged, |id| ebpf.reopen(id))
    }

    pub(crate) fn dump_if_due(&mut self) -> Vec<AnyEffect> {
        // Without the topology, every flow would lack a route.
        if !self.network.is_known() {
            return Vec::new();
        }
        let dump = self.conntrack.dump_if_due(self.now, self.cpu_time);
        dump.into_iter().map(Into::into).collect()
    }

    pub(crate) fn conntrack_second(&mut self) -> Vec<AnyEffect> {
        self.conntrack.flows_mut().sample(self.now);
        self.conntrack.clear_kept(self.now);
        let mut effects = self.serve_ebpf();
        effects.extend(self.dump_if_due());
        effects.extend(self.conntrack.look_up_young().map(AnyEffect::from));
        effects
    }
}

#[cfg(test)]
mod tests;
