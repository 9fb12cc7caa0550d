// SPDX-License-Identifier: GPL-2.0-or-later
//! Packet totals of each queue since the daemon's start. The kernel's 32-bit counters restart when
//! a queue is bound, and wrap within hours on a busy queue.

use std::collections::BTreeMap;

use crate::queues::Queue;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueTotal {
    pub handled: u64,
    /// Packets lost because the queue or its listener's socket buffer was full.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub struct QueueTotals {
    queues: BTreeMap<u16, (Queue, QueueTotal)>,
    /// Whether there was a first reading, so that new queues count from 0.
    has_base: bool,
}

impl QueueTotals {
    /// Adds a reading of all queues. Fewer than 2³¹ packets may pass between two readings. The
    /// first reading is the base, because it includes packets from before the daemon's start.
    pub fn read(&mut self, queues: &[Queue]) {
        let has_base = std::mem::replace(&mut self.has_base, true);
        for queue in queues {
            let zero = Queue { handled: 0, full: 0, unread: 0, ..*queue };
            let first = if has_base { zero } else { *queue };
            let new = (first, QueueTotal::default());
            let (before, total) = self.queues.entry(queue.number).or_insert(new);
            // A new listener has bound the queue, so its counters started at 0.
            if before.listener != queue.listener {
                *before = zero;
            }
            before.listener = queue.listener;
            total.handled += growth(queue.handled, &mut before.handled);
            total.dropped += growth(queue.full, &mut before.full);
            total.dropped += growth(queue.unread, &mut before.unread);
        }
    }

    #[must_use]
    pub fn of(&self, number: u16) -> QueueTotal {
        self.queues.get(&number).map(|(_, total)| *total).unwrap_or_default()
    }
}

/// Returns the growth of a 32-bit counter since `before`. The kernel reads its two counters at
/// different times, so their difference may decrease.
fn growth(now: u32, before: &mut u32) -> u64 {
    let growth = now.wrapping_sub(*before);
    if growth > u32::MAX / 2 {
        return 0;
    }
    *before = now;
    growth.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(listener: u32, handled: u32, full: u32) -> Queue {
        Queue { number: 3, listener, depth: 0, handled, full, unread: 0 }
    }

    #[test]
    fn totals_continue_when_the_kernels_counters_wrap_or_restart() {
        let mut totals = QueueTotals::default();
        assert_eq!(totals.of(3), QueueTotal::default());
        totals.read(&[queue(1, 4_000_000_000, 4)]);
        assert_eq!(totals.of(3), QueueTotal::default(), "packets from before the daemon's start");
        totals.read(&[queue(1, 4_294_967_295, 5)]);
        totals.read(&[queue(1, 9, 6)]);
        assert_eq!(totals.of(3), QueueTotal { handled: 294_967_305, dropped: 2 });
        totals.read(&[queue(2, 100, 1)]);
        assert_eq!(totals.of(3), QueueTotal { handled: 294_967_405, dropped: 3 });
        assert_eq!(totals.of(4), QueueTotal::default());
        totals.read(&[Queue { number: 4, ..queue(2, 30, 1) }]);
        assert_eq!(totals.of(4), QueueTotal { handled: 30, dropped: 1 });
    }

    /// The kernel's two counters are not read atomically.
    #[test]
    fn a_decreasing_count_adds_nothing() {
        let mut totals = QueueTotals::default();
        totals.read(&[]);
        totals.read(&[queue(1, 2_u32.wrapping_sub(5), 1)]);
        assert_eq!(totals.of(3), QueueTotal { handled: 0, dropped: 1 });
        for (handled, sum) in [(10, 10), (9, 10), (10, 10), (9, 10), (12, 12)] {
            totals.read(&[queue(1, handled, 1)]);
            assert_eq!(totals.of(3), QueueTotal { handled: sum, dropped: 1 });
        }
        totals.read(&[queue(2, u32::MAX, 1)]);
        assert_eq!(totals.of(3), QueueTotal { handled: 12, dropped: 2 });
        totals.read(&[queue(2, 4, 1)]);
        assert_eq!(totals.of(3), QueueTotal { handled: 16, dropped: 2 });
    }
}
