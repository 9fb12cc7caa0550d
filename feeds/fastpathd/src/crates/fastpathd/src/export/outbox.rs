// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of a flow exporter in their order: templates, names of interfaces, records. Counts
//! records as sent, or as lost if their message is refused.

use std::collections::VecDeque;
use std::time::Duration;

use gateway::export::Interfaces;
use ipfix::{MAX_MESSAGE, Queue, Session, Settings};

/// Time within which a missing collector answers, if it answers at all.
pub(super) const CONFIRMED_AFTER: Duration = Duration::from_millis(500);

/// Messages that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// Templates and names, before the collector has been reached.
    Templates,
    /// Also records, once they fill a message.
    Full,
    /// All records.
    All,
}

#[derive(Debug)]
pub(super) struct Outbox {
    domain: u32,
    enterprise: u32,
    session: Session,
    /// The message being sent, the number of its bytes that are sent, and of its flow records.
    message: Vec<u8>,
    at: usize,
    records: u64,
    /// A message with records that the last session did not send completely.
    held: Option<(Vec<u8>, u64)>,
    templates_due: bool,
    names: Queue,
    /// Records of messages that may still be refused, with the time when they were sent.
    unconfirmed: VecDeque<(Duration, u64)>,
    /// Records of messages that were not refused.
    pub(super) sent: u64,
    /// Records of messages that were refused.
    pub(super) lost: u64,
}

impl Outbox {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { domain, enterprise, .. } = *settings;
        Self {
            domain,
            enterprise,
            session: Session::new(domain, enterprise),
            message: Vec::new(),
            at: 0,
            records: 0,
            held: None,
            templates_due: true,
            names: Queue::new(),
            unconfirmed: VecDeque::new(),
            sent: 0,
            lost: 0,
        }
    }

    /// Begins another session. Repeats a message that was not sent completely.
    pub(super) fn restart(&mut self, interfaces: &Interfaces) {
        if self.records > 0 {
            self.held = Some((std::mem::take(&mut self.message), self.records));
        }
        self.message.clear();
        (self.at, self.records) = (0, 0);
        self.session = Session::new(self.domain, self.enterprise);
        self.templates_due = true;
        self.name(interfaces);
    }

    /// Schedules the templates to be sent next.
    pub(super) fn repeat_templates(&mut self) {
        self.templates_due = true;
    }

    /// Schedules the names to be sent next.
    pub(super) fn name(&mut self, interfaces: &Interfaces) {
        self.names = Queue::new();
        for (index, name) in &**interfaces {
            self.names.push_interface(*index, name);
        }
    }

    /// Returns the bytes to send next, or `None` if nothing is due.
    pub(super) fn next(&mut self, queue: &mut Queue, unix_s: u32, permit: Permit) -> Option<&[u8]> {
        if self.at == self.message.len() && !self.write(queue, unix_s, permit) {
            return None;
        }
        Some(&self.message[self.at..])
    }

    fn write(&mut self, queue: &mut Queue, unix_s: u32, permit: Permit) -> bool {
        (self.at, self.records) = (0, 0);
        if std::mem::take(&mut self.templates_due) {
            self.session.templates(unix_s, &mut self.message);
            return true;
        }
        if self.session.data(unix_s, &mut self.names, &mut self.message) > 0 {
            return true;
        }
        self.message.clear();
        let ready = match permit {
            Permit::Templates => return false,
            Permit::Full => queue.size() >= MAX_MESSAGE,
            Permit::All => !queue.is_empty(),
        };
        if let Some((message, records)) = self.held.take() {
            (self.message, self.records) = (message, records);
            let records = usize::try_from(records).unwrap_or_default();
            self.session.adopt(&mut self.message, records);
            return true;
        }
        if ready {
            self.records = self.session.data(unix_s, queue, &mut self.message) as u64;
        }
        ready
    }

    /// Notes that `bytes` more bytes of the message were sent.
    pub(super) fn written(&mut self, bytes: usize, now: Duration) {
        self.at = (self.at + bytes).min(self.message.len());
        if self.at == self.message.len() {
            if self.records > 0 {
                self.unconfirmed.push_back((now, self.records));
            }
            self.message.clear();
            (self.at, self.records) = (0, 0);
        }
    }

    /// Counts records as sent when their message cannot be refused any more.
    pub(super) fn confirm(&mut self, now: Duration) {
        while let Some((at, records)) = self.unconfirmed.front().copied()
            && now >= at + CONFIRMED_AFTER
        {
            self.sent += records;
            self.unconfirmed.pop_front();
        }
    }

    /// Counts the records of the last messages as lost: the collector was not there.
    pub(super) fn refused(&mut self, now: Duration) {
        self.confirm(now);
        self.lost += self.unconfirmed.drain(..).map(|(_, records)| records).sum::<u64>();
    }

    /// Returns the records that count as neither sent nor lost yet.
    pub(super) fn open(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, |(_, records)| *records);
        self.records + held + self.unconfirmed.iter().map(|(_, records)| records).sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
