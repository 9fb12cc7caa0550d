// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of all known flows. Its fields are private to this module and its children, one for
//! each kind of change: feed, judge, credit, index, offload, record; `answer` and `find` only read.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

mod answer;
mod credit;
mod feed;
mod find;
mod index;
mod judge;
mod offload;
mod places;
mod record;

use std::collections::HashSet;
use std::rc::Rc;

use ctnetlink::Tuple;
use hashbrown::HashTable;

use crate::accounts::Accounts;
use crate::ends::ByEnds;
use crate::engine::EngineState;
use crate::flow::Flow;
use crate::handshake::{OffloadRequest, ReadingStart, Rules};
use crate::history::{History, HistoryQuery, Rings};
use crate::hosts::HostTraffic;
use crate::inspection::InspectionState;
use crate::intern::{Interner, Number};
use crate::network::Side;
use crate::path::Reason;
use crate::report::{FlowRecord, RecordTimeouts};
use crate::table::places::Places;
use crate::time::Now;
use crate::totals::Totals;
use crate::traffic::{Traffic, ZoneTraffic};

/// The table of all known flows.
///
/// The daemon feeds it: [`dump_begin`](Self::dump_begin), [`merge`](Self::merge) for each entry and
/// [`dump_end`](Self::dump_end) for every refresh, [`event`](Self::event) in between,
/// [`sample`](Self::sample) once a second.
#[derive(Debug)]
pub struct FlowTable {
    flows: Vec<Flow>,
    /// Positions in `flows`, by the kernel's id. Two live flows may share one (it is a 32-bit
    /// hash), so equality also compares zone and tuple.
    index: HashTable<u32>,
    ends: ByEnds,
    sides: Interner<Side>,
    names: Interner<Rc<str>>,
    engine: EngineState,
    inspection: InspectionState,
    accounts: Accounts,
    traffic: Traffic,
    rings: Rings,
    epoch: u64,
    /// Serial number of the dump under way, or of the last one.
    dump: u32,
    dumping: bool,
    dump_start: ReadingStart,
    /// Flows at the beginning of the table that are to be compared with the last dump.
    unswept: Option<usize>,
    /// Id and zone of entries destroyed during the dump under way.
    gone: HashSet<(u32, u16)>,
    /// Id and zone of entries set to zero during the dump under way.
    reset: HashSet<(u32, u16)>,
    /// Zone and original direction of entries that have left inspection and were not read
    /// since.
    departed: Vec<(u16, Tuple)>,
    /// Flows that wait for the kernel's answer to how they are routed.
    unrouted: Vec<u64>,
    /// Routing rules lead a flow elsewhere than the kernel's flowtable sends it.
    strayed: bool,
    /// Requests that were not sent to the eBPF engine yet.
    requests: Vec<OffloadRequest>,
    /// Versions of the firewall's rules.
    rules: Rules,
    /// When records about flows are due; none: none are wanted.
    timeouts: Option<RecordTimeouts>,
    /// Records that were not fetched yet.
    records: Vec<FlowRecord>,
    /// How many flows have a place, and how many entries had none.
    places: Places,
    /// No dump has been complete yet: counters found are from before our time.
    first: bool,
    /// Serial number of the flows whose kernel id was taken.
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
            timeouts: None,
            records: Vec::new(),
            places: Places::default(),
            first: true,
            twins: 0,
            now: Now::default(),
        }
    }
}

impl FlowTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of flows known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Entries of the last dump that are not in the table because it is full.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.places.unlisted()
    }

    /// Whether no flow is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Changes whenever the answer of [`query`](Self::query) can have changed.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Once a second: moves the time series on.
    pub fn sample(&mut self, now: Now) {
        self.now = now;
        self.rings.push(now.millis(), &self.accounts.bps(), &self.accounts.flows());
        self.traffic.hosts.second(now.millis());
    }

    /// Totals by path and the offload ratio.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.accounts.totals()
    }

    /// Flows that have each reason now, local ones too.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.accounts.reasons()
    }

    /// Forwarded traffic since the start, by pair of zones.
    pub fn between_zones(&self) -> impl Iterator<Item = ZoneTraffic<'_>> {
        self.traffic.between_zones()
    }

    /// The busiest hosts behind the router.
    #[must_use]
    pub fn busiest_hosts(&self) -> &[HostTraffic] {
        self.traffic.hosts.named()
    }

    /// Bytes that all other hosts behind the router have sent and received.
    #[must_use]
    pub fn other_hosts(&self) -> [u64; 2] {
        self.traffic.hosts.others()
    }

    /// So many hosts are counted apart as the busiest.
    pub fn count_hosts(&mut self, most: u32) {
        self.traffic.hosts.limit(usize::try_from(most).unwrap_or(usize::MAX));
    }

    /// A time series, oldest sample first.
    #[must_use]
    pub fn history(&self, query: &HistoryQuery) -> History {
        self.rings.answer(query, |at| self.now.unix_ms_of(at))
    }

    /// The side with this number.
    pub(crate) fn side(&self, number: Number) -> Option<&Side> {
        self.sides.get(number)
    }

    /// All sides that flows have had.
    pub(crate) fn sides(&self) -> &Interner<Side> {
        &self.sides
    }

    /// The host name with this number; empty: none.
    pub(crate) fn name(&self, number: Number) -> &str {
        self.names.get(number).map_or("", |name| name)
    }

    /// All host names that flows have had.
    pub(crate) fn names(&self) -> &Interner<Rc<str>> {
        &self.names
    }
}
