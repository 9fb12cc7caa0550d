// SPDX-License-Identifier: GPL-2.0-or-later

use std::future::Future;
use std::pin::Pin;

/// Starts a detached task. Needs a `LocalSet`.
///
/// The future is boxed, because tokio's task code takes over 2 kB per type of future.
pub(crate) fn spawn_local(work: impl Future<Output = ()> + 'static) {
    let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(work);
    tokio::task::spawn_local(work);
}
