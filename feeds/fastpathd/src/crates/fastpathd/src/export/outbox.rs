// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages of a flow exporter in order: templates, interface names, records. Records count as
//! sent, or as lost if their message is refused.

use std::collections::VecDeque;
use std::time::Duration;

use gateway::export::Interfaces;
use ipfix::{MAX_MESSAGE, Queue, Session, Settings};

/// Time after which a message that was not refused counts as sent.
pub(super) const CONFIRM_DELAY: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// Templates and names only, before the collector has been reached.
    Templates,
    /// Also records that fill a message.
    Full,
    All,
}

#[derive(Debug)]
pub(super) struct Outbox {
    domain: u32,
    enterprise: u32,
    session: Session,
    /// The current message, the number of its bytes that are sent, and its number of flow records.
    message: Vec<u8>,
    at: usize,
    records: u64,
    /// Message with records that the last session did not send completely, and its number of
    /// records.
    incomplete: Option<(Vec<u8>, u64)>,
    templates_due: bool,
    names: Queue,
    /// Number of records in messages that may still be refused, with the time of sending.
    unconfirmed: VecDeque<(Duration, u64)>,
    pub(super) sent: u64,
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
            incomplete: None,
            templates_due: true,
            names: Queue::new(),
            unconfirmed: VecDeque::new(),
            sent: 0,
            lost: 0,
        }
    }

    /// Begins a new session. Repeats a message that was not sent completely.
    pub(super) fn restart(&mut self, interfaces: &Interfaces) {
        if self.records > 0 {
            self.incomplete = Some((std::mem::take(&mut self.message), self.records));
        }
        self.message.clear();
        (self.at, self.records) = (0, 0);
        self.session = Session::new(self.domain, self.enterprise);
        self.templates_due = true;
        self.update_names(interfaces);
    }

    pub(super) fn repeat_templates(&mut self) {
        self.templates_due = true;
    }

    pub(super) fn update_names(&mut self, interfaces: &Interfaces) {
        self.names = Queue::new();
        for (index, name) in &**interfaces {
            self.names.push_interface(*index, name);
        }
    }

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
        if let Some((message, records)) = self.incomplete.take() {
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

    pub(super) fn confirm(&mut self, now: Duration) {
        while let Some((at, records)) = self.unconfirmed.front().copied()
            && now >= at + CONFIRM_DELAY
        {
            self.sent += records;
            self.unconfirmed.pop_front();
        }
    }

    /// Counts the records of unconfirmed messages as lost, because the collector was unreachable.
    pub(super) fn closed(&mut self, now: Duration) {
        self.confirm(now);
        self.lost += self.unconfirmed.drain(..).map(|(_, records)| records).sum::<u64>();
    }

    /// Returns the number of records that are neither sent nor lost.
    pub(super) fn pending(&self) -> u64 {
        let incomplete = self.incomplete.as_ref().map_or(0, |(_, records)| *records);
        self.records + incomplete + self.unconfirmed.iter().map(|(_, records)| records).sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
