// SPDX-License-Identifier: GPL-2.0-or-later
//! Common interface of flow records and Suricata's events for the transports.

use std::time::Duration;

use gateway::export::Settings;

use crate::export::events::EventOutbox;
use crate::export::outbox::{CONFIRMED_AFTER, Outbox, Permit};
use crate::export::shared::{Shared, unix_s};

/// Source of an exporter's messages.
#[derive(Debug)]
pub(super) enum Feed {
    /// Flow records.
    Records(Outbox),
    /// Events of Suricata.
    Events(EventOutbox),
}

impl Feed {
    pub(super) fn new(settings: &Settings) -> Self {
        match settings {
            Settings::Flows(settings) => Self::Records(Outbox::new(settings)),
            Settings::Events(settings) => Self::Events(EventOutbox::new(settings)),
        }
    }

    /// Begins another session.
    pub(super) fn restart(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.restart(&shared.interfaces.borrow()),
            Self::Events(outbox) => outbox.restart(&mut shared.lines.borrow_mut(), now),
        }
    }

    /// Returns how long a connection has to last before the collector counts as reached.
    pub(super) fn lasts(&self) -> Duration {
        match self {
            Self::Records(_) => CONFIRMED_AFTER,
            Self::Events(outbox) => outbox.lasts,
        }
    }

    /// Returns how long the collector's kernel has owed an acknowledgement.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        match self {
            Self::Records(_) => Duration::ZERO,
            Self::Events(outbox) => outbox.unanswered_for(now),
        }
    }

    /// Schedules the templates to be sent next.
    pub(super) fn repeat_templates(&mut self) {
        match self {
            Self::Records(outbox) => outbox.repeat_templates(),
            Self::Events(_) => {}
        }
    }

    /// Updates the names of devices, or of the router.
    pub(super) fn rename(&mut self, shared: &Shared) {
        match self {
            Self::Records(outbox) => {
                if shared.renamed.take() {
                    outbox.name(&shared.interfaces.borrow());
                }
            }
            Self::Events(outbox) => outbox.name_host(),
        }
    }

    /// Returns the bytes to send next, or `None` if nothing is due. Events are sent without delay.
    pub(super) fn next(&mut self, shared: &Shared, permit: Permit) -> Option<&[u8]> {
        match self {
            Self::Records(outbox) => outbox.next(&mut shared.queue.borrow_mut(), unix_s(), permit),
            Self::Events(outbox) => outbox.next(&shared.lines.borrow()),
        }
    }

    /// Notes that `bytes` more bytes of the message were sent.
    pub(super) fn written(&mut self, shared: &Shared, bytes: usize, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.written(bytes, now),
            Self::Events(outbox) => outbox.written(&mut shared.lines.borrow_mut(), bytes, now),
        }
    }

    /// Notes how many of the accepted bytes were not acknowledged yet.
    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        match self {
            Self::Records(_) => {}
            Self::Events(outbox) => outbox.unacknowledged(bytes, now),
        }
    }

    /// Confirms messages, because the connection has lasted until now.
    pub(super) fn confirm(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.confirm(now),
            Self::Events(outbox) => outbox.confirm(&mut shared.lines.borrow_mut(), now),
        }
    }

    /// Handles the end of the connection.
    pub(super) fn refused(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.refused(now),
            Self::Events(outbox) => outbox.refused(&mut shared.lines.borrow_mut(), now),
        }
    }

    pub(super) fn sent(&self) -> u64 {
        match self {
            Self::Records(outbox) => outbox.sent,
            Self::Events(outbox) => outbox.sent,
        }
    }

    /// Returns the number of refused records. Excludes records that a full queue dropped.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Records(outbox) => outbox.lost,
            Self::Events(_) => 0,
        }
    }

    /// Returns the records or events that count as neither sent nor lost yet.
    pub(super) fn waiting(&self, shared: &Shared) -> u64 {
        match self {
            Self::Records(outbox) => shared.queue.borrow().len() as u64 + outbox.open(),
            Self::Events(_) => shared.lines.borrow().len() as u64,
        }
    }
}
