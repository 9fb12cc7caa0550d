// SPDX-License-Identifier: GPL-2.0-or-later
//! Fills the flow table from conntrack's entries and events. `refresh.rs` decides when to dump.

use std::collections::BTreeMap;
use std::time::Duration;

use ctnetlink::{Entry, EntryUpdate, TcpState, Tuple};
use flows::{FlowTable, ReadingStart, RulesVersion, StackCount};
use model::Connection;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::ebpf::Waiting;
use refresh::Refresh;

mod refresh;
#[cfg(test)]
mod tests;

/// Look-ups per second, which take some milliseconds of CPU time on a small router.
const LOOK_UPS: usize = 64;
/// Retry interval for marks that could not be cleared.
const RETRY: Duration = Duration::from_secs(5);
/// Flows compared per step of a sweep, so that a step takes a few milliseconds at most.
const SWEPT: usize = 1024;

#[derive(Debug)]
pub enum Event {
    /// Entries were created, changed or destroyed.
    Changed(Vec<ctnetlink::Event>),
    /// The kernel dropped events because the socket's buffer was full.
    Lost,
    /// Per-connection packet counts of our rules, read before the dump under way.
    Counted(Vec<StackCount>),
    /// A batch of entries of the dump under way.
    Entries(Vec<Entry>),
    /// The dump has ended; true if it is complete.
    DumpEnded(bool),
    /// Continue the sweep of flows that the dump lacks: other events have been handled.
    Sweep,
    /// Entries that were looked up, and when the request was made.
    LookedUp(Vec<Entry>, ReadingStart),
    /// Connections with waiting map entries, and conntrack's entry: `None` if there is no such
    /// entry or window tracking could not be disabled. All earlier events have been reported.
    Confirmed(Vec<(Waiting, Option<Entry>)>, ReadingStart),
    /// The bits that mark these connections as passed by the rules are cleared, after these rules
    /// came into force. All earlier events have been reported.
    MarksCleared(Vec<Connection>, RulesVersion),
    /// The mark bits of these connections could not be cleared.
    MarksKept(Vec<Connection>),
    /// All events from before these rules were in force have been reported.
    EventsRead(RulesVersion),
}

/// A request to conntrack.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Dump,
    /// Remove the next batch of flows that the dump lacks, after other events.
    Sweep,
    /// Look up these entries, given by zone and original direction.
    LookUp(Vec<(u16, Tuple)>, ReadingStart),
    /// Set timeouts or window tracking of connections that bypass conntrack.
    Update(Vec<EntryUpdate>),
    /// Disable window tracking of these connections and look them up, after the packets that
    /// arrived before their map entries existed.
    Confirm(Vec<Waiting>, ReadingStart),
    /// Delete these entries, given by zone and original direction.
    Delete(Vec<(u16, Tuple)>),
    /// Clear these mark bits, set by packets that passed rules older than this version, and report
    /// it.
    ClearMarks(Vec<Connection>, u32, RulesVersion),
    /// Report when all events from before these rules were in force have been reported.
    ReadEvents(RulesVersion),
}

#[derive(Debug)]
pub struct State {
    flows: FlowTable,
    refresh: Refresh,
    /// The last dump was complete.
    complete: bool,
    /// The rules version that the pending request to read events is for.
    reads_events: Option<RulesVersion>,
    /// Flows with marks that could not be cleared, and when to retry.
    kept: BTreeMap<u64, Duration>,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            flows: FlowTable::new(),
            refresh: Refresh::new(),
            complete: false,
            reads_events: None,
            kept: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn flows(&self) -> &FlowTable {
        &self.flows
    }

    pub(crate) fn flows_mut(&mut self) -> &mut FlowTable {
        &mut self.flows
    }

    pub(crate) fn refresh(&self) -> &Refresh {
        &self.refresh
    }

    pub(crate) fn set_shortest_refresh(&mut self, shortest: Duration) {
        self.refresh.set_shortest(shortest);
    }
}

impl Core {
    pub fn conntrack_event(&mut self, event: Event) -> Vec<AnyEffect> {
        let mut effects = match event {
            Event::Changed(events) => self.entries_changed(&events),
            Event::Lost => self.events_lost(),
            Event::Counted(counts) => {
                self.conntrack.flows.seen_by_stack(&counts, self.now);
                Vec::new()
            }
            Event::Entries(entries) => self.entries_read(&entries),
            Event::DumpEnded(complete) => self.dump_ended(complete),
            Event::Sweep => self.sweep(),
            Event::LookedUp(entries, start) => self.looked_up(&entries, start),
            Event::Confirmed(connections, start) => self.confirmed(&connections, start),
            Event::MarksCleared(connections, version) => self.marks_cleared(&connections, version),
            Event::MarksKept(connections) => self.marks_kept(&connections),
            Event::EventsRead(version) => self.earlier_events_read(version),
        };
        effects.extend(self.ask_routes());
        effects.extend(self.export_records());
        effects
    }

