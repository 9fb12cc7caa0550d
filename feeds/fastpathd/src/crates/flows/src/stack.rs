// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets of an offloaded flow that miss the flowtable entry, and packets encrypted by the kernel.

use ctnetlink::Counters;

use crate::flow::Delta;
use crate::time::Millis;

/// Consecutive missed packets after which a direction counts as slow. The first packets of a flow
/// and single fragments or packets with options must not suffice.
const MIN_RUN: u64 = 8;
/// Time after the last encrypted packet during which the flow counts as encrypted.
const ENCRYPTED_TIMEOUT_MS: Millis = 30_000;

/// Counter of a rule for one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackCount {
    pub id: u32,
    pub seen: Seen,
    /// Totals since the rules were loaded.
    pub counters: Counters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Packets that missed the entry; 0 from the initiator, 1 to the initiator.
    Missed(usize),
    /// Packets that the kernel encrypted or decrypted.
    Encrypted,
}

/// Packets of an offloaded flow that the stack forwarded.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByStack {
    missed: [Missed; 2],
    encrypted: Counters,
    encrypted_at: Option<Millis>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Missed {
    total: Counters,
    /// Packets since the last reading of the flow.
    new: Counters,
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

    pub(crate) fn is_encrypted(&self, at: Millis) -> bool {
        self.encrypted_at.is_some_and(|last| at - last < ENCRYPTED_TIMEOUT_MS)
    }

    pub(crate) fn misses(&self) -> bool {
        self.missed.iter().any(Missed::is_steady)
    }

    /// Returns the part of `growth` that the stack forwarded. `last`: the flow has ended, and no
    /// further counts follow.
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
        self.run >= MIN_RUN
    }

    /// Adds a counter value, which restarts at 0 when the rules are loaded again.
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

    /// Returns `misses()` and the slow packets after readings of (grown, missed) packets.
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
    fn a_direction_is_slow_while_most_packets_miss_the_entry() {
        assert_eq!(read(&[(7, 7)]), (false, 7));
        assert_eq!(read(&[(7, 7), (7, 7)]), (true, 14));
        assert_eq!(read(&[(1000, 990)]), (true, 990));
        assert_eq!(read(&[(4, 4), (0, 0), (4, 4)]), (true, 8), "idle in between");
        assert_eq!(read(&[(7, 7), (7, 7), (1000, 0)]), (false, 14), "offloaded again");
    }

    #[test]
    fn a_few_missed_packets_do_not_make_a_direction_slow() {
        assert_eq!(read(&[(4, 4), (1000, 2), (1000, 2), (9, 4), (10, 4)]), (false, 16));
        assert_eq!(read(&[(1000, 490), (1000, 400)]), (false, 890), "less than half");
    }

    #[test]
    fn counts_continue_after_the_rules_are_loaded_again() {
        let mut seen = ByStack::default();
        for total in [5, 2, 3] {
            seen.count(Seen::Missed(1), counters(total), 0);
        }
        let part = seen.part(&[counters(9), counters(100)], false);
        assert_eq!(part, [Counters::default(), counters(8)]);
    }

    #[test]
    fn a_flow_counts_as_encrypted_for_30_seconds() {
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
    fn credits_the_last_bytes_of_a_slow_direction_to_the_stack() {
        let mut seen = ByStack::default();
        seen.count(Seen::Missed(0), counters(20), 0);
        seen.part(&[counters(20), counters(9)], false);
        let last = seen.part(&[counters(5), counters(3)], true);
        assert_eq!(last, [counters(5), Counters::default()]);
    }

    proptest! {
        #[test]
        fn slow_bytes_never_exceed_the_forwarded_bytes(
            readings in prop::collection::vec((0_u64..3000, 0_u64..3000), 1..20),
        ) {
            let grown: u64 = readings.iter().map(|(grown, _)| grown).sum();
            prop_assert!(read(&readings).1 <= grown);
        }
    }
}
