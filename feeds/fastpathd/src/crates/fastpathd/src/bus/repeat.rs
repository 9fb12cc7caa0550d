// SPDX-License-Identifier: GPL-2.0-or-later
//! Repeats calls whose answer rpcd lost: how often, after which pause, and only calls that read.

use std::time::Duration;

use ubus::{CallError, Status};

/// How often a call that only reads is made while its answer is lost.
const TRIES: u32 = 5;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(300);

/// Repeats a call whose answer rpcd lost. With two callers at once it does so now and then: since
/// March 2026 it closes the pipes of a plug-in's program twice. Without another call the daemon
/// would keep its old settings until the next reload.
pub(crate) async fn read_again<T, F, A>(mut call: F) -> Result<T, CallError>
where
    F: FnMut() -> A,
    A: Future<Output = Result<T, CallError>>,
{
    for _ in 1..TRIES {
        match call().await {
            Err(error) if error.status() == Status::NoData => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
    call().await
}
