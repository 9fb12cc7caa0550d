// SPDX-License-Identifier: GPL-2.0-or-later
//! Records at the daemon's end, about the growth of all flows since their last ones. How long the
//! end waits for them to be sent.

use std::time::Duration;

use ipfix::Queue;
use tokio::time::{sleep, timeout};

use crate::core::Core;
use crate::export::run::{Exporters, QUEUE_MOST, Shared};
use crate::export::{ExportState, Serial};

/// procd waits 5 s for the daemon, and the rules have to be removed in that time.
pub(crate) const SENT_WITHIN: Duration = Duration::from_secs(1);
/// Flows whose records are made at a time: a small part of a queue.
const FLOWS: usize = 2000;
const PAUSE: Duration = Duration::from_millis(5);

impl Core {
    /// Collectors that read flow records.
    pub(crate) fn reading_records(&self) -> Vec<Serial> {
        let reads = |one: &&super::Export| {
            let progress = &one.progress;
            let reached = progress.state == ExportState::Up && progress.reason.is_none();
            reached && one.settings.of_flows().is_some()
        };
        self.export.exports.iter().filter(reads).map(|export| export.serial).collect()
    }

    /// The last records of some flows, of those from place `next` of the table on; `None`: that was
    /// all.
    pub(crate) fn last_records(&mut self, next: &mut usize) -> Option<Queue> {
        let now = self.now;
        let flows = self.conntrack.flows_mut();
        if *next >= flows.len() {
            return None;
        }
        flows.record_rest(*next..*next + FLOWS, now);
        *next += FLOWS;
        let records = flows.records();
        Some(self.encoded(&records))
    }
}

impl Exporters {
    /// Sends all that `more` has, and what waits, to these collectors; others may miss it. Ends
    /// when the kernel has it, or after this time.
    pub(crate) async fn finish(
        &self,
        serials: &[Serial],
        within: Duration,
        more: impl FnMut() -> Option<Queue>,
    ) {
        let exporters = self.running.iter().filter(|(serial, _)| serials.contains(serial));
        let exporters: Vec<&Shared> = exporters.map(|(_, shared)| &**shared).collect();
        if !exporters.is_empty() && timeout(within, send(&exporters, more)).await.is_err() {
            log::warn!("export: the last records could not be sent in time");
        }
    }
}

async fn send(exporters: &[&Shared], mut more: impl FnMut() -> Option<Queue>) {
    loop {
        let waiting = exporters.iter().map(|shared| shared.queue.borrow().size()).max();
        let last = if waiting.unwrap_or(0) > QUEUE_MOST / 2 { Some(Queue::new()) } else { more() };
        match last {
            Some(records) => exporters.iter().for_each(|shared| shared.send(&records)),
            None if exporters.iter().all(|shared| shared.queue.borrow().is_empty()) => return,
            None => {}
        }
        for shared in exporters {
            shared.flush();
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
