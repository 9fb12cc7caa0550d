// SPDX-License-Identifier: GPL-2.0-or-later
//! Conntrack events (new, update, destroy): multicast groups, size of the receive buffer, datagrams
//! read at once, and the overflow after which events are missing.

use std::io;

use netlink::{AsyncSocket, CREATE, EXCL, Protocol, messages, overrun};

use crate::decode::{self, CT_DELETE, CT_NEW};
use crate::entry::Entry;

/// `NFNLGRP_CONNTRACK_NEW`, `_UPDATE` and `_DESTROY`.
const GROUPS: [u32; 3] = [1, 2, 3];
/// Holds some 10,000 events while the daemon is busy.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;
/// Datagrams read at once; the rest waits so that other tasks can run.
const BURST: usize = 64;

/// Datagrams that [`EventSocket::drain`] discards at most: more than the buffer holds.
const MOST_DRAINED: usize = 100_000;

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
        Ok(Self { socket })
    }

    /// Waits for events and returns those that have arrived, oldest first, at least one.
    ///
    /// # Errors
    /// [`EventError::Lost`] when the kernel had to drop some; the socket remains usable.
    pub async fn recv(&mut self) -> Result<Vec<Event>, EventError> {
        let mut found = Vec::new();
        while found.is_empty() {
            found.extend(events(self.socket.recv().await.map_err(failure)?));
        }
        for _ in 1..BURST {
            match self.socket.try_recv().map_err(failure)? {
                Some(datagram) => found.extend(events(datagram)),
                None => break,
            }
        }
        Ok(found)
    }

    /// Discards the queued events. After an overflow the kernel silently drops new events until
    /// the queue has been empty once (`NETLINK_S_CONGESTED`): a dump before that would miss them.
    /// Events that arrive afterwards stay, however fast they follow each other.
    ///
    /// # Errors
    /// Reading failed.
    pub fn drain(&mut self) -> Result<(), EventError> {
        drained(|| self.socket.try_recv().map(|datagram| datagram.is_some()))
            .map_err(EventError::Read)
    }
}

/// Reads until nothing is queued.
fn drained(mut is_more: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    for _ in 0..MOST_DRAINED {
        match is_more() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if overrun(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Waiting for a pause between events could take hours during a scan.
    #[test]
    fn an_overflow_is_drained_up_to_the_first_empty_queue() {
        let mut queue = vec![Ok(false), Ok(true), Err(io::ErrorKind::Other), Ok(false), Ok(true)];
        let mut overflow = || {
            let next = queue.pop().unwrap();
            next.map_err(|_| io::Error::from(rustix::io::Errno::NOBUFS))
        };
        drained(&mut overflow).unwrap();
        assert_eq!(queue.len(), 3, "later events stay");
        drained(|| Ok(true)).expect("events without end");
        let lost = || Err(io::Error::from(rustix::io::Errno::NOBUFS));
        drained(lost).expect("one overflow after the other");
        assert!(drained(|| Err(io::ErrorKind::PermissionDenied.into())).is_err());
    }
}