    /// Ends the forwarded connections between these zones. Returns their number.
    pub(crate) fn disconnect(&mut self, pairs: &[[Option<&str>; 2]]) -> (usize, Option<AnyEffect>) {
        let connections = self.conntrack.flows().connections_between(pairs);
        let entries: Vec<_> = connections.iter().map(|one| (one.zone, one.orig)).collect();
        let number = entries.len();
        log::info!("{number} connections are ended");
        (number, (number > 0).then_some(AnyEffect::Conntrack(Effect::Delete(entries))))
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
                    let flows = &mut self.conntrack.flows;
                    self.offload.ebpf_mut().connection_ended(entry, flows, self.now);
                    *event
                }
            };
            self.conntrack.flows.event(&event, self.now, self.network.view());
        }
        let departed = self.conntrack.flows.departed();
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged));
        if !departed.is_empty() {
            effects.push(self.look_up(departed));
        }
        effects
    }

    pub(crate) fn events_lost(&mut self) -> Vec<AnyEffect> {
        // A flood may lose events every second, so log the first loss only.
        if !self.conntrack.refresh.lost_lately(self.now.mono) {
            log::warn!("conntrack events were lost: reading the whole table again");
        }
        self.conntrack.refresh.resync(self.now.mono);
        self.dump_if_due()
    }

    /// Merges a batch of the dump under way.
    pub(crate) fn entries_read(&mut self, entries: &[Entry]) -> Vec<AnyEffect> {
        let mut forged = Vec::new();
        for entry in entries {
            let entry = self.reopened(entry, &mut forged);
            self.conntrack.flows.merge(&entry, self.now, self.network.view());
        }
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged));
        effects
    }

    /// Ends the dump. After a `complete` one, flows without an entry are gone.
    pub(crate) fn dump_ended(&mut self, complete: bool) -> Vec<AnyEffect> {
        self.conntrack.flows.dump_over(self.now, complete);
        self.conntrack.complete = complete;
        self.sweep()
    }

    /// Removes a batch of flows that the dump lacks. The next dump waits for the last batch.
    fn sweep(&mut self) -> Vec<AnyEffect> {
        let more = self.conntrack.flows.sweep(SWEPT);
        let mut effects = self.serve_ebpf();
        if more {
            effects.push(AnyEffect::Conntrack(Effect::Sweep));
            return effects;
        }
        if self.conntrack.complete {
            self.offload.ebpf_mut().dump_ended();
        }
        self.conntrack.refresh.done(self.cpu_time);
        effects
    }

    fn look_up(&self, keys: Vec<(u16, Tuple)>) -> AnyEffect {
        AnyEffect::Conntrack(Effect::LookUp(keys, self.conntrack.flows.reading_start()))
    }

    /// Updates flows from entries that were looked up.
    pub(crate) fn looked_up(&mut self, entries: &[Entry], start: ReadingStart) -> Vec<AnyEffect> {
        let mut forged = Vec::new();
        for entry in entries {
            let entry = self.reopened(entry, &mut forged);
            self.conntrack.flows.refresh(&entry, start, self.now, self.network.view());
        }
        let mut effects = self.serve_ebpf();
        effects.extend(reopening(forged));
        effects
    }

    /// Looks up connections after their marks were cleared: they may have passed the rules since.
    pub(crate) fn marks_cleared(
        &mut self,
        connections: &[Connection],
        version: RulesVersion,
    ) -> Vec<AnyEffect> {
        for connection in connections {
            self.conntrack.flows.mark_cleared(connection.id, version);
        }
        let keys = connections.iter().map(|one| (one.zone, one.orig)).collect();
        vec![self.look_up(keys)]
    }

    /// Schedules a retry for marks that could not be cleared. The flows stay on the slow path.
    fn marks_kept(&mut self, connections: &[Connection]) -> Vec<AnyEffect> {
        let at = self.now.mono + RETRY;
        self.conntrack.kept.extend(connections.iter().map(|one| (one.id, at)));
        Vec::new()
    }

    /// Retries to clear marks.
    fn clear_kept(&mut self) -> Vec<AnyEffect> {
        let now = self.now;
        let conntrack = &mut self.conntrack;
        let due = |(_, at): &(&u64, &Duration)| **at <= now.mono;
        let ids: Vec<u64> = conntrack.kept.iter().filter(due).map(|(id, _)| *id).collect();
        for id in ids {
            conntrack.kept.remove(&id);
            conntrack.flows.mark_kept(id, now);
        }
        self.serve_ebpf()
    }

    /// Notes that all events from before these rules have been reported.
    fn earlier_events_read(&mut self, version: RulesVersion) -> Vec<AnyEffect> {
        self.conntrack.reads_events = None;
        self.conntrack.flows.events_read(version);
        self.read_events().into_iter().collect()
    }

    /// Requests the events from before the last change of the rules, so that older connections can
    /// be distinguished from newer ones. One request at a time.
    pub(crate) fn read_events(&mut self) -> Option<AnyEffect> {
        let version = self.conntrack.flows.rules_without_events()?;
        if self.conntrack.reads_events.is_some() {
            return None;
        }
        self.conntrack.reads_events = Some(version);
        Some(AnyEffect::Conntrack(Effect::ReadEvents(version)))
    }

    /// Confirms connections from conntrack entries that were read after their map entries were
    /// added.
    pub(crate) fn confirmed(
        &mut self,
        connections: &[(Waiting, Option<Entry>)],
        start: ReadingStart,
    ) -> Vec<AnyEffect> {
        for (waiting, entry) in connections {
            if self.offload.ebpf_mut().is_waiting(waiting) {
                let (now, network) = (self.now, self.network.view());
                let flows = &mut self.conntrack.flows;
                flows.confirmed(waiting.connection.id, entry.as_ref(), start, now, network);
            }
        }
        self.serve_ebpf()
    }

    /// Returns the entry without a FIN or RST that conntrack must not believe. Window tracking is
    /// off for offloaded connections, so conntrack accepts each FIN and RST that the programs leave
    /// to the kernel (with options, fragmented or too long). Adds the updates that correct
    /// conntrack to `forged`.
    fn reopened(&mut self, entry: &Entry, forged: &mut Vec<EntryUpdate>) -> Entry {
        let closing = entry.tcp_state.is_some_and(|state| state > TcpState::Established);
        let id = self.conntrack.flows.offloading(entry).filter(|_| closing);
        let Some(timeout) = id.and_then(|id| self.offload.ebpf_mut().reopen(id)) else {
            return *entry;
        };
        forged.push(EntryUpdate {
            zone: entry.zone,
            orig: entry.orig,
            timeout_s: Some(u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX)),
            disable_window_tracking: true,
            established: true,
        });
        Entry { tcp_state: Some(TcpState::Established), ..*entry }
    }

    /// Returns the number of conntrack's connections, whether the flow table has them or not.
    pub(crate) fn conntrack_total(&self) -> u64 {
        let listed = self.conntrack.flows.len() as u64;
        self.sys.facts().conntrack_count.unwrap_or(listed)
    }

    pub(crate) fn dump_if_due(&mut self) -> Vec<AnyEffect> {
        let conntrack = &mut self.conntrack;
        // Without the topology, every flow would lack a route.
        if self.network.is_known() && conntrack.refresh.due(self.now.mono, self.cpu_time) {
            conntrack.flows.dump_begin(self.now);
            return vec![AnyEffect::Conntrack(Effect::Dump)];
        }
        Vec::new()
    }

    /// Looks up young flows one by one while a dump every second is too expensive, so that new
    /// connections are soon shown as offloaded.
    fn look_up_young(&self) -> Option<AnyEffect> {
        if self.conntrack.refresh.interval() <= Duration::from_secs(1) {
            return None;
        }
        let young = self.conntrack.flows.young(LOOK_UPS);
        (!young.is_empty()).then(|| self.look_up(young))
    }

    pub(crate) fn conntrack_second(&mut self) -> Vec<AnyEffect> {
        self.conntrack.flows.sample(self.now);
        let mut effects = self.clear_kept();
        effects.extend(self.dump_if_due());
        effects.extend(self.look_up_young());
        effects
    }
}

fn reopening(forged: Vec<EntryUpdate>) -> Option<AnyEffect> {
    (!forged.is_empty()).then_some(AnyEffect::Conntrack(Effect::Update(forged)))
}
