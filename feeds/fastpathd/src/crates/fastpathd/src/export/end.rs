// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports the last records at shutdown: the growth of all flows since their last record.

use std::time::Duration;

use gateway::export::Serial;
use ipfix::Queue;
use tokio::time::{sleep, timeout};

use crate::export::run::Exporters;
use crate::export::shared::{MAX_QUEUE, Shared};

pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Exporters {
    /// Flushes `more` and the queues to these collectors only. Returns when the kernel has accepted
    /// everything, or after `within`.
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
        let largest = exporters.iter().map(|shared| shared.queue.borrow().size()).max();
        let records =
            if largest.unwrap_or(0) > MAX_QUEUE / 2 { Some(Queue::new()) } else { more() };
        match records {
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
mod tests;
