// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies dumps, events, look-ups and re-inspection to the table, and selects flows for an early
//! look-up.

use ctnetlink::{Entry, Event, Tuple};
use hashbrown::HashSet;

use crate::flow::Flow;
use crate::handshake::{self, ReadingStart};
use crate::network::Network;
use crate::path::Reason;
use crate::stack::StackCount;
use crate::table::FlowTable;
use crate::time::{Millis, Now};

/// Newest flows searched for young flows; about a second's worth on a busy router.
const YOUNG_AMONG: usize = 4096;

/// Maximum flows queued for a look-up after inspection. The next dump reads all other flows.
const MAX_DEPARTED: usize = 4096;

impl FlowTable {
    pub fn dump_begin(&mut self, now: Now) {
        self.sweep(usize::MAX);
        self.now = now;
        self.dump = self.dump.wrapping_add(1);
        self.dumping = true;
        self.dump_start = self.reading_start();
        self.gone.clear();
        self.reset.clear();
        self.capacity.begin();
    }

    /// Merges one entry of the dump. `now` is the time of its batch.
    pub fn merge(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        self.merge_since(self.dump_start, entry, now, net);
    }

    fn merge_since(&mut self, start: ReadingStart, entry: &Entry, now: Now, net: &dyn Network) {
        let position = match self.known(entry) {
            Some(position) if self.flows[position].restarted(entry) => {
                self.end(position, now.millis());
                self.insert(entry, now, true)
            }
            // The entry was read before its counters were reset.
            Some(position) if self.reset.contains(&(entry.id, entry.zone)) => {
                self.flows[position].seen = self.dump;
                return;
            }
            Some(position) => position,
            // The entry was read before it was destroyed.
            None if self.gone.contains(&(entry.id, entry.zone)) => return,
            None if !self.capacity.has_one(self.len(), entry) => return self.capacity.pass(),
            None => {
                let position = self.insert(entry, now, !self.first);
                if self.first {
                    self.flows[position].rules = self.rules.of_first_dump();
                }
                position
            }
        };
        self.flows[position].seen = self.dump;
        let entry = self.as_cleared(position, entry, start);
        self.read(position, &entry, now.millis(), false, net);
    }

    /// Ends the dump, and removes missing flows if it was `complete`.
    pub fn dump_end(&mut self, now: Now, complete: bool) {
        self.dump_over(now, complete);
        self.sweep(usize::MAX);
    }

    /// Like [`dump_end`](Self::dump_end), but the caller removes missing flows in steps with
    /// [`sweep`](Self::sweep), because a flood may leave a hundred thousand flows.
    pub fn dump_over(&mut self, now: Now, complete: bool) {
        self.now = now;
        self.dumping = false;
        self.gone = HashSet::new();
        self.reset = HashSet::new();
        self.departed.clear();
        self.capacity.end(complete);
        if complete {
            self.unswept = Some(self.len());
            self.first = false;
        }
        self.accounts.read(now.millis());
        self.epoch += 1;
    }

    /// Checks up to `most` flows from the end of the table and removes flows missing in the dump.
    /// Returns true while flows are left to check. Events may be applied between two calls, because
    /// a removal moves only the last flow, which has been checked.
    pub fn sweep(&mut self, most: usize) -> bool {
        let Some(unswept) = self.unswept else { return false };
        let unswept = unswept.min(self.len());
        let rest = unswept.saturating_sub(most);
        for position in (rest..unswept).rev() {
            if self.flows[position].seen != self.dump {
                self.end(position, self.now.millis());
            }
        }
        self.epoch += 1;
        if rest > 0 {
            self.unswept = Some(rest);
            return true;
        }
        self.unswept = None;
        self.shrink();
        false
    }

