// SPDX-License-Identifier: GPL-2.0-or-later
//! Watches the kernel's network: receives events, resynchronizes after lost ones, and polls `PPPoE`
//! sessions.

use std::io;
use std::path::Path;
use std::time::Duration;

use netlink::{AsyncSocket, Protocol, RequestError, overrun};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use crate::change::Change;
use crate::read::{ReadError, Reader, RunningKernel};

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Opening the socket or joining a multicast group failed.
    #[error("cannot open an rtnetlink socket for events")]
    Open(#[source] io::Error),
    #[error("cannot open an rtnetlink socket for requests")]
    Client(#[source] RequestError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot receive rtnetlink events")]
    Receive(#[source] io::Error),
}

/// `RTNLGRP_*`: link, neighbour (and FDB), traffic control, IPv4 and IPv6 addresses, routes and
/// rules.
const GROUPS: [u32; 9] = [1, 3, 4, 5, 7, 8, 9, 11, 19];
/// `RTNLGRP_BRVLAN`, since Linux 5.6. Without it, VLANs are read again only on link events.
const BRIDGE_VLANS: u32 = 36;

/// Interval for polling sessions without a ppp device.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Watches the network namespace in which it was opened. Needs no privileges.
#[derive(Debug)]
pub struct Watcher {
    events: AsyncSocket,
    reader: Reader<RunningKernel>,
    pending: Vec<Change>,
    full: bool,
    resyncs: u64,
    recheck_at: Option<Instant>,
}

impl Watcher {
    /// Subscribes to the kernel's changes. Needs a tokio runtime with I/O and time.
    pub fn open() -> Result<Self, WatchError> {
        Self::open_at(Path::new("/proc"))
    }

    /// Like [`Watcher::open`], with another directory than `/proc` for `net/pppoe` and the command
    /// lines of pppd.
    pub fn open_at(proc: &Path) -> Result<Self, WatchError> {
        let events = AsyncSocket::open(Protocol::Route, &GROUPS).map_err(WatchError::Open)?;
        // Best effort: a smaller buffer overflows earlier.
        let _ = events.receive_buffer(1 << 20);
        let _ = events.join(BRIDGE_VLANS);
        let running = RunningKernel::open(proc).map_err(WatchError::Client)?;
        Ok(Self {
            events,
            reader: Reader::new(running),
            pending: Vec::new(),
            full: true,
            resyncs: 0,
            recheck_at: None,
        })
    }

    /// Returns the number of full reads after lost events.
    #[must_use]
    pub fn resyncs(&self) -> u64 {
        self.resyncs
    }

    /// Returns the next changes: first one [`Change::Full`], then changes as they occur, and a full
    /// read after lost events. Cancel-safe: dropping the future loses nothing.
    ///
    /// # Errors
    /// Fails if a table cannot be read or the socket fails; the next call then reads everything.
    pub async fn next(&mut self) -> Result<Vec<Change>, WatchError> {
        let changes = self.attempt().await;
        self.full |= changes.is_err();
        changes
    }

    async fn attempt(&mut self) -> Result<Vec<Change>, WatchError> {
        loop {
            if self.full {
                // After an overflow, the kernel queues no events until the queue is empty. The full
                // read covers the discarded events.
                self.pending.clear();
                discard(&mut self.events).map_err(WatchError::Receive)?;
                let all = self.reader.full()?;
                self.full = false;
                return Ok(vec![all]);
            }
            let recheck_at = self.recheck_at();
            if recheck_at.is_some_and(|at| at <= Instant::now()) {
                return self.recheck();
            }
            let received = match recheck_at {
                Some(at) => timeout_at(at, self.events.recv()).await,
                None => Ok(self.events.recv().await),
            };
            let Ok(received) = received else { return self.recheck() };
            let drained = match received {
                Ok(datagram) => {
                    self.reader.event(datagram, &mut self.pending);
                    self.drain()
                }
                Err(error) => Err(error),
            };
            match drained {
                Err(error) if overrun(&error) => {
                    self.full = true;
                    self.resyncs += 1;
                    continue;
                }
                drained => drained.map_err(WatchError::Receive)?,
            }
            let mut changes = std::mem::take(&mut self.pending);
            self.reader.refresh(&mut changes)?;
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// Reads at most a few hundred datagrams, so that the caller can do other work during a burst.
    fn drain(&mut self) -> io::Result<()> {
        for _ in 1..512 {
            let Some(datagram) = self.events.try_recv()? else { break };
            self.reader.event(datagram, &mut self.pending);
        }
        Ok(())
    }

    fn recheck_at(&mut self) -> Option<Instant> {
        if !self.reader.needs_recheck() {
            self.recheck_at = None;
            return None;
        }
        Some(*self.recheck_at.get_or_insert_with(|| Instant::now() + POLL_INTERVAL))
    }

    fn recheck(&mut self) -> Result<Vec<Change>, WatchError> {
        self.recheck_at = None;
        let mut changes = Vec::new();
        self.reader.recheck();
        self.reader.refresh(&mut changes)?;
        Ok(changes)
    }
}

fn discard(socket: &mut AsyncSocket) -> io::Result<()> {
    for _ in 0..1_000_000 {
        match socket.try_recv() {
            Ok(None) => return Ok(()),
            Err(error) if !overrun(&error) => return Err(error),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    Err(io::Error::other("events arrive faster than they can be discarded"))
}
