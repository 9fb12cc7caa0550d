// SPDX-License-Identifier: GPL-2.0-or-later
//! The messages of an exporter, flow records or events of Suricata, as the transports need them.

use std::time::Duration;

use crate::export::Settings;
use crate::export::events::EventOutbox;
use crate::export::outbox::{CONFIRMED_AFTER, Outbox, Permit};
use crate::export::run::{Shared, unix_s};

/// The messages of an exporter.
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

    /// How long a connection has to last until the collector counts as reached.
    pub(super) fn lasts(&self) -> Duration {
        match self {
            Self::Records(_) => CONFIRMED_AFTER,
            Self::Events(outbox) => outbox.lasts,
        }
    }

    /// The collector's kernel owes an acknowledgement for so long.
    pub(super) fn unanswered_for(&self, now: Duration) -> Duration {
        match self {
            Self::Records(_) => Duration::ZERO,
            Self::Events(outbox) => outbox.unanswered_for(now),
        }
    }

    /// Templates are sent next.
    pub(super) fn repeat_templates(&mut self) {
        match self {
            Self::Records(outbox) => outbox.repeat_templates(),
            Self::Events(_) => {}
        }
    }

    /// New names: of devices, of the router.
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

    /// The bytes to send next, or `None` if nothing is due. Events are sent without delay.
    pub(super) fn next(&mut self, shared: &Shared, permit: Permit) -> Option<&[u8]> {
        match self {
            Self::Records(outbox) => outbox.next(&mut shared.queue.borrow_mut(), unix_s(), permit),
            Self::Events(outbox) => outbox.next(&shared.lines.borrow()),
        }
    }

    /// So many bytes of the message are sent.
    pub(super) fn written(&mut self, shared: &Shared, bytes: usize, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.written(bytes, now),
            Self::Events(outbox) => outbox.written(&mut shared.lines.borrow_mut(), bytes, now),
        }
    }

    /// So many of the bytes that the connection has taken were not acknowledged yet.
    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        match self {
            Self::Records(_) => {}
            Self::Events(outbox) => outbox.unacknowledged(bytes, now),
        }
    }

    /// The connection has lasted until now.
    pub(super) fn confirm(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.confirm(now),
            Self::Events(outbox) => outbox.confirm(&mut shared.lines.borrow_mut(), now),
        }
    }

    /// The connection has ended.
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

    /// Those that the queue had a place for.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Records(outbox) => outbox.lost,
            Self::Events(_) => 0,
        }
    }

    /// Records or events that are in neither count yet.
    pub(super) fn waiting(&self, shared: &Shared) -> u64 {
        match self {
            Self::Records(outbox) => shared.queue.borrow().len() as u64 + outbox.open(),
            Self::Events(_) => shared.lines.borrow().len() as u64,
        }
    }
}
