// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of an exporter of events: Redis' login, then one message for each event. When an
//! event counts as sent: Redis has answered, or the kernel of syslog's server has acknowledged it
//! and the connection has lasted.

use std::collections::VecDeque;
use std::time::Duration;

use logs::{Queue, Receiver, RedisFault, Replies, Settings};

use crate::export::ExportReason;
use crate::export::outbox::CONFIRMED_AFTER;

/// A relay on the router accepts a connection first, and closes it if its own one to the collector
/// fails within this time. The limits of docs/fleet/logs/stunnel.conf are shorter.
const RELAY_CONNECTED_AFTER: Duration = Duration::from_secs(15);

/// Redis accepts the login of a user before it rejects the first event.
const REDIS_LASTS: Duration = Duration::from_secs(5);

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
    /// Bytes that the connection has taken, and how many of them were acknowledged.
    taken: u64,
    acknowledged: u64,
    /// When the last of them were, or when Redis last answered.
    answered_at: Duration,
    /// When the events were sent that are not confirmed, and the bytes up to their ends.
    unconfirmed: VecDeque<(Duration, u64)>,
    replies: Replies,
    /// Redis has confirmed an event in this connection.
    answered: bool,
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
            taken: 0,
            acknowledged: 0,
            answered_at: Duration::ZERO,
            unconfirmed: VecDeque::new(),
            replies: Replies::default(),
            answered: false,
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
        self.replies = Replies::default();
        self.answered = false;
        self.login = match self.receiver {
            Receiver::Syslog => Login::Done,
            Receiver::Redis(_) => Login::Due,
        };
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

    /// The collector gets events.
    pub(super) fn is_ready(&self) -> bool {
        self.login == Login::Done
    }

    /// How long a connection has to last until the collector counts as reached.
    pub(super) fn lasts(&self) -> Duration {
        match self.receiver {
            Receiver::Syslog => self.lasts,
            Receiver::Redis(_) if self.answered => Duration::ZERO,
            Receiver::Redis(_) => REDIS_LASTS,
        }
    }

    /// For so long Redis has not answered, or the kernel of syslog's server acknowledged nothing.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        let mut sent = self.unconfirmed.iter();
        let first = match self.receiver {
            Receiver::Redis(_) => sent.next(),
            Receiver::Syslog => sent.find(|(_, end)| *end > self.acknowledged),
        };
        first.map_or(Duration::ZERO, |(at, _)| now.saturating_sub((*at).max(self.answered_at)))
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
        self.taken += bytes as u64;
        if self.at < self.message.len() {
            return;
        }
        self.message.clear();
        self.at = 0;
        if self.login == Login::Due {
            self.login = Login::Sent;
        } else {
            queue.advance();
            self.unconfirmed.push_back((now, self.taken));
            self.confirm(queue, now);
        }
    }

    /// So many of the bytes that the connection has taken were not acknowledged yet.
    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        let acknowledged = self.taken.saturating_sub(bytes);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            if self.receiver == Receiver::Syslog {
                self.answered_at = now;
            }
        }
    }

    /// Syslog has no answers: the acknowledgements of TCP count, and that a collector that ends
    /// closes the connection.
    pub(super) fn confirm(&mut self, queue: &mut Queue, now: Duration) {
        if self.receiver != Receiver::Syslog || now < self.begun + self.lasts {
            return;
        }
        while let Some((at, end)) = self.unconfirmed.front().copied()
            && end <= self.acknowledged
            && now >= at + CONFIRMED_AFTER
        {
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
    pub(super) fn received(
        &mut self,
        queue: &mut Queue,
        bytes: &[u8],
        now: Duration,
    ) -> Result<(), ExportReason> {
        let Receiver::Redis(redis) = &self.receiver else { return Ok(()) };
        let mut confirmed = 0;
        let read = self.replies.read(bytes, redis.password.as_ref(), &mut confirmed);
        if confirmed > 0 {
            self.answered_at = now;
        }
        for _ in 0..confirmed {
            if self.login == Login::Sent {
                self.login = Login::Done;
            } else if self.confirm_one(queue) {
                self.answered = true;
            } else {
                return Err(RedisFault::Foreign.into());
            }
        }
        Ok(read?)
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
pub(super) mod tests;
