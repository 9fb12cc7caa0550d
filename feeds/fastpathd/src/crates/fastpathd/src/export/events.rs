// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of an event exporter, one per event. An event counts as sent after the collector's
//! kernel has acknowledged it and the connection has lasted for some time.

use std::collections::VecDeque;
use std::time::Duration;

use logs::{Queue, Settings};

use crate::export::outbox::CONFIRMED_AFTER;

/// A relay on the router accepts a connection first, and closes it within this time if its own
/// connection to the collector fails. The limits of docs/fleet/logs/stunnel.conf are shorter.
const RELAY_CONNECTED_AFTER: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct EventOutbox {
    /// How long a connection has to last before its events are confirmed.
    pub(super) lasts: Duration,
    /// Start of the connection.
    begun: Duration,
    /// Host name of the router.
    host: Option<String>,
    /// The message being sent, and the number of its bytes that are sent.
    message: Vec<u8>,
    at: usize,
    /// Bytes that the connection has accepted, and bytes that were acknowledged.
    taken: u64,
    acknowledged: u64,
    /// Time of the last acknowledgement.
    acknowledged_at: Duration,
    /// Unconfirmed events: when each was sent, and the bytes sent up to its end.
    unconfirmed: VecDeque<(Duration, u64)>,
    /// Number of confirmed events.
    pub(super) sent: u64,
}

impl EventOutbox {
    pub(super) fn new(settings: &Settings) -> Self {
        let relay = settings.collector.ip().is_loopback();
        Self {
            lasts: if relay { RELAY_CONNECTED_AFTER } else { CONFIRMED_AFTER },
            begun: Duration::ZERO,
            host: None,
            message: Vec::new(),
            at: 0,
            taken: 0,
            acknowledged: 0,
            acknowledged_at: Duration::ZERO,
            unconfirmed: VecDeque::new(),
            sent: 0,
        }
    }

    /// Begins another connection. Unconfirmed events are sent again.
    pub(super) fn restart(&mut self, queue: &mut Queue, now: Duration) {
        self.begun = now;
        queue.rewind();
        self.unconfirmed.clear();
        self.message.clear();
        self.at = 0;
        (self.taken, self.acknowledged) = (0, 0);
        self.name_host();
    }

    /// Handles the end of the connection, after which time no longer confirms its events.
    pub(super) fn refused(&mut self, queue: &mut Queue, now: Duration) {
        self.confirm(queue, now);
        self.unconfirmed.clear();
    }

    /// Updates the router's name, which may change at run time.
    pub(super) fn name_host(&mut self) {
        let name = rustix::system::uname();
        let name = name.nodename().to_str().ok().and_then(logs::host_name);
        if name != self.host.as_deref() {
            self.host = name.map(str::to_owned);
        }
    }

    /// Returns how long the collector's kernel has owed an acknowledgement.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        let first = self.unconfirmed.iter().find(|(_, end)| *end > self.acknowledged);
        first.map_or(Duration::ZERO, |(at, _)| now.saturating_sub((*at).max(self.acknowledged_at)))
    }

    /// Returns the bytes to send next; `None` if there are none.
    pub(super) fn next(&mut self, queue: &Queue) -> Option<&[u8]> {
        if self.at == self.message.len() && !self.write(queue) {
            return None;
        }
        Some(&self.message[self.at..])
    }

    fn write(&mut self, queue: &Queue) -> bool {
        self.at = 0;
        let line = queue.next();
        if let Some(line) = line {
            logs::message(line, self.host.as_deref(), &mut self.message);
        }
        line.is_some()
    }

    /// Notes that `bytes` more bytes of the message were sent.
    pub(super) fn written(&mut self, queue: &mut Queue, bytes: usize, now: Duration) {
        self.at = (self.at + bytes).min(self.message.len());
        self.taken += bytes as u64;
        if self.at < self.message.len() {
            return;
        }
        self.message.clear();
        self.at = 0;
        queue.advance();
        self.unconfirmed.push_back((now, self.taken));
        self.confirm(queue, now);
    }

    /// Notes how many of the accepted bytes were not acknowledged yet.
    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        let acknowledged = self.taken.saturating_sub(bytes);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.acknowledged_at = now;
        }
    }

    /// Confirms events. Syslog has no answers, so TCP's acknowledgements count, and a collector
    /// that ends closes the connection.
    pub(super) fn confirm(&mut self, queue: &mut Queue, now: Duration) {
        if now < self.begun + self.lasts {
            return;
        }
        while let Some((at, end)) = self.unconfirmed.front().copied()
            && end <= self.acknowledged
            && now >= at + CONFIRMED_AFTER
        {
            self.unconfirmed.pop_front();
            queue.confirm();
            self.sent += 1;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
