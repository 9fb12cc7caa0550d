// SPDX-License-Identifier: GPL-2.0-or-later
//! Credits counter growth to paths. If inspection ended between two readings, the budget limits the
//! growth that is credited to inspection.

use ctnetlink::{Counters, Entry};

use crate::flow::{Delta, Flow, Growth, Reading};
use crate::handshake::Event;
use crate::inspection::{InspectionState, InspectionStatus};
use crate::ladder;
use crate::path::Path;
use crate::table::FlowTable;
use crate::time::Millis;
use crate::traffic::Credit;

/// Suricata's default stream depth, which limits inspection without a budget.
const DEPTH: u64 = 1 << 20;

impl FlowTable {
    /// Reads the counters and credits their growth. Returns false if there is nothing to read.
    /// `last` reads even shortly after the previous reading. `ended`: no further reading follows.
    pub(super) fn count(
        &mut self,
        position: usize,
        entry: &Entry,
        at: Millis,
        last: bool,
        ended: bool,
    ) -> bool {
        let flow = &mut self.flows[position];
        if flow.reading == Reading::Foreign {
            flow.baseline(entry, at);
            self.begin_records(position, at);
            return true;
        }
        let mixed = flow.inspected && flow.best_path.is_some();
        let Some(growth) = flow.count(entry, at, last || mixed) else { return false };
        if growth.delta != Delta::default() {
            let request = flow.offload_step(Event::Active);
            self.requests.extend(request);
        }
        let best = flow.best_path.unwrap_or(Path::Slow);
        let inspected = match (flow.inspected, mixed) {
            (false, _) => Delta::default(),
            (true, false) => growth.delta,
            (true, true) => before_leaving(&growth, &self.inspection),
        };
        let reach = flow.reach_of(self.engine.engine);
        let rest = [0, 1].map(|i| less(growth.delta[i], inspected[i]));
        let missed = flow.by_stack.as_deref_mut().filter(|_| best.offloaded());
        let missed = missed.map(|seen| seen.part(&rest, ended)).unwrap_or_default();
        let mut credits = [Credit::default(); 6];
        for direction in [0, 1] {
            let path = ladder::direction(best, reach[direction]);
            let counters = less(rest[direction], missed[direction]);
            if path.offloaded() {
                flow.offloaded_bytes = flow.offloaded_bytes.saturating_add(counters.bytes);
            }
            let inspected = inspected[direction];
            credits[direction] = Credit { path: Path::Inspect, direction, counters: inspected };
            credits[2 + direction] = Credit { path, direction, counters };
            let counters = missed[direction];
            credits[4 + direction] = Credit { path: Path::Slow, direction, counters };
        }
        if flow.forwarded() {
            for credit in &credits {
                self.accounts.add(credit.path, credit.counters);
            }
            self.traffic.add(flow, &self.sides, &credits);
        }
        true
    }

    /// Returns the rate of a flow on the fast path. A flowtable may forward only one direction.
    pub(crate) fn fast_bps(&self, flow: &Flow) -> f32 {
        let reach = flow.reach_of(self.engine.engine);
        let (path, _) = self.shown(flow);
        let fast = |i: usize| ladder::direction(path, reach[i]).offloaded();
        let rates = [flow.up_bps, flow.down_bps];
        (0..2).filter(|i| fast(*i)).map(|i| rates[i]).sum()
    }

    /// Updates best path and inspection status, which determine the credit of the next reading.
    pub(super) fn note_paths(&mut self, position: usize) {
        self.note_hardware(position);
        let flow = &mut self.flows[position];
        let offloaded = ladder::offloaded(flow.status, flow.reach_of(self.engine.engine));
        flow.inspection = if flow.forwarded() {
            self.inspection.standing(flow.action, flow.mark, offloaded.is_some())
        } else {
            InspectionStatus::None
        };
        match (offloaded, flow.inspection) {
            (None, InspectionStatus::Inspecting | InspectionStatus::Always) => {
                flow.inspected = true;
            }
            (path, _) => flow.best_path = flow.best_path.max(Some(path.unwrap_or(Path::Slow))),
        }
        // Inspection ended before the first reading.
        flow.inspected |= flow.inspection.over() && flow.reading == Reading::Ours;
    }
}

/// Returns the part of `growth` that may have been inspected before inspection ended: the rest of
/// the budget, divided proportionally between both directions. An upper bound after a bypass.
fn before_leaving(growth: &Growth, state: &InspectionState) -> Delta {
    let [up, down] = growth.delta;
    let bytes = up.bytes.saturating_add(down.bytes);
    let packets = up.packets.saturating_add(down.packets);
    let budget = match (state.budget_bytes, state.budget_packets) {
        (0, 0) => DEPTH,
        (0, _) => u64::MAX,
        (bytes, _) => bytes,
    };
    let room = budget.saturating_sub(growth.before.bytes).min(bytes);
    let mut share = (room, bytes);
    if state.budget_packets != 0 {
        let room = state.budget_packets.saturating_sub(growth.before.packets).min(packets);
        if u128::from(room) * u128::from(share.1) < u128::from(share.0) * u128::from(packets) {
            share = (room, packets);
        }
    }
    growth.delta.map(|Counters { packets, bytes }| Counters {
        packets: part(packets, share),
        bytes: part(bytes, share),
    })
}

/// Returns `whole * share.0 / share.1`, or `whole` if `share.1` is 0.
fn part(whole: u64, share: (u64, u64)) -> u64 {
    let product = u128::from(whole) * u128::from(share.0);
    let part = product.checked_div(u128::from(share.1));
    part.map_or(whole, |part| u64::try_from(part).unwrap_or(whole))
}

fn less(whole: Counters, part: Counters) -> Counters {
    Counters {
        packets: whole.packets.saturating_sub(part.packets),
        bytes: whole.bytes.saturating_sub(part.bytes),
    }
}
