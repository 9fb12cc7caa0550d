// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts packets that passed a full queue (`fail-open`). The kernel has no such counter, so
//! packets that the queues took are subtracted from packets that the rules sent to them.

use std::ops::RangeInclusive;

use crate::queues::{Queue, queues_of};

/// Counter of the rules, with the kernel's queues before and after reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offered {
    pub table: u64,
    pub sent: u64,
    pub before: Vec<Queue>,
    pub after: Vec<Queue>,
}

#[derive(Debug, Default)]
pub struct Overflow {
    last: Option<Offered>,
    passed: u64,
}

impl Overflow {
    /// Adds a reading. The result is a lower bound, because a packet that the kernel segments
    /// before queueing counts once as sent and several times as taken.
    pub fn read(&mut self, now: Offered, numbers: RangeInclusive<u16>) {
        let Some(last) = self.last.replace(now) else { return };
        let Some(now) = &self.last else { return };
        if last.table != now.table || now.sent < last.sent {
            return;
        }
        let [before, after] = [&last.before, &now.after];
        let before = queues_of(before, numbers.clone());
        let after = queues_of(after, numbers);
        let received =
            before.into_iter().zip(after).map(|(before, after)| received(before?, after?));
        // The reading is skipped if a queue lost its listener in between.
        let Some(received) = received.sum::<Option<u64>>() else { return };
        self.passed += (now.sent - last.sent).saturating_sub(received);
    }

    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }
}

/// Returns the packets that a queue received, including dropped ones. `None` if the listener
/// changed.
fn received(before: Queue, after: Queue) -> Option<u64> {
    let all = |queue: Queue| queue.handled.wrapping_add(queue.depth).wrapping_add(queue.full);
    (before.listener == after.listener).then(|| all(after).wrapping_sub(all(before)).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn queue(number: u16, listener: u32, handled: u32, depth: u32) -> Queue {
        Queue { number, listener, depth, handled, full: 0, unread: 0 }
    }

    fn reading(sent: u64, before: &[Queue], after: &[Queue]) -> Offered {
        Offered { table: 1, sent, before: before.to_vec(), after: after.to_vec() }
    }

    /// Numbers of a recorded flood on one queue of 4096: 149,595 packets sent and 70,973 handled.
    #[test]
    fn counts_packets_that_passed_a_full_queue() {
        let mut overflow = Overflow::default();
        let idle = [queue(0, 1, 48, 0)];
        overflow.read(reading(48, &idle, &idle), 0..=0);
        assert_eq!(overflow.passed(), 0, "the first reading is the base");
        let full = [queue(0, 1, 30_000, 4096)];
        overflow.read(reading(90_000, &full, &full), 0..=0);
        let passed = (90_000 - 48) - (30_000 + 4096 - 48);
        assert_eq!(overflow.passed(), passed, "waiting packets have not passed");
        let calm = [queue(0, 1, 71_021, 0)];
        overflow.read(reading(149_643, &calm, &calm), 0..=0);
        assert_eq!(overflow.passed(), 149_595 - 70_973);
    }

    #[test]
    fn a_new_table_or_listener_restarts_the_comparison() {
        let mut overflow = Overflow::default();
        let here = [queue(0, 1, 100, 0)];
        overflow.read(reading(100, &here, &here), 0..=0);
        overflow.read(Offered { table: 2, ..reading(500, &here, &here) }, 0..=0);
        let other = [queue(0, 2, 3, 0)];
        overflow.read(Offered { table: 2, ..reading(900, &other, &other) }, 0..=0);
        overflow.read(Offered { table: 2, ..reading(1900, &[], &[]) }, 0..=0);
        overflow.read(Offered { table: 2, ..reading(2900, &other, &other) }, 0..=0);
        assert_eq!(overflow.passed(), 0);
    }

    #[test]
    fn dropped_packets_have_not_passed() {
        let mut overflow = Overflow::default();
        let [before, after] = [0, 50].map(|full| [Queue { full, ..queue(0, 1, 0, 0) }]);
        overflow.read(reading(0, &before, &before), 0..=0);
        overflow.read(reading(50, &after, &after), 0..=0);
        assert_eq!(overflow.passed(), 0);
    }

    proptest! {
        /// Packets also arrive between the readings of queues and counter, and the counters wrap.
        #[test]
        fn never_counts_more_than_passed(
            steps in prop::collection::vec(
                (0_u32..5000, 0_u32..5000, 0_u32..300, 0_u32..300, 0_u32..4000), 2..20),
            start: u32,
        ) {
            let mut overflow = Overflow::default();
            let (mut sent, mut id, mut passed) = (0_u64, start, 0_u64);
            let at = |id: u32, depth: u32| vec![queue(3, 7, id.wrapping_sub(depth), depth)];
            for (accepted, beyond, early, late, depth) in steps {
                id = id.wrapping_add(accepted);
                sent += u64::from(accepted + beyond);
                passed += u64::from(beyond);
                let before = at(id, depth);
                (id, sent) = (id.wrapping_add(early), sent + u64::from(early));
                let read = sent;
                (id, sent) = (id.wrapping_add(late), sent + u64::from(late));
                let offered = Offered { table: 1, sent: read, before, after: at(id, depth) };
                overflow.read(offered, 3..=3);
                prop_assert!(overflow.passed() <= passed, "{} of {passed}", overflow.passed());
            }
            let [before, after] = [at(id, 0), at(id, 0)];
            overflow.read(Offered { table: 1, sent, before, after }, 3..=3);
            prop_assert!(overflow.passed() <= passed);
        }
    }
}
