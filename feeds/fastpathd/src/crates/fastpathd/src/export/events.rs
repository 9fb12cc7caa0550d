// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages of an event exporter, one per event. An event counts as sent after the collector's
//! kernel has acknowledged it and the connection has lasted for `min_duration`.

use std::collections::VecDeque;
use std::time::Duration;

use logs::{Queue, Settings};

use crate::export::outbox::CONFIRM_DELAY;

/// Minimum duration of a connection to a relay on the router. A relay accepts the connection first
/// and closes it if its own connection to the collector fails; its timeouts in
/// docs/fleet/logs/stunnel.conf are shorter.
const RELAY_MIN_DURATION: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct EventOutbox {
    pub(super) min_duration: Duration,
    connected_at: Duration,
    host: Option<String>,
    /// The current message, and the number of its bytes that are sent.
    message: Vec<u8>,
    at: usize,
    /// Bytes that the connection has accepted, and bytes that are acknowledged.
    accepted: u64,
    acknowledged: u64,
    acknowledged_at: Duration,
    /// Unconfirmed events: time of sending, and total bytes sent up to the event's end.
    unconfirmed: VecDeque<(Duration, u64)>,
    pub(super) sent: u64,
}

impl EventOutbox {
    pub(super) fn new(settings: &Settings) -> Self {
        let relay = settings.collector.ip().is_loopback();
        Self {
            min_duration: if relay { RELAY_MIN_DURATION } else { CONFIRM_DELAY },
            connected_at: Duration::ZERO,
            host: None,
            message: Vec::new(),
            at: 0,
            accepted: 0,
            acknowledged: 0,
            acknowledged_at: Duration::ZERO,
            unconfirmed: VecDeque::new(),
            sent: 0,
        }
    }

    /// Begins a new connection. Unconfirmed events are sent again.
    pub(super) fn restart(&mut self, queue: &mut Queue, now: Duration) {
        self.connected_at = now;
        queue.rewind();
        self.unconfirmed.clear();
        self.message.clear();
        self.at = 0;
        (self.accepted, self.acknowledged) = (0, 0);
        self.update_host();
    }

    /// Handles the end of the connection. Its remaining events stay unconfirmed.
    pub(super) fn closed(&mut self, queue: &mut Queue, now: Duration) {
        self.confirm(queue, now);
        self.unconfirmed.clear();
    }

    pub(super) fn update_host(&mut self) {
        let name = rustix::system::uname();
        let name = name.nodename().to_str().ok().and_then(logs::host_name);
        if name != self.host.as_deref() {
            self.host = name.map(str::to_owned);
        }
    }

    /// Returns for how long an acknowledgement has been outstanding.
    pub(super) fn unacknowledged_for(&self, now: Duration) -> Duration {
        let first = self.unconfirmed.iter().find(|(_, end)| *end > self.acknowledged);
        first.map_or(Duration::ZERO, |(at, _)| now.saturating_sub((*at).max(self.acknowledged_at)))
    }

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

    pub(super) fn written(&mut self, queue: &mut Queue, bytes: usize, now: Duration) {
        self.at = (self.at + bytes).min(self.message.len());
        self.accepted += bytes as u64;
        if self.at < self.message.len() {
            return;
        }
        self.message.clear();
        self.at = 0;
        queue.advance();
        self.unconfirmed.push_back((now, self.accepted));
        self.confirm(queue, now);
    }

    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        let acknowledged = self.accepted.saturating_sub(bytes);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.acknowledged_at = now;
        }
    }

    /// Confirms events by TCP's acknowledgements, because syslog has no answers.
    pub(super) fn confirm(&mut self, queue: &mut Queue, now: Duration) {
        if now < self.connected_at + self.min_duration {
            return;
        }
        while let Some((at, end)) = self.unconfirmed.front().copied()
            && end <= self.acknowledged
            && now >= at + CONFIRM_DELAY
        {
            self.unconfirmed.pop_front();
            queue.confirm();
            self.sent += 1;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
