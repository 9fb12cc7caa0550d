// SPDX-License-Identifier: GPL-2.0-or-later
//! Starts tasks next to the daemon's loop.

use std::future::Future;
use std::pin::Pin;

/// Starts a task that nobody awaits. Needs a `LocalSet`.
///
/// The future is boxed: tokio compiles its task code for each type of future, over 2 kB each.
pub(crate) fn spawn_local(work: impl Future<Output = ()> + 'static) {
    let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(work);
    tokio::task::spawn_local(work);
}
