// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

/// Delay if `membarrier` fails (no `CONFIG_MEMBARRIER`, or `nohz_full`): longer than a CPU
/// processes packets before it runs programs again.
const FALLBACK_DELAY: Duration = Duration::from_millis(50);

/// Waits until each packet that is in the network stack now has left it or is queued.
///
/// The stack processes a packet in one RCU read-side critical section (`netif_receive_skb`), and
/// `MEMBARRIER_CMD_GLOBAL` is `synchronize_rcu` (`kernel/sched/membarrier.c`), which takes about
/// ten milliseconds. With one CPU it returns at once, because no packet is in the stack then.
pub(crate) async fn packets_in_flight() {
    let waited = tokio::task::spawn_blocking(|| membarrier(MembarrierCommand::Global)).await;
    if !matches!(waited, Ok(Ok(()))) {
        tokio::time::sleep(FALLBACK_DELAY).await;
    }
}
