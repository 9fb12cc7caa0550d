// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports the last records at shutdown, about the growth of all flows since their last record.

use std::time::Duration;

use ipfix::Queue;
use tokio::time::{sleep, timeout};

use crate::core::Core;
use crate::export::run::{Exporters, MAX_QUEUE, Shared};
use crate::export::{ExportState, Serial};

/// Timeout for the last records: procd waits 5 s, in which the rules have to be removed, too.
pub(crate) const SENT_WITHIN: Duration = Duration::from_secs(1);
/// Flows per batch of records, a small part of a queue.
const FLOWS: usize = 2000;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Core {
    /// Returns the collectors that are receiving flow records.
    pub(crate) fn reading_records(&self) -> Vec<Serial> {
        let reads = |one: &&super::Export| {
            let progress = &one.progress;
            let reached = progress.state == ExportState::Up && progress.reason.is_none();
            reached && one.settings.of_flows().is_some()
        };
        self.export.exports.iter().filter(reads).map(|export| export.serial).collect()
    }

    /// Returns the last records of the next batch of flows, from index `next` of the table on;
    /// `None` after the last batch.
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
    /// Flushes `more` and the queues to these collectors only. Returns when the kernel has
    /// everything, or after this time.
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
        let last = if waiting.unwrap_or(0) > MAX_QUEUE / 2 { Some(Queue::new()) } else { more() };
        match last {
            Some(records) => exporters.iter().for_each(|shared| shared.send(&records)),
            None if exporters.iter().all(|shared| shared.queue.borrow().is_empty()) => return,
            None => {}
        }
        for shared in exporters {
            shared.flush();
        }
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
