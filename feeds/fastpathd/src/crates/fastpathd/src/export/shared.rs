// SPDX-License-Identifier: GPL-2.0-or-later

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gateway::export::egress::EgressDevices;
use gateway::export::{Interfaces, Settings};
use ipfix::{MAX_MESSAGE, Queue};
use ips::{EventKind, EventLine};
use tokio::sync::Notify;

use crate::sys::kernel::unix_ms;

/// Maximum size of the records queued for a collector, bytes: about 14,000 records.
pub(super) const MAX_QUEUE: usize = 2 << 20;
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Event types of the collector. Empty for a collector of flow records.
    events: Vec<EventKind>,
    pub(super) queue: RefCell<Queue>,
    pub(super) lines: RefCell<logs::Queue>,
    pub(super) dropped: Cell<u64>,
    pub(super) interfaces: RefCell<Interfaces>,
    /// Devices that messages may leave by. `None` if unknown.
    pub(super) devices: RefCell<Option<Rc<EgressDevices>>>,
    pub(super) renamed: Cell<bool>,
    pub(super) stopped: Cell<bool>,
    /// Records are to be sent before they fill a message.
    pub(super) flushed: Cell<bool>,
    /// Wakes the exporter: a message is full, devices have changed, or the exporter is to end.
    pub(super) ready: Notify,
}

impl Shared {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { events: settings.events().to_vec(), ..Self::default() }
    }

    pub(super) fn send(&self, records: &Queue) {
        if !self.events.is_empty() {
            return;
        }
        let mut queue = self.queue.borrow_mut();
        let dropped = queue.append(records, MAX_QUEUE);
        self.dropped.set(self.dropped.get() + dropped as u64);
        if queue.size() >= MAX_MESSAGE {
            self.ready.notify_one();
        }
    }

    pub(super) fn forward(&self, lines: &[EventLine]) {
        let mut queue = self.lines.borrow_mut();
        for line in lines.iter().filter(|line| self.events.contains(&line.kind)) {
            if !queue.push(line.clone()) {
                self.dropped.set(self.dropped.get() + 1);
            }
        }
        if queue.next().is_some() {
            self.ready.notify_one();
        }
    }

    pub(super) fn flush(&self) {
        self.flushed.set(true);
        self.ready.notify_one();
    }

    pub(super) fn stop(&self) {
        self.stopped.set(true);
        self.ready.notify_one();
    }
}

/// Returns the Unix time of a message, seconds.
pub(super) fn unix_s() -> u32 {
    u32::try_from(unix_ms() / 1000).unwrap_or(u32::MAX)
}
