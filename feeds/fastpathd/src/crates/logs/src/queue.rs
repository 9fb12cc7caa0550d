// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounded queue of events for a collector. Events are kept until the collector confirms them, so
//! that a new connection can resend them.

use std::collections::VecDeque;

use ips::EventLine;

/// Limit of unsent bytes, about 1000 events.
pub const MAX_WAITING: usize = 2 << 20;
/// Limit of unconfirmed bytes, at which sending pauses.
const MAX_UNCONFIRMED: usize = 2 << 20;

/// Events in order of arrival; unconfirmed events precede unsent ones.
#[derive(Debug, Default)]
pub struct Queue {
    lines: VecDeque<EventLine>,
    /// Number of unconfirmed events.
    sent: usize,
    /// Bytes of unconfirmed events.
    unconfirmed: usize,
    /// Bytes of unsent events.
    waiting: usize,
}

impl Queue {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of events, including unconfirmed ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds an event; returns `false` if the queue is full.
    pub fn push(&mut self, line: EventLine) -> bool {
        let fits = self.waiting + line.text.len() <= MAX_WAITING;
        if fits {
            self.waiting += line.text.len();
            self.lines.push_back(line);
        }
        fits
    }

    /// Returns the first unsent event; `None` at the limit of unconfirmed bytes.
    #[must_use]
    pub fn next(&self) -> Option<&EventLine> {
        self.lines.get(self.sent).filter(|_| self.unconfirmed < MAX_UNCONFIRMED)
    }

    /// Marks the event of [`next`](Self::next) as sent.
    pub fn advance(&mut self) {
        if let Some(line) = self.lines.get(self.sent) {
            self.sent += 1;
            self.unconfirmed += line.text.len();
            self.waiting -= line.text.len();
        }
    }

    /// Removes the first event after the collector has confirmed it.
    pub fn confirm(&mut self) {
        if self.sent > 0
            && let Some(line) = self.lines.pop_front()
        {
            self.sent -= 1;
            self.unconfirmed -= line.text.len();
        }
    }

    /// Marks unconfirmed events as unsent, to resend them over a new connection.
    pub fn rewind(&mut self) {
        self.sent = 0;
        self.waiting += std::mem::take(&mut self.unconfirmed);
    }
}

#[cfg(test)]
mod tests {
    use ips::EventKind;
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> EventLine {
        EventLine { kind: EventKind::Alert, text: text.as_bytes().into() }
    }

    fn next(queue: &Queue) -> Option<&[u8]> {
        queue.next().map(|line| &*line.text)
    }

    #[test]
    fn keeps_an_event_until_it_is_confirmed() {
        let mut queue = Queue::new();
        assert!(queue.push(line("one")) && queue.push(line("two")));
        queue.advance();
        assert_eq!((next(&queue), queue.len()), (Some(&b"two"[..]), 2));
        queue.rewind();
        assert_eq!(next(&queue), Some(&b"one"[..]));
        queue.confirm();
        assert_eq!(queue.len(), 2, "nothing was sent in this connection");
        queue.advance();
        queue.confirm();
        assert_eq!((next(&queue), queue.len()), (Some(&b"two"[..]), 1));
        queue.advance();
        queue.confirm();
        assert_eq!((next(&queue), queue.len()), (None, 0));
    }

    #[test]
    fn sent_events_do_not_count_as_waiting() {
        let mut queue = Queue::new();
        let half = line(&"x".repeat(MAX_WAITING / 2));
        assert!(queue.push(half.clone()) && queue.push(half.clone()));
        assert!(!queue.push(line("x")));
        queue.advance();
        assert!(queue.push(half.clone()));
        queue.advance();
        assert_eq!(queue.next(), None, "the limit of unconfirmed bytes");
        queue.confirm();
        assert_eq!(queue.next(), Some(&half));
    }

    proptest! {
        #[test]
        fn byte_counts_match_the_events(steps in prop::collection::vec(0..4, 0..200)) {
            let mut queue = Queue::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    0 => _ = queue.push(line(&"x".repeat(number))),
                    1 => queue.advance(),
                    2 => queue.confirm(),
                    _ => queue.rewind(),
                }
                let sizes: Vec<usize> = queue.lines.iter().map(|line| line.text.len()).collect();
                let (sent, waiting) = sizes.split_at(queue.sent);
                prop_assert_eq!(queue.unconfirmed, sent.iter().sum::<usize>());
                prop_assert_eq!(queue.waiting, waiting.iter().sum::<usize>());
            }
        }
    }
}
