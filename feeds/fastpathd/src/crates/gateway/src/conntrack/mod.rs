// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates the flow table from conntrack's entries and events; `refresh.rs` schedules the dumps.

use std::collections::BTreeMap;
use std::time::Duration;

use ctnetlink::{Entry, EntryUpdate, TcpState, Tuple};
use flows::{CpuSample, FlowTable, Now, ReadingStart, RulesVersion, StackCount};
use model::Connection;

use crate::offload::ebpf::Waiting;
use refresh::Refresh;

mod refresh;

/// Lookups per second; 64 take a few milliseconds of CPU time on a small router.
const MAX_LOOKUPS: usize = 64;
/// Retry interval for marks that could not be cleared.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Flows compared per step of a sweep, so that a step takes a few milliseconds at most.
const SWEEP_BATCH: usize = 1024;

#[derive(Debug)]
pub enum Event {
    Changed(Vec<ctnetlink::Event>),
    /// The kernel dropped events because the socket's buffer was full.
    Lost,
    /// Packets per connection that our rules have counted, read before the current dump.
    Counted(Vec<StackCount>),
    /// Packets that the CPU receives; `None` without hardware offload.
    Sampled(Option<CpuSample>),
    Entries(Vec<Entry>),
    /// The dump has ended; true if it is complete.
    DumpEnded(bool),
    /// Continue to remove flows that the dump lacks.
    Sweep,
    /// Entries that were looked up, and the start of the request.
    LookedUp(Vec<Entry>, ReadingStart),
    /// Connections with waiting map entries, each with its conntrack entry, or `None` if conntrack
    /// lacks it or window tracking could not be disabled. Sent after all earlier events.
    Confirmed(Vec<(Waiting, Option<Entry>)>, ReadingStart),
    /// The mark bits for passing the rules were cleared from these connections after this rules
    /// version came into force. Sent after all earlier events.
    MarksCleared(Vec<Connection>, RulesVersion),
    /// The mark bits of these connections could not be cleared.
    MarksKept(Vec<Connection>),
    /// All events that precede this rules version have been sent.
    EventsRead(RulesVersion),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Dump,
    /// Remove the next batch of flows that the dump lacks, after pending events.
    Sweep,
    /// Look up these entries, given by zone and original direction.
    LookUp(Vec<(u16, Tuple)>, ReadingStart),
    /// Set timeouts or window tracking of connections that bypass conntrack.
    Update(Vec<EntryUpdate>),
    /// Disable window tracking of these connections and look them up, once conntrack has seen all
    /// packets that arrived before their map entries existed.
    Confirm(Vec<Waiting>, ReadingStart),
    Delete(Vec<(u16, Tuple)>),
    /// Clear these mark bits, which packets set by passing rules older than this version.
    ClearMarks(Vec<Connection>, u32, RulesVersion),
    /// Report when all events that precede this rules version have been read.
    ReadEvents(RulesVersion),
}

#[derive(Debug)]
pub struct State {
    flows: FlowTable,
    refresh: Refresh,
    /// The last dump was complete.
    complete: bool,
    /// Rules version of the pending `ReadEvents`.
    pending_read: Option<RulesVersion>,
    /// Retry time per flow whose marks could not be cleared.
    kept: BTreeMap<u64, Duration>,
}

impl State {
    /// `memory` is the machine's, in bytes.
    pub(crate) fn new(memory: u64) -> Self {
        Self {
            flows: FlowTable::for_memory(memory),
            refresh: Refresh::new(),
            complete: false,
            pending_read: None,
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

    pub(crate) fn set_min_refresh(&mut self, interval: Duration) {
        self.refresh.set_min_interval(interval);
    }

    /// Ends the forwarded connections between these zones. Returns their number.
    pub(crate) fn disconnect(&self, pairs: &[[Option<&str>; 2]]) -> (usize, Option<Effect>) {
        let connections = self.flows.connections_between(pairs);
        let entries: Vec<_> = connections.iter().map(|one| (one.zone, one.orig)).collect();
        let number = entries.len();
        log::info!("{number} connections are ended");
        (number, (number > 0).then_some(Effect::Delete(entries)))
    }

    pub(crate) fn events_lost(&mut self, now: Now) {
        // A flood may lose events every second, so log the first loss only.
        if !self.refresh.lost_lately(now.mono) {
            log::warn!("conntrack events were lost: reading the whole table again");
        }
        self.refresh.resync(now.mono);
    }

    /// Ends the dump. If it is `complete`, flows without an entry have ended.
    pub(crate) fn dump_ended(&mut self, complete: bool, now: Now) {
        self.flows.dump_over(now, complete);
        self.complete = complete;
    }

    /// Removes a batch of flows that the dump lacks. Returns true if there are more.
    pub(crate) fn sweep(&mut self) -> bool {
        self.flows.sweep(SWEEP_BATCH)
    }

    /// Schedules the next dump. Returns true if the last one was complete.
    pub(crate) fn swept(&mut self, cpu_time: Duration) -> bool {
        self.refresh.done(cpu_time);
        self.complete
    }

    pub(crate) fn look_up(&self, keys: Vec<(u16, Tuple)>) -> Effect {
        Effect::LookUp(keys, self.flows.reading_start())
    }

    /// Looks up connections whose marks were cleared, because they may have passed the rules again.
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
        let at = now.mono + RETRY_INTERVAL;
        self.kept.extend(connections.iter().map(|one| (one.id, at)));
    }

    pub(crate) fn clear_kept(&mut self, now: Now) {
        let due = |(_, at): &(&u64, &Duration)| **at <= now.mono;
        let ids: Vec<u64> = self.kept.iter().filter(due).map(|(id, _)| *id).collect();
        for id in ids {
            self.kept.remove(&id);
            self.flows.mark_kept(id, now);
        }
    }

    /// Records that all events that precede this rules version have been read.
    pub(crate) fn earlier_events_read(&mut self, version: RulesVersion) -> Option<Effect> {
        self.pending_read = None;
        self.flows.events_read(version);
        self.read_events()
    }

    /// Requests all events that precede the last rule change. Sends one request at a time.
    pub(crate) fn read_events(&mut self) -> Option<Effect> {
        let version = self.flows.rules_without_events()?;
        if self.pending_read.is_some() {
            return None;
        }
        self.pending_read = Some(version);
        Some(Effect::ReadEvents(version))
    }

    /// Returns the entry as established if a forged FIN or RST has closed it. Window tracking is
    /// off for offloaded connections, so conntrack accepts any FIN or RST that the programs pass to
    /// the kernel (with options, fragmented or too long). `reopen` returns conntrack's timeout for
    /// a flow that is still open for the programs. Adds the corrections of conntrack to `forged`.
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

    /// Returns the kernel's connection count, or the size of the flow table if it is unknown.
    pub(crate) fn total(&self, counted: Option<u64>) -> u64 {
        counted.unwrap_or(self.flows.len() as u64)
    }

    /// Starts a dump if one is due. `cpu_time` is the CPU time of this process so far.
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
        let young = self.flows.young(MAX_LOOKUPS);
        (!young.is_empty()).then(|| self.look_up(young))
    }
}

pub(crate) fn reopening(forged: Vec<EntryUpdate>) -> Option<Effect> {
    (!forged.is_empty()).then_some(Effect::Update(forged))
}
