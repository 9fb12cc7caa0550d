// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses `/proc/net/netfilter/nfnetlink_queue`: listener and packet counts of each NFQUEUE.

use std::ops::RangeInclusive;

/// Path of the kernel's file, which the init script makes readable for all users.
pub const QUEUES: &str = "/proc/net/netfilter/nfnetlink_queue";

/// A queue with a listener. The kernel does not list queues without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    pub number: u16,
    /// Netlink port of the listener, usually its process id.
    pub listener: u32,
    pub depth: u32,
    /// Packets with a verdict since the queue was bound, modulo 2³².
    pub handled: u32,
    /// Packets lost because the queue was full. With fail-open, such packets pass and are not
    /// counted.
    pub full: u32,
    pub unread: u32,
}

impl Queue {
    #[must_use]
    pub fn dropped(&self) -> u64 {
        u64::from(self.full) + u64::from(self.unread)
    }
}

/// Parses the kernel's lines and skips malformed ones. Columns: queue, netlink port, packets
/// waiting, copy mode, copy range, dropped by the queue, dropped by the socket, id of the last
/// packet, 1.
#[must_use]
pub fn parse_queues(text: &str) -> Vec<Queue> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Queue> {
    let mut columns = line.split_ascii_whitespace();
    let number = columns.next()?.parse().ok()?;
    let mut next = || columns.next()?.parse::<u32>().ok();
    let [listener, depth, _mode, _range, full, unread, last] =
        [next()?, next()?, next()?, next()?, next()?, next()?, next()?];
    // The kernel numbers packets from 1 as it queues them, so the last id includes waiting packets.
    let handled = last.wrapping_sub(depth);
    Some(Queue { number, listener, depth, handled, full, unread })
}

/// Returns the queues of `numbers`, in order. `None` without a listener.
#[must_use]
pub fn queues_of(queues: &[Queue], numbers: RangeInclusive<u16>) -> Vec<Option<Queue>> {
    numbers.map(|number| queues.iter().find(|queue| queue.number == number).copied()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_the_kernels_lines() {
        let text = "    0   4242     3 2 65535     7     1      120  1\n\
                    65535 4294967295 0 2 65535 0 0 0 1\n";
        let queues = parse_queues(text);
        let first = Queue { number: 0, listener: 4242, depth: 3, handled: 117, full: 7, unread: 1 };
        assert_eq!(queues[0], first);
        assert_eq!(queues[0].dropped(), 8);
        assert_eq!(queues[1].number, 65535);
        assert_eq!(queues_of(&queues, 0..=1), [Some(first), None]);
    }

    #[test]
    fn the_id_of_the_last_packet_wraps() {
        let queue = parse_queues("0 1 5 2 65535 0 0 2 1")[0];
        assert_eq!(queue.handled, 2_u32.wrapping_sub(5));
    }

    #[test]
    fn skips_malformed_lines() {
        for text in
            ["", "\n", "0 1 2", "x 1 2 3 4 5 6 7 8", "-1 1 1 1 1 1 1 1", "70000 1 1 1 1 1 1 1"]
        {
            assert_eq!(parse_queues(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn parses_any_text_without_a_panic(text: String) {
            prop_assert!(parse_queues(&text).len() <= text.lines().count());
        }
    }
}
