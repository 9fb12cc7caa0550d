// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of all known flows: what the daemon asks.

mod answer;
mod credit;
mod feed;
mod index;
mod offload;

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::Tuple;
use hashbrown::HashTable;

use crate::accounts::Accounts;
use crate::ends::ByEnds;
use crate::engine::EngineState;
use crate::flow::{Flow, Millis};
use crate::history::{History, HistoryQuery, Rings};
use crate::inspection::InspectionState;
use crate::intern::Interner;
use crate::network::Side;
use crate::totals::Totals;

pub use offload::{Offer, Takeup, Wish};

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since an arbitrary start.
    pub mono: Duration,
    /// Unix time, milliseconds.
    pub unix_ms: u64,
}

impl Now {
    pub(crate) fn millis(self) -> Millis {
        Millis::try_from(self.mono.as_millis()).unwrap_or(Millis::MAX)
    }

    /// A monotonic moment in Unix ms. Only the present relation of the clocks is known: moments
    /// before a jump of the Unix clock are told as if it had not jumped.
    pub(crate) fn unix_ms_of(self, at: Millis) -> u64 {
        self.unix_ms.saturating_add_signed(at.saturating_sub(self.millis()))
    }
}

/// The table of all known flows.
///
/// The daemon feeds it: [`dump_begin`](Self::dump_begin), [`merge`](Self::merge) for each entry and
/// [`dump_end`](Self::dump_end) for every refresh, [`event`](Self::event) in between,
/// [`sample`](Self::sample) once a second.
#[derive(Debug)]
pub struct FlowTable {
    pub(crate) flows: Vec<Flow>,
    /// Positions in `flows`, by the kernel's id. Two live flows may share one (it is a 32-bit
    /// hash), so equality also looks at zone and tuple.
    pub(crate) index: HashTable<u32>,
    pub(crate) ends: ByEnds,
    pub(crate) sides: Interner<Side>,
    pub(crate) names: Interner<Rc<str>>,
    pub(crate) engine: EngineState,
    pub(crate) inspection: InspectionState,
    pub(crate) accounts: Accounts,
    pub(crate) rings: Rings,
    pub(crate) epoch: u64,
    /// Serial number of the dump under way, or of the last one.
    pub(crate) dump: u32,
    pub(crate) dumping: bool,
    /// Id and zone of what was destroyed during the dump under way.
    pub(crate) gone: HashSet<(u32, u16)>,
    /// Id and zone of what was set to zero during the dump under way.
    pub(crate) reset: HashSet<(u32, u16)>,
    /// Zone and original direction of what has left inspection and was not read since.
    pub(crate) departed: Vec<(u16, Tuple)>,
    /// What the eBPF engine has not been told yet.
    pub(crate) wishes: Vec<Wish>,
    /// Number of the firewall's rules in force.
    pub(crate) rules: u64,
    /// Number of those that carried flows must have passed.
    pub(crate) rules_for_carried: u64,
    /// Number of those that flows of the first dump have passed; 0: that is not known.
    pub(crate) found: u64,
    /// No dump has been complete yet: counters found are from before our time.
    pub(crate) first: bool,
    /// Serial number of the flows whose kernel id was taken.
    pub(crate) twins: u32,
    pub(crate) now: Now,
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
            rings: Rings::default(),
            epoch: 0,
            dump: 0,
            dumping: false,
            gone: HashSet::new(),
            reset: HashSet::new(),
            departed: Vec::new(),
            wishes: Vec::new(),
            rules: 1,
            rules_for_carried: 1,
            found: 0,
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
    }

    /// Totals by path and the offload ratio.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.accounts.totals()
    }

    /// A time series, oldest sample first.
    #[must_use]
    pub fn history(&self, query: &HistoryQuery) -> History {
        self.rings.answer(query, |at| self.now.unix_ms_of(at))
    }
}
