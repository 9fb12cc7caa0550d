// SPDX-License-Identifier: GPL-2.0-or-later
//! Receives conntrack events (new, update, destroy), and reports an overflow that lost events.

use std::io;

use netlink::{AsyncSocket, BURST, CREATE, EXCL, Protocol, messages, overrun};

use crate::decode::{self, CT_DELETE, CT_NEW};
use crate::entry::Entry;

/// `NFNLGRP_CONNTRACK_NEW`, `_UPDATE` and `_DESTROY`.
const GROUPS: [u32; 3] = [1, 2, 3];
/// Receive buffer for some 10,000 events while the daemon is busy.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;
/// Events read in one burst; the rest waits so that other tasks can run.
pub const EVENTS_AT_ONCE: usize = BURST;

/// A change of an entry. NEW and UPDATE have no counters; setting the offload bits causes no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection was confirmed.
    New(Entry),
    /// Status, TCP state, helper, mark or another field changed.
    Update(Entry),
    /// The connection ended; the entry has the final counters.
    Destroy(Entry),
}

/// Reasons why events were not received.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The socket cannot be opened or may not listen.
    #[error("cannot listen to conntrack events")]
    Open(#[source] io::Error),
    #[error("cannot read conntrack events")]
    Read(#[source] io::Error),
    /// The receive buffer overflowed (`ENOBUFS`), so a dump is necessary.
    #[error("conntrack events were lost")]
    Lost,
}

/// Receives an event for every new, changed and destroyed connection.
#[derive(Debug)]
pub struct EventSocket {
    socket: AsyncSocket,
    /// Requested size of the receive buffer.
    bytes: usize,
}

impl EventSocket {
    /// Starts listening. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// Fails if the socket cannot be opened or cannot join the groups.
    pub fn open() -> Result<Self, EventError> {
        Self::with_buffer(KERNEL_BUFFER)
    }

    /// Like [`EventSocket::open`], with a receive buffer of about `bytes`.
    ///
    /// # Errors
    /// Fails as [`EventSocket::open`] does.
    pub fn with_buffer(bytes: usize) -> Result<Self, EventError> {
        let socket = AsyncSocket::open(Protocol::Netfilter, &GROUPS).map_err(EventError::Open)?;
        socket.receive_buffer(bytes).map_err(EventError::Open)?;
        Ok(Self { socket, bytes })
    }

    /// Waits for events and returns at least one and at most [`EVENTS_AT_ONCE`], oldest first.
    ///
    /// # Errors
    /// Returns [`EventError::Lost`] if the kernel dropped events; the socket remains usable.
    pub async fn recv(&mut self) -> Result<Vec<Event>, EventError> {
        let mut found = Vec::new();
        while found.is_empty() {
            let received = self.socket.recv_burst(|datagram| found.extend(events(datagram)));
            received.await.map_err(failure)?;
        }
        Ok(found)
    }

    /// Returns up to [`EVENTS_AT_ONCE`] received events, oldest first. An empty list means that all
    /// events sent so far have been read.
    ///
    /// # Errors
    /// Fails as [`recv`](Self::recv) does.
    pub fn try_recv(&mut self) -> Result<Vec<Event>, EventError> {
        let mut found = Vec::new();
        while found.len() < EVENTS_AT_ONCE {
            match self.socket.try_recv().map_err(failure)? {
                Some(datagram) => found.extend(events(datagram)),
                None => break,
            }
        }
        Ok(found)
    }

    /// Continues with another socket and discards the queued events. After an overflow, the kernel
    /// silently drops events until the queue is empty (`NETLINK_S_CONGESTED`), so a dump before
    /// that would miss them. Draining the queue would take some 10,000 system calls.
    ///
    /// # Errors
    /// Fails as [`EventSocket::open`] does.
    pub fn reopen(&mut self) -> Result<(), EventError> {
        *self = Self::with_buffer(self.bytes)?;
        Ok(())
    }
}

fn failure(error: io::Error) -> EventError {
    if overrun(&error) { EventError::Lost } else { EventError::Read(error) }
}

/// Decodes the events in a datagram.
pub fn events(datagram: &[u8]) -> impl Iterator<Item = Event> {
    messages(datagram).filter_map(|message| {
        let entry = || decode::entry(message.payload);
        match message.kind {
            // The kernel marks NEW with the flags that would create an entry.
            CT_NEW if message.flags & (CREATE | EXCL) != 0 => entry().map(Event::New),
            CT_NEW => entry().map(Event::Update),
            CT_DELETE => entry().map(Event::Destroy),
            _ => None,
        }
    })
}
