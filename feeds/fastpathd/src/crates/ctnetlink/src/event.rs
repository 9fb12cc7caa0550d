// SPDX-License-Identifier: GPL-2.0-or-later
//! Conntrack events (new, update, destroy): multicast groups, size of the receive buffer, events
//! read at once, and the overflow after which events are missing.

use std::io;

use netlink::{AsyncSocket, BURST, CREATE, EXCL, Protocol, messages, overrun};

use crate::decode::{self, CT_DELETE, CT_NEW};
use crate::entry::Entry;

/// `NFNLGRP_CONNTRACK_NEW`, `_UPDATE` and `_DESTROY`.
const GROUPS: [u32; 3] = [1, 2, 3];
/// Holds some 10,000 events while the daemon is busy.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;
/// Events read at once, each a datagram; the rest waits so that other tasks can run.
pub const EVENTS_AT_ONCE: usize = BURST;

/// One change. NEW and UPDATE carry no counters; setting the offload bits causes no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection was confirmed.
    New(Entry),
    /// Status, TCP state, helper, mark, … changed.
    Update(Entry),
    /// It has ended; the entry has the final counters.
    Destroy(Entry),
}

/// Why events were not received.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// No socket, or not allowed to listen.
    #[error("cannot listen to conntrack events")]
    Open(#[source] io::Error),
    /// Reading failed.
    #[error("cannot read conntrack events")]
    Read(#[source] io::Error),
    /// The receive buffer overflowed (`ENOBUFS`): events are missing, a dump is necessary.
    #[error("conntrack events were lost")]
    Lost,
}

/// A socket that receives an event for every new, changed and destroyed connection.
#[derive(Debug)]
pub struct EventSocket {
    socket: AsyncSocket,
    /// Size of the receive buffer that was asked for.
    bytes: usize,
}

impl EventSocket {
    /// Starts listening. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// When there is no socket or the groups cannot be joined.
    pub fn open() -> Result<Self, EventError> {
        Self::with_buffer(KERNEL_BUFFER)
    }

    /// Like [`EventSocket::open`], with a receive buffer of about this size.
    ///
    /// # Errors
    /// As [`EventSocket::open`].
    pub fn with_buffer(bytes: usize) -> Result<Self, EventError> {
        let socket = AsyncSocket::open(Protocol::Netfilter, &GROUPS).map_err(EventError::Open)?;
        socket.receive_buffer(bytes).map_err(EventError::Open)?;
        Ok(Self { socket, bytes })
    }

    /// Waits for events and returns those that have arrived, oldest first, at least one and at most
    /// [`EVENTS_AT_ONCE`].
    ///
    /// # Errors
    /// [`EventError::Lost`] when the kernel had to drop some; the socket remains usable.
    pub async fn recv(&mut self) -> Result<Vec<Event>, EventError> {
        let mut found = Vec::new();
        while found.is_empty() {
            let received = self.socket.recv_burst(|datagram| found.extend(events(datagram)));
            received.await.map_err(failure)?;
        }
        Ok(found)
    }

    /// The events that have arrived, oldest first, at most [`EVENTS_AT_ONCE`]; none: all that the
    /// kernel sent until now have been read.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
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

    /// Continues with another socket, and discards the queued events. After an overflow the kernel
    /// silently drops new events until the queue has been empty once (`NETLINK_S_CONGESTED`): a
    /// dump before that would miss them. Reading the queue would take some 10,000 system calls.
    ///
    /// # Errors
    /// As [`EventSocket::open`].
    pub fn reopen(&mut self) -> Result<(), EventError> {
        *self = Self::with_buffer(self.bytes)?;
        Ok(())
    }
}

fn failure(error: io::Error) -> EventError {
    if overrun(&error) { EventError::Lost } else { EventError::Read(error) }
}

/// The events in a datagram.
pub fn events(datagram: &[u8]) -> impl Iterator<Item = Event> {
    messages(datagram).filter_map(|message| {
        let entry = || decode::entry(message.payload);
        match message.kind {
            // The kernel marks NEW by the flags that would create an entry.
            CT_NEW if message.flags & (CREATE | EXCL) != 0 => entry().map(Event::New),
            CT_NEW => entry().map(Event::Update),
            CT_DELETE => entry().map(Event::Destroy),
            _ => None,
        }
    })
}
