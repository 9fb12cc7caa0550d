// SPDX-License-Identifier: GPL-2.0-or-later
//! Common interface of flow records and Suricata's events for the transports.

use std::time::Duration;

use gateway::export::Settings;

use crate::export::events::EventOutbox;
use crate::export::outbox::{CONFIRM_DELAY, Outbox, Permit};
use crate::export::shared::{Shared, unix_s};

#[derive(Debug)]
pub(super) enum Feed {
    Records(Outbox),
    Events(EventOutbox),
}

impl Feed {
    pub(super) fn new(settings: &Settings) -> Self {
        match settings {
            Settings::Flows(settings) => Self::Records(Outbox::new(settings)),
            Settings::Events(settings) => Self::Events(EventOutbox::new(settings)),
        }
    }

    pub(super) fn restart(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.restart(&shared.interfaces.borrow()),
            Self::Events(outbox) => outbox.restart(&mut shared.lines.borrow_mut(), now),
        }
    }

    pub(super) fn min_duration(&self) -> Duration {
        match self {
            Self::Records(_) => CONFIRM_DELAY,
            Self::Events(outbox) => outbox.min_duration,
        }
    }

    pub(super) fn unacknowledged_for(&self, now: Duration) -> Duration {
        match self {
            Self::Records(_) => Duration::ZERO,
            Self::Events(outbox) => outbox.unacknowledged_for(now),
        }
    }

    pub(super) fn repeat_templates(&mut self) {
        match self {
            Self::Records(outbox) => outbox.repeat_templates(),
            Self::Events(_) => {}
        }
    }

    pub(super) fn rename(&mut self, shared: &Shared) {
        match self {
            Self::Records(outbox) => {
                if shared.renamed.take() {
                    outbox.update_names(&shared.interfaces.borrow());
                }
            }
            Self::Events(outbox) => outbox.update_host(),
        }
    }

    pub(super) fn next(&mut self, shared: &Shared, permit: Permit) -> Option<&[u8]> {
        match self {
            Self::Records(outbox) => outbox.next(&mut shared.queue.borrow_mut(), unix_s(), permit),
            Self::Events(outbox) => outbox.next(&shared.lines.borrow()),
        }
    }

    pub(super) fn written(&mut self, shared: &Shared, bytes: usize, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.written(bytes, now),
            Self::Events(outbox) => outbox.written(&mut shared.lines.borrow_mut(), bytes, now),
        }
    }

    pub(super) fn unacknowledged(&mut self, bytes: u64, now: Duration) {
        match self {
            Self::Records(_) => {}
            Self::Events(outbox) => outbox.unacknowledged(bytes, now),
        }
    }

    pub(super) fn confirm(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.confirm(now),
            Self::Events(outbox) => outbox.confirm(&mut shared.lines.borrow_mut(), now),
        }
    }

    pub(super) fn closed(&mut self, shared: &Shared, now: Duration) {
        match self {
            Self::Records(outbox) => outbox.closed(now),
            Self::Events(outbox) => outbox.closed(&mut shared.lines.borrow_mut(), now),
        }
    }

    pub(super) fn sent(&self) -> u64 {
        match self {
            Self::Records(outbox) => outbox.sent,
            Self::Events(outbox) => outbox.sent,
        }
    }

    /// Returns the number of refused records, without those that a full queue dropped.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Records(outbox) => outbox.lost,
            Self::Events(_) => 0,
        }
    }

    pub(super) fn waiting(&self, shared: &Shared) -> u64 {
        match self {
            Self::Records(outbox) => shared.queue.borrow().len() as u64 + outbox.pending(),
            Self::Events(_) => shared.lines.borrow().len() as u64,
        }
    }
}
