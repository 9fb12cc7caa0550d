// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of all known flows.

use std::time::Duration;

use ctnetlink::{Entry, Event};

use crate::engine::EngineState;
use crate::history::{History, HistoryQuery};
use crate::network::Network;
use crate::page::{FlowDetail, FlowPage, Top};
use crate::parse::QueryError;
use crate::query::{FlowsQuery, TopQuery};
use crate::totals::Totals;

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, since an arbitrary start.
    pub mono: Duration,
    /// Unix time, milliseconds.
    pub unix_ms: u64,
}

/// The table of all known flows.
///
/// The daemon feeds it: [`dump_begin`](Self::dump_begin), [`merge`](Self::merge) for each entry and
/// [`dump_end`](Self::dump_end) for every refresh, [`event`](Self::event) in between,
/// [`sample`](Self::sample) once a second.
#[derive(Debug, Default)]
pub struct FlowTable {
    engine: EngineState,
    epoch: u64,
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
        0
    }

    /// Whether no flow is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes whenever the answer of [`query`](Self::query) can have changed.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Sets the engine in force and decides the path of every flow anew.
    pub fn engine(&mut self, engine: EngineState, _now: Now) {
        self.engine = engine;
        self.epoch += 1;
    }

    /// A dump of the conntrack table starts. An unfinished earlier one is forgotten.
    pub fn dump_begin(&mut self, _now: Now) {}

    /// One entry of the dump, with the time its batch was read.
    pub fn merge(&mut self, _entry: &Entry, _now: Now, _net: &dyn Network) {}

    /// The dump is over. `complete`: flows that were not in it are gone; pass false when the
    /// dump failed or was interrupted.
    pub fn dump_end(&mut self, _now: Now, _complete: bool) {}

    /// A change reported by the kernel.
    pub fn event(&mut self, _event: &Event, _now: Now, _net: &dyn Network) {}

    /// Once a second: moves the time series on.
    pub fn sample(&mut self, _now: Now) {}

    /// Totals by path and the offload ratio.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals::default()
    }

    /// One page of flows or groups.
    ///
    /// # Errors
    /// When the sort column does not go with the grouping.
    pub fn query(&self, query: &FlowsQuery, now: Now) -> Result<FlowPage, QueryError> {
        let _ = query;
        Ok(FlowPage {
            total: 0,
            matched: 0,
            epoch: self.epoch,
            now_ms: now.unix_ms,
            cols: &[],
            rows: Vec::new(),
        })
    }

    /// One flow with its life so far; `None` when it is gone.
    #[must_use]
    pub fn flow(&self, _id: u64, _now: Now) -> Option<FlowDetail> {
        None
    }

    /// The busiest hosts, services, VLANs or paths.
    #[must_use]
    pub fn top(&self, query: &TopQuery) -> Top {
        Top { by: query.by, rows: Vec::new() }
    }

    /// A time series, oldest sample first.
    #[must_use]
    pub fn history(&self, query: &HistoryQuery) -> History {
        History {
            series: query.series,
            step_s: query.step_s,
            cols: ["at_ms", "slow", "inspect", "flowtable", "hardware", "ebpf"],
            rows: Vec::new(),
        }
    }
}
