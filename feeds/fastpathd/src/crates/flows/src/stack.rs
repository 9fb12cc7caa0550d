// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets of a flow that the network stack has seen although the kernel says that it is offloaded,
//! and packets that the kernel encrypts: when a direction counts as missing its entry.

use ctnetlink::Counters;

use crate::flow::Delta;
use crate::time::Millis;

/// Packets that miss the entry one after the other before a direction counts as slow. The first
/// packets after a flow was added, a fragment or a packet with options are no such run.
const RUN: u64 = 8;
/// Without an encrypted packet for this long, the policy may be gone.
const ENCRYPTED_MS: Millis = 30_000;

/// A count of the rules about one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackCount {
    /// The kernel's id of the connection.
    pub id: u32,
    /// The packets that were counted.
    pub seen: Seen,
    /// Their number since the rules are in force.
    pub counters: Counters,
}

/// Packets that the rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Offloaded, but forwarded by the stack; 0: from the initiator, 1: to it.
    Missed(usize),
    /// Encrypted or decrypted by the kernel.
    Encrypted,
}

/// Packets of a flow that the stack has forwarded.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByStack {
    missed: [Missed; 2],
    encrypted: Counters,
    encrypted_at: Option<Millis>,
}

/// One direction of a flow that is offloaded.
#[derive(Debug, Clone, Copy, Default)]
struct Missed {
    /// As the rules have counted last.
    total: Counters,
    /// Counted since the flow was read.
    new: Counters,
    /// Packets in a row that missed the entry.
    run: u64,
}

impl ByStack {
    pub(crate) fn count(&mut self, seen: Seen, counters: Counters, at: Millis) {
        match seen {
            Seen::Missed(direction) => self.missed[direction & 1].count(counters),
            Seen::Encrypted if counters == self.encrypted => {}
            Seen::Encrypted => {
                self.encrypted = counters;
                self.encrypted_at = Some(at);
            }
        }
    }

    /// Whether the kernel has encrypted or decrypted a packet lately.
    pub(crate) fn is_encrypted(&self, at: Millis) -> bool {
        self.encrypted_at.is_some_and(|last| at - last < ENCRYPTED_MS)
    }

    /// Whether the stack forwards most packets of one direction.
    pub(crate) fn misses(&self) -> bool {
        self.missed.iter().any(Missed::is_steady)
    }

    /// The part of `growth` that the stack has forwarded. `last`: the flow has ended, so there will
    /// be no further count.
    pub(crate) fn part(&mut self, growth: &Delta, last: bool) -> Delta {
        let mut parts = Delta::default();
        for ((missed, grown), part) in self.missed.iter_mut().zip(growth).zip(&mut parts) {
            *part = missed.part(*grown, last);
        }
        parts
    }
}

impl Missed {
    fn is_steady(&self) -> bool {
        self.run >= RUN
    }

    /// Rules that were loaded again have begun at zero.
    fn count(&mut self, counters: Counters) {
        let known =
            if counters.packets < self.total.packets { Counters::default() } else { self.total };
        self.new.packets += counters.packets - known.packets;
        self.new.bytes += counters.bytes.saturating_sub(known.bytes);
        self.total = counters;
    }

    fn part(&mut self, grown: Counters, last: bool) -> Counters {
        let new = std::mem::take(&mut self.new);
        if last && self.is_steady() {
            return grown;
        }
        let part =
            Counters { packets: new.packets.min(grown.packets), bytes: new.bytes.min(grown.bytes) };
        if grown.packets > 0 {
            let most = part.packets.saturating_mul(2) >= grown.packets;
            self.run = if most { self.run.saturating_add(part.packets) } else { 0 };
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters(packets: u64) -> Counters {
        Counters { packets, bytes: packets * 100 }
    }

    /// Readings as packets that have grown and packets that have missed, all of one direction.
    fn read(readings: &[(u64, u64)]) -> (bool, u64) {
        let (mut seen, mut total, mut slow) = (ByStack::default(), 0, 0);
        for (grown, missed) in readings {
            total += missed;
            seen.count(Seen::Missed(0), counters(total), 0);
            slow += seen.part(&[counters(*grown), counters(50)], false)[0].packets;
        }
        (seen.misses(), slow)
    }

    #[test]
    fn a_direction_that_keeps_missing_is_slow() {
        assert_eq!(read(&[(7, 7)]), (false, 7));
        assert_eq!(read(&[(7, 7), (7, 7)]), (true, 14));
        assert_eq!(read(&[(1000, 990)]), (true, 990));
        assert_eq!(read(&[(4, 4), (0, 0), (4, 4)]), (true, 8), "quiet in between");
        assert_eq!(read(&[(7, 7), (7, 7), (1000, 0)]), (false, 14), "fast again");
    }

    #[test]
    fn a_few_odd_packets_are_not_a_slow_direction() {
        assert_eq!(read(&[(4, 4), (1000, 2), (1000, 2), (9, 4), (10, 4)]), (false, 16));
        assert_eq!(read(&[(1000, 490), (1000, 400)]), (false, 890), "less than half");
    }

    #[test]
    fn rules_loaded_again_begin_at_zero() {
        let mut seen = ByStack::default();
        for total in [5, 2, 3] {
            seen.count(Seen::Missed(1), counters(total), 0);
        }
        let part = seen.part(&[counters(9), counters(100)], false);
        assert_eq!(part, [Counters::default(), counters(8)]);
    }

    #[test]
    fn encrypted_packets_count_for_a_while() {
        let mut seen = ByStack::default();
        assert!(!seen.is_encrypted(0));
        for (at, total) in [(0, 1), (1000, 2), (2000, 2)] {
            seen.count(Seen::Encrypted, counters(total), at);
        }
        assert!(seen.is_encrypted(30_999));
        assert!(!seen.is_encrypted(31_000));
        assert!(!seen.misses());
    }

    #[test]
    fn the_end_of_a_slow_direction_is_slow() {
        let mut seen = ByStack::default();
        seen.count(Seen::Missed(0), counters(20), 0);
        seen.part(&[counters(20), counters(9)], false);
        let last = seen.part(&[counters(5), counters(3)], true);
        assert_eq!(last, [counters(5), Counters::default()]);
    }

    proptest! {
        #[test]
        fn no_more_is_slow_than_was_forwarded(
            readings in prop::collection::vec((0_u64..3000, 0_u64..3000), 1..20),
        ) {
            let grown: u64 = readings.iter().map(|(grown, _)| grown).sum();
            prop_assert!(read(&readings).1 <= grown);
        }
    }
}
