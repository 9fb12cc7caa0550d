// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of an exporter of events, one for each. An event counts as sent when the kernel of
//! the server has acknowledged it and the connection has lasted.

use std::collections::VecDeque;
use std::time::Duration;

use logs::{Queue, Settings};

use crate::export::outbox::CONFIRMED_AFTER;

/// A relay on the router accepts a connection first, and closes it if its own one to the collector
/// fails within this time. The limits of docs/fleet/logs/stunnel.conf are shorter.
const RELAY_CONNECTED_AFTER: Duration = Duration::from_secs(15);

/// The messages of an exporter of events.
#[derive(Debug)]
pub(super) struct EventOutbox {
    /// How long a connection has to last until its events are confirmed.
    pub(super) lasts: Duration,
    /// When it began.
    begun: Duration,
    /// The router's name.
    host: Option<String>,
    /// The message being sent, and its bytes that are sent.
    message: Vec<u8>,
    at: usize,
    /// Bytes that the connection has taken, and how many of them were acknowledged.
    taken: u64,
    acknowledged: u64,
    /// When the last of them were.
    acknowledged_at: Duration,
    /// When the events were sent that are not confirmed, and the bytes up to their ends.
    unconfirmed: VecDeque<(Duration, u64)>,
    /// Events that are confirmed.
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

    /// Begins another connection. Events that are not confirmed are sent again.
    pub(super) fn restart(&mut self, queue: &mut Queue, now: Duration) {
        self.begun = now;
        queue.rewind();
        self.unconfirmed.clear();
        self.message.clear();
        self.at = 0;
        (self.taken, self.acknowledged) = (0, 0);
        self.name_host();
    }

    /// The connection has ended: time does not confirm its events any more.
    pub(super) fn refused(&mut self, queue: &mut Queue, now: Duration) {
        self.confirm(queue, now);
        self.unconfirmed.clear();
    }

    /// The router's name may change while it runs.
    pub(super) fn name_host(&mut self) {
        let name = rustix::system::uname();
        let name = name.nodename().to_str().ok().and_then(logs::host_name);
        if name != self.host.as_deref() {
            self.host = name.map(str::to_owned);
        }
    }

    /// For so long the kernel of the server has acknowledged nothing.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        let first = self.unconfirmed.iter().find(|(_, end)| *end > self.acknowledged);
        first.map_or(Duration::ZERO, |(at, _)| now.saturating_sub((*at).max(self.acknowledged_at)))
    }

    /// The bytes to send next; `None`: nothing to send now.
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

    /// So many bytes of the message are sent.
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

    /// So many of the bytes that the connection has taken were not acknowledged yet.
    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        let acknowledged = self.taken.saturating_sub(bytes);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.acknowledged_at = now;
        }
    }

    /// Syslog has no answers: the acknowledgements of TCP count, and that a collector that ends
    /// closes the connection.
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
#[path = "events_tests.rs"]
pub(super) mod tests;
