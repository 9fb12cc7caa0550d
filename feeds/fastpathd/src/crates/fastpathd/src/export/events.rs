// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of an exporter of events: Redis' login, then one message for each event. When an
//! event counts as sent: Redis has answered, or syslog's connection has lasted.

use std::collections::VecDeque;
use std::time::Duration;

use logs::{Queue, Receiver, RedisFault, Replies, Settings};

use crate::export::ExportReason;
use crate::export::outbox::CONFIRMED_AFTER;

/// A relay on the router accepts a connection first, and closes it if its own one to the collector
/// fails within this time. The limits of docs/fleet/logs/stunnel.conf are shorter.
const RELAY_CONNECTED_AFTER: Duration = Duration::from_secs(15);

/// Progress of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Login {
    Due,
    Sent,
    /// Answered, or not needed.
    Done,
}

/// The messages of an exporter of events.
#[derive(Debug)]
pub(super) struct EventOutbox {
    receiver: Receiver,
    /// How long a connection has to last until its events are confirmed.
    lasts: Duration,
    /// When it began.
    begun: Duration,
    /// The router's name.
    host: Option<String>,
    login: Login,
    /// The message being sent, and its bytes that are sent.
    message: Vec<u8>,
    at: usize,
    /// When the events were sent that are not confirmed.
    unconfirmed: VecDeque<Duration>,
    replies: Replies,
    /// Events that are confirmed.
    pub(super) sent: u64,
}

impl EventOutbox {
    pub(super) fn new(settings: &Settings) -> Self {
        let relay = settings.collector.ip().is_loopback();
        Self {
            receiver: settings.receiver.clone(),
            lasts: if relay { RELAY_CONNECTED_AFTER } else { CONFIRMED_AFTER },
            begun: Duration::ZERO,
            host: None,
            login: Login::Due,
            message: Vec::new(),
            at: 0,
            unconfirmed: VecDeque::new(),
            replies: Replies::default(),
            sent: 0,
        }
    }

    /// Begins another connection. Events that are not confirmed are sent again.
    pub(super) fn restart(&mut self, queue: &mut Queue, now: Duration) {
        self.begun = now;
        queue.rewind();
        self.message.clear();
        self.at = 0;
        self.unconfirmed.clear();
        self.replies = Replies::default();
        self.login = match self.receiver {
            Receiver::Syslog => Login::Done,
            Receiver::Redis(_) => Login::Due,
        };
        self.name_host();
    }

    /// The router's name may change while it runs.
    pub(super) fn name_host(&mut self) {
        let name = rustix::system::uname();
        let name = name.nodename().to_str().ok().and_then(logs::host_name);
        if name != self.host.as_deref() {
            self.host = name.map(str::to_owned);
        }
    }

    /// The collector gets events.
    pub(super) fn is_ready(&self) -> bool {
        self.login == Login::Done
    }

    /// Redis has not answered for so long.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        match (&self.receiver, self.unconfirmed.front()) {
            (Receiver::Redis(_), Some(at)) => now.saturating_sub(*at),
            _ => Duration::ZERO,
        }
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
        let host = self.host.as_deref();
        match (&self.receiver, self.login, queue.next()) {
            (Receiver::Redis(redis), Login::Due, _) => logs::greeting(redis, &mut self.message),
            (Receiver::Redis(redis), Login::Done, Some(line)) => {
                logs::command(redis, line, host, &mut self.message);
            }
            (Receiver::Syslog, _, Some(line)) => logs::message(line, host, &mut self.message),
            (Receiver::Redis(_), Login::Sent, _) | (_, _, None) => return false,
        }
        true
    }

    /// So many bytes of the message are sent.
    pub(super) fn written(&mut self, queue: &mut Queue, bytes: usize, now: Duration) {
        self.at = (self.at + bytes).min(self.message.len());
        if self.at < self.message.len() {
            return;
        }
        self.message.clear();
        self.at = 0;
        if self.login == Login::Due {
            self.login = Login::Sent;
        } else {
            queue.advance();
            self.unconfirmed.push_back(now);
            self.confirm(queue, now);
        }
    }

    /// Nobody answers to syslog: a collector that ends closes the connection.
    pub(super) fn confirm(&mut self, queue: &mut Queue, now: Duration) {
        if self.receiver != Receiver::Syslog || now < self.begun + self.lasts {
            return;
        }
        while self.unconfirmed.front().is_some_and(|at| now >= *at + CONFIRMED_AFTER) {
            self.confirm_one(queue);
        }
    }

    fn confirm_one(&mut self, queue: &mut Queue) -> bool {
        let waits = self.unconfirmed.pop_front().is_some();
        if waits {
            queue.confirm();
            self.sent += 1;
        }
        waits
    }

    /// Bytes of the collector. Those to syslog mean nothing.
    pub(super) fn received(&mut self, queue: &mut Queue, bytes: &[u8]) -> Result<(), ExportReason> {
        let Receiver::Redis(redis) = &self.receiver else { return Ok(()) };
        let mut confirmed = 0;
        let read = self.replies.read(bytes, redis.password.as_ref(), &mut confirmed);
        for _ in 0..confirmed {
            if self.login == Login::Sent {
                self.login = Login::Done;
            } else if !self.confirm_one(queue) {
                return Err(RedisFault::Foreign.into());
            }
        }
        Ok(read?)
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
pub(super) mod tests;
