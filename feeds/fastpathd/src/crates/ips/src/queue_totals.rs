// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets of each queue since the daemon's start. The kernel counts in 32 bits, and from 0 when a
//! queue is bound: a busy one wraps within hours.

use std::collections::BTreeMap;

use crate::queues::Queue;

/// Packets of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueTotal {
    /// With a verdict.
    pub handled: u64,
    /// Lost because the queue or its reader's memory was full.
    pub dropped: u64,
}

/// Sums of all queues, by number.
#[derive(Debug, Default)]
pub struct QueueTotals(BTreeMap<u16, (Queue, QueueTotal)>);

impl QueueTotals {
    /// Reads a queue; at most 2³² packets pass between two readings.
    pub fn read(&mut self, queue: Queue) {
        let new = (Queue { handled: 0, full: 0, unread: 0, ..queue }, QueueTotal::default());
        let (before, total) = self.0.entry(queue.number).or_insert(new);
        // Another listener has bound it: the kernel's counters began at 0.
        if before.listener != queue.listener {
            *before = new.0;
        }
        let grown = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        total.handled += grown(queue.handled, before.handled);
        total.dropped += grown(queue.full, before.full) + grown(queue.unread, before.unread);
        *before = queue;
    }

    /// The sums of a queue.
    #[must_use]
    pub fn of(&self, number: u16) -> QueueTotal {
        self.0.get(&number).map(|(_, total)| *total).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(listener: u32, handled: u32, full: u32) -> Queue {
        Queue { number: 3, listener, depth: 0, handled, full, unread: 0 }
    }

    #[test]
    fn sums_go_on_when_the_kernels_counters_wrap_or_start_again() {
        let mut totals = QueueTotals::default();
        assert_eq!(totals.of(3), QueueTotal::default());
        totals.read(queue(1, 4_000_000_000, 5));
        totals.read(queue(1, 4_294_967_295, 5));
        totals.read(queue(1, 9, 6));
        assert_eq!(totals.of(3), QueueTotal { handled: 4_294_967_305, dropped: 6 });
        totals.read(queue(2, 100, 1));
        assert_eq!(totals.of(3), QueueTotal { handled: 4_294_967_405, dropped: 7 });
        assert_eq!(totals.of(4), QueueTotal::default());
    }
}
