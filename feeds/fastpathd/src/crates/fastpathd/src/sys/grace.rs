// SPDX-License-Identifier: GPL-2.0-or-later
//! Waits for the packets that the network stack is handling.

use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

/// Delay if `membarrier` fails (no `CONFIG_MEMBARRIER`, or `nohz_full`): longer than a CPU handles
/// packets before it runs programs again.
const UNKNOWN: Duration = Duration::from_millis(50);

/// Waits until each packet that the network stack is handling now has left it or is queued.
///
/// The stack handles a packet in one RCU read-side critical section (`netif_receive_skb`), and
/// `MEMBARRIER_CMD_GLOBAL` is `synchronize_rcu` (`kernel/sched/membarrier.c`), which takes about
/// ten milliseconds. With one CPU it returns at once: no packet is handled while a program runs.
pub(crate) async fn packets_in_flight() {
    let waited = tokio::task::spawn_blocking(|| membarrier(MembarrierCommand::Global)).await;
    if !matches!(waited, Ok(Ok(()))) {
        tokio::time::sleep(UNKNOWN).await;
    }
}
