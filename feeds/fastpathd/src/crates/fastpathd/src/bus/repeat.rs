// SPDX-License-Identifier: GPL-2.0-or-later
//! Repeats read-only calls if rpcd has lost their answer.

use std::time::Duration;

use ubus::{CallError, Status};

/// Attempts per call, including the first.
const TRIES: u32 = 5;
/// Pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(300);

/// Repeats a read-only call while rpcd loses its answer. With concurrent callers that happens at
/// times: since March 2026 rpcd closes the pipes of a plug-in's program twice. Without a retry the
/// daemon would keep its old settings until the next reload.
pub(crate) async fn read_again<T, F, A>(mut call: F) -> Result<T, CallError>
where
    F: FnMut() -> A,
    A: Future<Output = Result<T, CallError>>,
{
    for _ in 1..TRIES {
        match call().await {
            Err(error) if error.status() == Status::NoData => {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            answer => return answer,
        }
    }
    call().await
}
