// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's side: full reads and events.

use std::io;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

use crate::change::Change;
use crate::read::{Reader, Running};
use crate::socket::{DATAGRAM, RouteSocket};

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

/// `RTNLGRP_*`: link, neighbour (and FDB), traffic control, IPv4 and IPv6 addresses, routes and
/// rules.
const GROUPS: [u32; 9] = [1, 3, 4, 5, 7, 8, 9, 11, 19];
/// `RTNLGRP_BRVLAN`, since Linux 5.6. Without it, VLANs are read again on link events only.
const BRIDGE_VLANS: u32 = 36;

/// How long after a ppp device went its session is looked after again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Follows the kernel. Needs no privilege; sees the network namespace it was opened in.
#[derive(Debug)]
pub struct Watcher {
    events: AsyncFd<RouteSocket>,
    reader: Reader<Running>,
    buffer: Vec<u8>,
    pending: Vec<Change>,
    full: bool,
    resyncs: u64,
    look_at: Option<Instant>,
}

impl Watcher {
    /// Subscribes to the kernel's changes. Must be called inside a tokio runtime with I/O
    /// and time.
    ///
    /// # Errors
    /// The socket could not be opened or a group not joined.
    pub fn open() -> Result<Self, WatchError> {
        Self::open_at(Path::new("/proc"))
    }

    /// Like [`Watcher::open`], with another place than `/proc` to read `net/pppoe` and the
    /// command lines of pppd in.
    ///
    /// # Errors
    /// As of [`Watcher::open`].
    pub fn open_at(proc: &Path) -> Result<Self, WatchError> {
        let socket = RouteSocket::open(true).map_err(WatchError::Open)?;
        socket.receive_buffer(1 << 20);
        for group in GROUPS {
            socket.join(group).map_err(WatchError::Open)?;
        }
        let _ = socket.join(BRIDGE_VLANS);
        let running = Running::open(proc).map_err(WatchError::Open)?;
        Ok(Self {
            // SAFETY: the socket owns its descriptor, and nothing replaces or closes it meanwhile.
            events: unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }
                .map_err(|error| WatchError::Open(error.into()))?,
            reader: Reader::new(running),
            buffer: vec![0; DATAGRAM],
            pending: Vec::new(),
            full: true,
            resyncs: 0,
            look_at: None,
        })
    }

    /// How often events were lost and everything was read again.
    #[must_use]
    pub fn resyncs(&self) -> u64 {
        self.resyncs
    }

    /// The next changes: first one [`Change::Full`], then what happens, and again a full read
    /// after events were lost. May be dropped while waiting without losing anything.
    ///
    /// # Errors
    /// A table could not be read, or the socket failed; calling again reads everything anew.
    pub async fn next(&mut self) -> Result<Vec<Change>, WatchError> {
        let changes = self.attempt().await;
        self.full |= changes.is_err();
        changes
    }

    async fn attempt(&mut self) -> Result<Vec<Change>, WatchError> {
        loop {
            if self.full {
                // A socket that lost events takes no new ones, silently, until its queue was
                // empty once. What is dropped here is in the read that follows.
                self.pending.clear();
                discard(self.events.get_ref(), &mut self.buffer).map_err(WatchError::Receive)?;
                let all = self.reader.full()?;
                self.full = false;
                return Ok(vec![all]);
            }
            let look_at = self.look_at();
            if look_at.is_some_and(|at| at <= Instant::now()) {
                return self.look_again();
            }
            let readable = self.events.readable();
            let ready = match look_at {
                Some(at) => timeout_at(at, readable).await,
                None => Ok(readable.await),
            };
            let Ok(ready) = ready else { return self.look_again() };
            let mut ready = ready.map_err(WatchError::Receive)?;
            let drained = drain(ready.get_inner(), &mut self.buffer, |datagram| {
                self.reader.event(datagram, &mut self.pending);
            });
            match drained {
                Ok(true) => ready.clear_ready(),
                Ok(false) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.full = true;
                    self.resyncs += 1;
                    continue;
                }
                Err(error) => return Err(WatchError::Receive(error)),
            }
            let mut changes = std::mem::take(&mut self.pending);
            self.reader.refresh(&mut changes)?;
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// When the sessions are to be read again although nothing was told.
    fn look_at(&mut self) -> Option<Instant> {
        if !self.reader.waits() {
            self.look_at = None;
            return None;
        }
        Some(*self.look_at.get_or_insert_with(|| Instant::now() + PATIENCE))
    }

    fn look_again(&mut self) -> Result<Vec<Change>, WatchError> {
        self.look_at = None;
        let mut changes = Vec::new();
        self.reader.look_again();
        self.reader.refresh(&mut changes)?;
        Ok(changes)
    }
}

/// Hands over what waits; true when nothing is left. At most a few hundred datagrams, so that a
/// storm cannot keep the caller from its other work.
fn drain(socket: &RouteSocket, buffer: &mut [u8], mut each: impl FnMut(&[u8])) -> io::Result<bool> {
    for _ in 0..512 {
        match socket.receive(buffer) {
            Ok(datagram) => each(datagram),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Drops what waits.
fn discard(socket: &RouteSocket, buffer: &mut [u8]) -> io::Result<()> {
    for _ in 0..1_000_000 {
        match socket.receive(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
            _ => {}
        }
    }
    Err(io::Error::other("they arrive faster than they can be discarded"))
}
