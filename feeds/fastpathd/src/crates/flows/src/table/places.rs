// SPDX-License-Identifier: GPL-2.0-or-later
//! How many flows the table holds, so that no flood of connections takes all memory: 210,000, half
//! of them at most half-open or unanswered ones. Crate `flows`' example `scale` reads 200,000.

use ctnetlink::{Entry, Status, TcpState};

/// About 90 MB.
const MOST: usize = 210_000;

/// Limits, and entries that were left out.
#[derive(Debug)]
pub(super) struct Places {
    /// Flows at most.
    most: usize,
    /// Entries of the dump under way that have no place.
    passed: usize,
    /// Those of the last whole dump.
    unlisted: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self { most: MOST, passed: 0, unlisted: 0 }
    }
}

impl Places {
    /// Whether a table of `len` flows has a place for this one. Half-open and unanswered
    /// connections find none in the second half, so that connections in use do.
    pub(super) fn has_one(&self, len: usize, entry: &Entry) -> bool {
        len < if in_use(entry) { self.most } else { self.most / 2 }
    }

    pub(super) fn begin(&mut self) {
        self.passed = 0;
    }

    /// An entry of the dump has no place.
    pub(super) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(super) fn end(&mut self) {
        self.unlisted = self.passed;
    }

    pub(super) fn unlisted(&self) -> usize {
        self.unlisted
    }
}

/// Both ends have sent packets, and TCP has ended its handshake.
fn in_use(entry: &Entry) -> bool {
    let kept = [Status::ASSURED, Status::OFFLOAD, Status::HW_OFFLOAD];
    let handshake = [TcpState::SynSent, TcpState::SynRecv, TcpState::SynSent2];
    let half_open = entry.tcp_state.is_some_and(|state| handshake.contains(&state));
    kept.iter().any(|bit| entry.status.has(*bit))
        || (entry.status.has(Status::SEEN_REPLY) && !half_open)
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
