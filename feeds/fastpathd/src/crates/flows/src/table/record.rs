// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes flow records: after the active and idle timeouts, at the end of a flow, and before the
//! daemon exits.

use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use ctnetlink::{Counters, TcpState};

use crate::report::{FlowEndReason, FlowRecord, RecordSide, RecordTimeouts, Reported};
use crate::table::FlowTable;
use crate::time::{Millis, Now};

impl FlowTable {
    /// Sets the intervals of records; `None` disables records. Earlier counters of known flows are
    /// not reported, because a previous daemon has reported them, or there was no collector.
    pub fn record(&mut self, timeouts: Option<RecordTimeouts>, now: Now) {
        let begin = self.timeouts.is_none() && timeouts.is_some();
        self.timeouts = timeouts;
        if begin {
            for position in 0..self.flows.len() {
                self.begin_records(position, now.millis());
            }
        }
        if timeouts.is_none() {
            self.records = Vec::new();
        }
    }

    pub fn records(&mut self) -> Vec<FlowRecord> {
        std::mem::take(&mut self.records)
    }

    /// Excludes the current counters of a flow from records.
    pub(super) fn begin_records(&mut self, position: usize, at: Millis) {
        if self.timeouts.is_some() {
            let flow = &mut self.flows[position];
            flow.reported =
                Some(Box::new(Reported { known: true, ..Reported::all(flow, at, false) }));
        }
    }

    /// Excludes growth that a previous daemon already exported.
    pub(super) fn omit_from_records(&mut self, position: usize, direction: usize, grown: Counters) {
        if self.timeouts.is_none() {
            return;
        }
        let flow = &mut self.flows[position];
        let born = flow.born;
        let reported = flow.reported.get_or_insert_with(|| Box::new(Reported::nothing(born)));
        let counters = &mut reported.counters[direction];
        counters.packets = counters.packets.saturating_add(grown.packets);
        counters.bytes = counters.bytes.saturating_add(grown.bytes);
        reported.offloaded = reported.offloaded.saturating_add(grown.bytes);
    }

    /// Makes a record if it is due. Called after the counters were read.
    pub(super) fn record_if_due(&mut self, position: usize, at: Millis) {
        let Some(RecordTimeouts { active, idle }) = self.timeouts else { return };
        let flow = &mut self.flows[position];
        if flow.unreported().0 == <[Counters; 2]>::default() {
            return;
        }
        let since = flow.resume_records();
        if at - since >= flow.record_interval(active) {
            self.make_record(position, at, FlowEndReason::Active);
        } else if at - flow.active >= millis(idle) {
            self.make_record(position, at, FlowEndReason::Idle);
        }
    }

    /// Makes the last record of an ended connection. Not needed if an idle record has covered all
    /// its packets.
    pub(super) fn record_end(&mut self, position: usize, at: Millis) {
        if self.timeouts.is_none() {
            return;
        }
        let flow = &mut self.flows[position];
        let closed = flow.reported.as_ref().is_some_and(|reported| reported.closed);
        if closed && flow.unreported().0 == <[Counters; 2]>::default() {
            return;
        }
        flow.resume_records();
        let ended = flow.tcp_state.is_some_and(|state| state > TcpState::Established);
        let end = if ended { FlowEndReason::End } else { FlowEndReason::Idle };
        self.make_record(position, at, end);
    }

    /// Makes the last records of flows at these positions, before the daemon exits.
    pub fn record_rest(&mut self, positions: Range<usize>, now: Now) {
        if self.timeouts.is_none() {
            return;
        }
        self.now = now;
        for position in positions.start..positions.end.min(self.len()) {
            let flow = &mut self.flows[position];
            if flow.unreported().0 != <[Counters; 2]>::default() {
                flow.resume_records();
                self.make_record(position, now.millis(), FlowEndReason::Forced);
            }
        }
    }

    fn make_record(&mut self, position: usize, at: Millis, end: FlowEndReason) {
        let flow = &self.flows[position];
        let since = flow.reported.as_ref().map_or(flow.born, |reported| reported.until);
        let (grown, offloaded) = flow.unreported();
        let (path, reason) = flow.best_since(since);
        let until = flow.active.max(since);
        let unix = |moment: Millis| self.now.unix_ms_of(moment);
        let [from, to] = flow.record_ends();
        let side = |ends: [_; 2], number| {
            let [sent, received] = ends;
            let side = self.sides.get(number);
            RecordSide {
                sent,
                received,
                device: side.map_or_else(|| Rc::from(""), |side| side.device.clone()),
                vlan: side.map_or(0, |side| side.vlan),
                zone: side.map_or_else(|| Rc::from(""), |side| side.zone.clone()),
            }
        };
        let record = FlowRecord {
            id: flow.id,
            proto: flow.orig.proto,
            start_ms: unix(since),
            end_ms: unix(until),
            sides: [side(from, flow.initiator), side(to, flow.responder)],
            grown,
            offloaded,
            end,
            path,
            reason,
            inspection: flow.inspection,
        };
        self.records.push(record);
        let flow = &mut self.flows[position];
        let closed = end != FlowEndReason::Active;
        flow.reported = Some(Box::new(Reported::all(flow, at, closed)));
    }
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}
