// SPDX-License-Identifier: GPL-2.0-or-later
//! The flow table. Child modules implement its changes and queries.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

mod answer;
mod capacity;
mod credit;
mod feed;
mod find;
pub(crate) mod hardware;
mod index;
mod judge;
mod offload;
mod record;

use std::rc::Rc;

use ctnetlink::Tuple;
use hashbrown::{HashSet, HashTable};

use crate::accounts::Accounts;
use crate::ends::ByEnds;
use crate::engine::EngineState;
use crate::flow::Flow;
use crate::handshake::{OffloadRequest, ReadingStart, Rules};
use crate::history::{History, HistoryQuery, Rings};
use crate::hosts::HostTraffic;
use crate::inspection::InspectionState;
use crate::intern::{Interner, Number};
use crate::network::{KnownEnds, Side};
use crate::path::{Path, Reason};
use crate::report::{FlowRecord, RecordTimeouts};
use crate::table::capacity::Capacity;
use crate::table::hardware::Hardware;
use crate::time::{Millis, Now};
use crate::totals::Totals;
use crate::traffic::{HostGrowth, Traffic, ZoneTraffic};

/// All known flows.
///
/// For each dump, call [`dump_begin`](Self::dump_begin), [`merge`](Self::merge) for each entry, and
/// [`dump_end`](Self::dump_end). Call [`event`](Self::event) for each event, and
/// [`sample`](Self::sample) once a second.
#[derive(Debug)]
pub struct FlowTable {
    flows: Vec<Flow>,
    /// Positions in `flows` by the kernel's id. Two flows may share an id, so equality also
    /// compares zone and tuple.
    index: HashTable<u32>,
    ends: ByEnds,
    sides: Interner<Side>,
    names: Interner<Rc<str>>,
    known_ends: KnownEnds,
    engine: EngineState,
    inspection: InspectionState,
    accounts: Accounts,
    traffic: Traffic,
    rings: Rings,
    epoch: u64,
    dump: u32,
    dumping: bool,
    dump_start: ReadingStart,
    /// Number of leading flows that are not yet compared with the dump.
    unswept: Option<usize>,
    /// Id and zone of entries destroyed during the current dump.
    gone: HashSet<(u32, u16)>,
    /// Id and zone of entries whose counters were reset during the current dump.
    reset: HashSet<(u32, u16)>,
    /// Zone and original direction of flows that left inspection and need a look-up.
    departed: Vec<(u16, Tuple)>,
    unrouted: Vec<u64>,
    /// A flow in the flowtable got another route, or a mark that matches a rule for each packet.
    strayed: bool,
    requests: Vec<OffloadRequest>,
    rules: Rules,
    /// Number of leading flows that are not yet judged by the rules in force.
    unjudged: usize,
    /// Time of the last rule change that applies to offloaded flows.
    revoked_at: Millis,
    timeouts: Option<RecordTimeouts>,
    records: Vec<FlowRecord>,
    capacity: Capacity,
    hardware: Hardware,
    /// No dump has been complete, so counters include traffic from before the daemon.
    first: bool,
    /// Last serial number of a flow whose kernel id was already in use.
    twins: u32,
    now: Now,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self {
            flows: Vec::new(),
            index: HashTable::new(),
            ends: ByEnds::default(),
            sides: Interner::default(),
            names: Interner::default(),
            known_ends: KnownEnds::default(),
            engine: EngineState::default(),
            inspection: InspectionState::default(),
            accounts: Accounts::default(),
            traffic: Traffic::default(),
            rings: Rings::default(),
            epoch: 0,
            dump: 0,
            dumping: false,
            dump_start: ReadingStart::default(),
            unswept: None,
            gone: HashSet::new(),
            reset: HashSet::new(),
            departed: Vec::new(),
            unrouted: Vec::new(),
            strayed: false,
            requests: Vec::new(),
            rules: Rules::default(),
            unjudged: 0,
            revoked_at: 0,
            timeouts: None,
            records: Vec::new(),
            capacity: Capacity::default(),
            hardware: Hardware::default(),
            first: true,
            twins: 0,
            now: Now::default(),
        }
    }
}

impl FlowTable {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a table for a machine with this much memory, in bytes; 0 if unknown.
    #[must_use]
    pub fn for_memory(memory: u64) -> Self {
        Self { capacity: Capacity::of(memory), ..Self::default() }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns the number of entries of the last dump without a place in the table.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.capacity.unlisted()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Returns a number that changes whenever the result of [`query`](Self::query) may change.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Adds a sample to the time series; called once a second.
    pub fn sample(&mut self, now: Now) {
        self.now = now;
        self.rings.push(now.millis(), &self.accounts.bps(), &self.accounts.flows());
        self.traffic.hosts.second(now.millis());
    }

    #[must_use]
    pub fn totals(&self) -> Totals {
        self.accounts.totals()
    }

    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.accounts.reasons()
    }

    pub fn between_zones(&self) -> impl Iterator<Item = ZoneTraffic<'_>> {
        self.traffic.between_zones()
    }

    #[must_use]
    pub fn busiest_hosts(&self) -> &[HostTraffic] {
        self.traffic.hosts.named()
    }

    #[must_use]
    pub fn other_hosts(&self) -> [u64; 2] {
        self.traffic.hosts.others()
    }

    /// Returns the bytes of hosts since the last call.
    pub fn take_host_growth(&mut self) -> HostGrowth {
        std::mem::take(&mut self.traffic.growth)
    }

    pub fn count_hosts(&mut self, most: u32) {
        self.traffic.hosts.limit(usize::try_from(most).unwrap_or(usize::MAX));
    }

    #[must_use]
    pub fn history(&self, query: &HistoryQuery) -> History {
        self.rings.answer(query, |at| self.now.unix_ms_of(at))
    }

    pub(crate) fn shown(&self, flow: &Flow) -> (Path, Option<Reason>) {
        flow.shown(&self.rules)
    }

    pub(crate) fn rules_in_force(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn side(&self, number: Number) -> Option<&Side> {
        self.sides.get(number)
    }

    /// Returns the sides of all flows, including past ones.
    pub(crate) fn sides(&self) -> &Interner<Side> {
        &self.sides
    }

    pub(crate) fn name(&self, number: Number) -> &str {
        self.names.get(number).map_or("", |name| name)
    }

    /// Returns the host names of all flows, including past ones.
    pub(crate) fn names(&self) -> &Interner<Rc<str>> {
        &self.names
    }
}
