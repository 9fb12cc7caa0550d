// SPDX-License-Identifier: GPL-2.0-or-later
//! Waits for packets that the kernel is handling, and how long where it cannot say when they are
//! through.

use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

/// Without `CONFIG_MEMBARRIER`, and with `nohz_full`: longer than a CPU handles packets without
/// letting programs run.
const UNKNOWN: Duration = Duration::from_millis(50);

/// Waits until all packets that the network stack is handling now have left it, or wait in a queue.
///
/// The stack handles a packet in one RCU read-side critical section (`netif_receive_skb`), and
/// `MEMBARRIER_CMD_GLOBAL` is `synchronize_rcu` (`kernel/sched/membarrier.c`): some ten
/// milliseconds. With one CPU it returns at once, since no packet is handled while a program runs.
pub(crate) async fn packets_in_flight() {
    let waited = tokio::task::spawn_blocking(|| membarrier(MembarrierCommand::Global)).await;
    if !matches!(waited, Ok(Ok(()))) {
        tokio::time::sleep(UNKNOWN).await;
    }
}
