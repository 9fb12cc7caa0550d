// SPDX-License-Identifier: GPL-2.0-or-later
//! Fills the flow table from conntrack's entries and events. `refresh.rs` decides when to dump.

use std::collections::BTreeMap;
use std::time::Duration;

use ctnetlink::{Entry, EntryUpdate, TcpState, Tuple};
use flows::{FlowTable, Now, ReadingStart, RulesVersion, StackCount};
use model::Connection;

use crate::offload::ebpf::Waiting;
use refresh::Refresh;

mod refresh;

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

    /// Ends the forwarded connections between these zones. Returns their number.
    pub(crate) fn disconnect(&self, pairs: &[[Option<&str>; 2]]) -> (usize, Option<Effect>) {
        let connections = self.flows.connections_between(pairs);
        let entries: Vec<_> = connections.iter().map(|one| (one.zone, one.orig)).collect();
        let number = entries.len();
        log::info!("{number} connections are ended");
        (number, (number > 0).then_some(Effect::Delete(entries)))
    }

    /// Requests another dump, because events were lost.
    pub(crate) fn events_lost(&mut self, now: Now) {
        // A flood may lose events every second, so log the first loss only.
        if !self.refresh.lost_lately(now.mono) {
            log::warn!("conntrack events were lost: reading the whole table again");
        }
        self.refresh.resync(now.mono);
    }

    /// Ends the dump. After a `complete` one, flows without an entry are gone.
    pub(crate) fn dump_ended(&mut self, complete: bool, now: Now) {
        self.flows.dump_over(now, complete);
        self.complete = complete;
    }

    /// Removes a batch of flows that the dump lacks. Returns true if there are more.
    pub(crate) fn sweep(&mut self) -> bool {
        self.flows.sweep(SWEPT)
    }

    /// Schedules the next dump. Returns true if the last one was complete.
    pub(crate) fn swept(&mut self, cpu_time: Duration) -> bool {
        self.refresh.done(cpu_time);
        self.complete
    }

    pub(crate) fn look_up(&self, keys: Vec<(u16, Tuple)>) -> Effect {
        Effect::LookUp(keys, self.flows.reading_start())
    }

    /// Looks up connections after their marks were cleared: they may have passed the rules since.
    pub(crate) fn marks_cleared(
        &mut self,
        connections: &[Connection],
        version: RulesVersion,
    ) -> Effect {
        for connection in connections {
            self.flows.mark_cleared(connection.id, version);
        }
        self.look_up(connections.iter().map(|one| (one.zone, one.orig)).collect())
    }

    /// Schedules a retry for marks that could not be cleared. The flows stay on the slow path.
    pub(crate) fn marks_kept(&mut self, connections: &[Connection], now: Now) {
        let at = now.mono + RETRY;
        self.kept.extend(connections.iter().map(|one| (one.id, at)));
    }

    /// Retries to clear marks.
    pub(crate) fn clear_kept(&mut self, now: Now) {
        let due = |(_, at): &(&u64, &Duration)| **at <= now.mono;
        let ids: Vec<u64> = self.kept.iter().filter(due).map(|(id, _)| *id).collect();
        for id in ids {
            self.kept.remove(&id);
            self.flows.mark_kept(id, now);
        }
    }

    /// Notes that all events from before these rules have been reported.
    pub(crate) fn earlier_events_read(&mut self, version: RulesVersion) -> Option<Effect> {
        self.reads_events = None;
        self.flows.events_read(version);
        self.read_events()
    }

    /// Requests the events from before the last change of the rules, so that older connections can
    /// be distinguished from newer ones. One request at a time.
    pub(crate) fn read_events(&mut self) -> Option<Effect> {
        let version = self.flows.rules_without_events()?;
        if self.reads_events.is_some() {
            return None;
        }
        self.reads_events = Some(version);
        Some(Effect::ReadEvents(version))
    }

    /// Returns the entry without a FIN or RST that conntrack must not believe. Window tracking is
    /// off for offloaded connections, so conntrack accepts each FIN and RST that the programs leave
    /// to the kernel (with options, fragmented or too long). `reopen` returns conntrack's timeout
    /// for a flow that is open for the programs. Adds the updates that correct conntrack to
    /// `forged`.
    pub(crate) fn reopened(
        &self,
        entry: &Entry,
        forged: &mut Vec<EntryUpdate>,
        reopen: impl FnOnce(u64) -> Option<Duration>,
    ) -> Entry {
        let closing = entry.tcp_state.is_some_and(|state| state > TcpState::Established);
        let id = self.flows.offloading(entry).filter(|_| closing);
        let Some(timeout) = id.and_then(reopen) else {
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
    /// `counted` is conntrack's own count.
    pub(crate) fn total(&self, counted: Option<u64>) -> u64 {
        counted.unwrap_or(self.flows.len() as u64)
    }

    /// Begins a dump if one is due. `cpu_time` is the CPU time of this process so far.
    pub(crate) fn dump_if_due(&mut self, now: Now, cpu_time: Duration) -> Option<Effect> {
        if !self.refresh.due(now.mono, cpu_time) {
            return None;
        }
        self.flows.dump_begin(now);
        Some(Effect::Dump)
    }

    /// Looks up young flows one by one while a dump every second is too expensive, so that new
    /// connections are soon shown as offloaded.
    pub(crate) fn look_up_young(&self) -> Option<Effect> {
        if self.refresh.interval() <= Duration::from_secs(1) {
            return None;
        }
        let young = self.flows.young(LOOK_UPS);
        (!young.is_empty()).then(|| self.look_up(young))
    }
}

/// Returns the request to correct conntrack by these updates.
pub(crate) fn reopening(forged: Vec<EntryUpdate>) -> Option<Effect> {
    (!forged.is_empty()).then_some(Effect::Update(forged))
}
