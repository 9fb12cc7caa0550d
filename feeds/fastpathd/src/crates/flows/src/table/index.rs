// SPDX-License-Identifier: GPL-2.0-or-later
//! Inserts, updates and removes flows, and keeps them indexed by the kernel's id.

use ctnetlink::{Entry, Status};

use crate::flow::{Flow, Reading};
use crate::handshake::Event;
use crate::table::FlowTable;
use crate::time::{Millis, Now};

/// Maximum plausible age. A higher age means that the clock was set.
const MAX_AGE_MS: u64 = 10 * 366 * 86_400_000;

impl FlowTable {
    pub(super) fn known(&self, entry: &Entry) -> Option<usize> {
        let same = |position: &u32| self.flows[*position as usize].is(entry);
        self.index.find(hash(entry.id), same).map(|position| *position as usize)
    }

    pub(super) fn position(&self, id: u64) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's id is below")]
        let kernel = id as u32;
        let same = |position: &u32| self.flows[*position as usize].id == id;
        self.index.find(hash(kernel), same).map(|position| *position as usize)
    }

    /// Returns the position of the flow with this kernel id; `None` if two flows share the id.
    pub(super) fn with_kernel_id(&self, id: u32) -> Option<usize> {
        let same = |position: &&u32| self.flows[**position as usize].kernel_id() == id;
        let mut found = self.index.iter_hash(hash(id)).filter(same);
        let position = found.next().filter(|_| found.next().is_none());
        position.map(|position| *position as usize)
    }

    /// Adds the flow of `entry`. `ours`: the flow is new, so all its bytes count.
    pub(super) fn insert(&mut self, entry: &Entry, now: Now, ours: bool) -> usize {
        let flows = &mut self.flows;
        let taken = |position: &u32| flows[*position as usize].kernel_id() == entry.id;
        let mut id = u64::from(entry.id);
        if self.index.find(hash(entry.id), taken).is_some() {
            // 52 bits are exact in a JSON number.
            self.twins = (self.twins + 1) & 0xf_ffff;
            id |= u64::from(self.twins) << 32;
        }
        let mut flow = Flow::new(id, entry, born(entry, now), now.millis());
        flow.reading = if ours { Reading::Ours } else { Reading::Foreign };
        let position = flows.len();
        self.accounts.enter(flow.path, flow.reason);
        flows.push(flow);
        let rehash = |position: &u32| hash(flows[*position as usize].kernel_id());
        self.index.insert_unique(hash(entry.id), small(position), rehash);
        self.ends.insert(flows, position);
        position
    }

    pub(super) fn remove(&mut self, position: usize) {
        self.unindex(position, None);
        self.ends.remove(&self.flows, position);
        let last = self.flows.len() - 1;
        if position < last {
            self.ends.moved(&self.flows, last, position);
        }
        let mut gone = self.flows.swap_remove(position);
        self.requests.extend(gone.offload_step(Event::Ineligible));
        self.accounts.leave(gone.path, gone.reason);
        if position < self.flows.len() {
            self.unindex(self.flows.len(), Some(position));
        }
    }

    pub(super) fn update(&mut self, position: usize, entry: &Entry, whole: bool) {
        let same_ends = self.flows[position].reply == entry.reply;
        if !same_ends {
            // A connection with another translation has reused the id.
            self.offload_step(position, Event::Ineligible);
            self.ends.remove(&self.flows, position);
        }
        let mark = self.flows[position].mark;
        self.flows[position].update(entry, whole);
        // The flowtable keeps a flow even if its new mark matches a rule for each packet.
        let flow = &self.flows[position];
        self.strayed |= flow.mark != mark
            && flow.status.0 & (Status::OFFLOAD | Status::HW_OFFLOAD).0 != 0
            && self.rule_reached(flow).is_some();
        if !same_ends {
            self.ends.insert(&self.flows, position);
        }
    }

    fn unindex(&mut self, position: usize, moved: Option<usize>) {
        let id = self.flows[moved.unwrap_or(position)].kernel_id();
        let old = small(position);
        if let Ok(mut entry) = self.index.find_entry(hash(id), |found| *found == old) {
            match moved {
                Some(moved) => *entry.get_mut() = small(moved),
                None => drop(entry.remove()),
            }
        }
    }

    pub(super) fn shrink(&mut self) {
        let len = self.flows.len();
        if self.flows.capacity() / 4 > len + 1024 {
            self.flows.shrink_to(len * 2);
            let flows = &self.flows;
            self.index.shrink_to(len * 2, |at| hash(flows[*at as usize].kernel_id()));
            self.ends.shrink();
        }
    }
}

/// Returns the start of the flow by the kernel's timestamp; now if it has none.
fn born(entry: &Entry, now: Now) -> Millis {
    let started = entry.start_ns.map(|ns| ns / 1_000_000);
    let age = started.and_then(|ms| now.unix_ms.checked_sub(ms)).filter(|age| *age < MAX_AGE_MS);
    now.millis().saturating_sub_unsigned(age.unwrap_or(0))
}

/// Converts a position to 32 bits, which suffice for any table that fits into memory.
pub(super) fn small(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Spreads the kernel's id, a keyed hash, into the upper bits, which hashbrown compares first.
fn hash(id: u32) -> u64 {
    u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