    pub fn event(&mut self, event: &Event, now: Now, net: &dyn Network) {
        let at = now.millis();
        let (entry, new) = match event {
            Event::Destroy(entry) => return self.destroy(entry, at),
            Event::New(entry) => (entry, true),
            Event::Update(entry) => (entry, false),
        };
        let position = match self.known(entry) {
            Some(position) => {
                // The id was reused, or a dump has already reported the connection.
                if new {
                    self.offload_step(position, handshake::Event::Ineligible);
                    let bits = self.passed_bits();
                    let flow = &mut self.flows[position];
                    flow.mark &= !bits;
                    flow.rules.begin(&mut self.rules);
                }
                position
            }
            // The next dump counts the entry as unlisted.
            None if !self.capacity.has_one(self.len(), entry) => return,
            None => {
                let position = self.insert(entry, now, new || !self.first);
                if new {
                    self.flows[position].rules = self.rules.of_new();
                }
                position
            }
        };
        self.flows[position].seen = self.dump;
        self.update(position, entry, false);
        self.survey(position, net);
        let before = self.flows[position].inspection;
        self.note_paths(position);
        let flow = &self.flows[position];
        if !before.over() && flow.inspection.over() && self.departed.len() < MAX_DEPARTED {
            self.departed.push((flow.zone, flow.orig));
        }
        self.judge(position, at);
        self.epoch += 1;
    }

    /// Adopts counters of rules. Call before the dump that follows.
    pub fn seen_by_stack(&mut self, counts: &[StackCount], now: Now) {
        for StackCount { id, seen, counters } in counts {
            if let Some(position) = self.with_kernel_id(*id) {
                let by_stack = self.flows[position].by_stack.get_or_insert_default();
                by_stack.count(*seen, *counters, now.millis());
            }
        }
    }

    /// Returns zone and original direction of flows that the kernel may offload with the next
    /// packet, newest first. No event reports the offload, so look them up.
    #[must_use]
    pub fn young(&self, most: usize) -> Vec<(u16, Tuple)> {
        let flows = self.flows.iter().rev().take(YOUNG_AMONG);
        let waits =
            |flow: &&Flow| matches!(flow.reason, Some(Reason::Pending | Reason::FirstPackets));
        let young = flows.filter(waits);
        young.take(most).map(|flow| (flow.zone, flow.orig)).collect()
    }

    /// Returns zone and original direction of flows that left inspection since the last call. An
    /// immediate look-up separates inspected bytes from later ones.
    pub fn departed(&mut self) -> Vec<(u16, Tuple)> {
        std::mem::take(&mut self.departed)
    }

    /// Applies an entry of [`ctnetlink::Reinspection`], which has the values before counters and
    /// mark bits were reset. Ignores unknown flows, which the next dump adds.
    pub fn reinspected(&mut self, entry: &Entry, now: Now, net: &dyn Network) {
        let Some(position) = self.known(entry) else { return };
        if self.dumping {
            self.reset.insert((entry.id, entry.zone));
        }
        let at = now.millis();
        // The start of the reading is unknown.
        let entry = &self.as_cleared(position, entry, ReadingStart::default());
        self.read(position, entry, at, true, net);
        let ours = self.inspection.bypass | self.inspection.spent;
        let flow = &mut self.flows[position];
        flow.set_to_zero();
        flow.mark &= !ours;
        self.note_paths(position);
        self.judge(position, at);
        self.flows[position].credited();
        self.epoch += 1;
    }

    /// Merges the entry of a look-up. Ignores unknown flows, which the next event or dump adds.
    pub fn refresh(&mut self, entry: &Entry, start: ReadingStart, now: Now, net: &dyn Network) {
        if self.known(entry).is_some() {
            self.merge_since(start, entry, now, net);
            self.epoch += 1;
        }
    }

    fn destroy(&mut self, entry: &Entry, at: Millis) {
        if self.dumping {
            self.gone.insert((entry.id, entry.zone));
        }
        let Some(position) = self.known(entry) else { return };
        let flow = &mut self.flows[position];
        flow.mark |= entry.mark;
        flow.tcp_state = entry.tcp_state.or(flow.tcp_state);
        self.note_paths(position);
        self.count(position, entry, at, true, true);
        self.end(position, at);
        self.epoch += 1;
    }

    /// Adopts an entry of a dump or look-up. `last` reads the counters even shortly after the
    /// previous reading.
    fn read(&mut self, position: usize, entry: &Entry, at: Millis, last: bool, net: &dyn Network) {
        self.update(position, entry, true);
        self.survey(position, net);
        self.note_paths(position);
        let counted = self.count(position, entry, at, last, false);
        self.judge(position, at);
        if counted {
            self.record_if_due(position, at);
            self.flows[position].credited();
        }
    }

    fn end(&mut self, position: usize, at: Millis) {
        self.note_revoked(position);
        self.record_end(position, at);
        self.remove(position);
    }
}
