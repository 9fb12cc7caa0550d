// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits the size of the table against floods of connections. Half-open and unanswered connections
//! may fill only half of it.

use ctnetlink::{Entry, Status, TcpState};

/// Flows for which every machine has room, about 90 MB.
const MIN_CAPACITY: usize = 210_000;
/// A larger machine uses up to one part in this many of its memory for flows.
const MEMORY_SHARE: u64 = 32;
const BYTES_PER_FLOW: u64 = 430;

#[derive(Debug)]
pub(super) struct Capacity {
    /// Maximum flows.
    most: usize,
    /// Entries of the current dump without a place in the table.
    passed: usize,
    /// Entries of the last complete dump without a place, or of a later failed dump with more.
    unlisted: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { most: MIN_CAPACITY, passed: 0, unlisted: 0 }
    }
}

impl Capacity {
    /// Returns the capacity for a machine with this much memory, in bytes.
    pub(super) fn of(memory: u64) -> Self {
        let flows = usize::try_from(memory / MEMORY_SHARE / BYTES_PER_FLOW).unwrap_or_default();
        Self { most: flows.max(MIN_CAPACITY), ..Self::default() }
    }

    pub(super) fn has_one(&self, len: usize, entry: &Entry) -> bool {
        len < if in_use(entry) { self.most } else { self.most / 2 }
    }

    pub(super) fn begin(&mut self) {
        self.passed = 0;
    }

    pub(super) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(super) fn end(&mut self, complete: bool) {
        self.unlisted = if complete { self.passed } else { self.unlisted.max(self.passed) };
    }

    pub(super) fn unlisted(&self) -> usize {
        self.unlisted
    }
}

/// Returns whether both ends have sent packets and a TCP handshake is complete.
fn in_use(entry: &Entry) -> bool {
    let kept = [Status::ASSURED, Status::OFFLOAD, Status::HW_OFFLOAD];
    let handshake = [TcpState::SynSent, TcpState::SynRecv, TcpState::SynSent2];
    let half_open = entry.tcp_state.is_some_and(|state| handshake.contains(&state));
    kept.iter().any(|bit| entry.status.has(*bit))
        || (entry.status.has(Status::SEEN_REPLY) && !half_open)
}

#[cfg(test)]
mod tests;
