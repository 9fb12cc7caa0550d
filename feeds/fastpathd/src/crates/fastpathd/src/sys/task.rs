// SPDX-License-Identifier: GPL-2.0-or-later
//! What the daemon does at the same time as other things.

use std::future::Future;
use std::pin::Pin;

/// Starts something that ends by itself. Needs a `LocalSet`.
///
/// In a box: tokio would compile its tasks anew for each kind of future, over 2 kB each.
pub(crate) fn spawn_local(work: impl Future<Output = ()> + 'static) {
    let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(work);
    tokio::task::spawn_local(work);
}
