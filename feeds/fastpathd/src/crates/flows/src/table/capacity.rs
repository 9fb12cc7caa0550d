// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits the table, so that a flood of connections cannot use all memory. Half-open and unanswered
//! connections are added only while the table is less than half full.

use ctnetlink::{Entry, Status, TcpState};

/// Maximum flows, about 90 MB. The example `scale` measures 200,000.
const MAX_FLOWS: usize = 210_000;

#[derive(Debug)]
pub(super) struct Capacity {
    most: usize,
    /// Entries of the current dump that found the table full.
    passed: usize,
    /// Entries of the last complete dump that found the table full, or of a failed one with more.
    unlisted: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { most: MAX_FLOWS, passed: 0, unlisted: 0 }
    }
}

impl Capacity {
    /// Returns whether a table of `len` flows has room for this one. The second half is reserved
    /// for connections in use.
    pub(super) fn has_one(&self, len: usize, entry: &Entry) -> bool {
        len < if in_use(entry) { self.most } else { self.most / 2 }
    }

    pub(super) fn begin(&mut self) {
        self.passed = 0;
    }

    /// Counts an entry of the dump that finds the table full.
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

/// Returns whether both ends have sent packets and TCP has completed its handshake.
fn in_use(entry: &Entry) -> bool {
    let kept = [Status::ASSURED, Status::OFFLOAD, Status::HW_OFFLOAD];
    let handshake = [TcpState::SynSent, TcpState::SynRecv, TcpState::SynSent2];
    let half_open = entry.tcp_state.is_some_and(|state| handshake.contains(&state));
    kept.iter().any(|bit| entry.status.has(*bit))
        || (entry.status.has(Status::SEEN_REPLY) && !half_open)
}

#[cfg(test)]
mod tests;
