// SPDX-License-Identifier: GPL-2.0-or-later
//! Receives conntrack events and detects overflows.

use std::io;

use netlink::{AsyncSocket, BURST, CREATE, EXCL, Protocol, messages, overrun};

use crate::decode::{self, CT_DELETE, CT_NEW};
use crate::entry::Entry;

/// `NFNLGRP_CONNTRACK_NEW`, `_UPDATE` and `_DESTROY`.
const GROUPS: [u32; 3] = [1, 2, 3];
/// Receive buffer, sufficient for about 10,000 events.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;
/// Maximum events returned by one call.
pub const MAX_EVENTS: usize = BURST;

/// A conntrack event. The kernel sends no event when it sets the offload bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection began, and its first packet has left the router.
    New(Entry),
    /// Status, TCP state, helper, mark or another field changed.
    Update(Entry),
    /// A connection ended. The entry has the final counters.
    Destroy(Entry),
}

#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("cannot listen to conntrack events")]
    Open(#[source] io::Error),
    #[error("cannot read conntrack events")]
    Read(#[source] io::Error),
    /// The receive buffer overflowed (`ENOBUFS`), so the caller needs a dump.
    #[error("conntrack events were lost")]
    Lost,
}

#[derive(Debug)]
pub struct EventSocket {
    socket: AsyncSocket,
    /// Requested size of the receive buffer, in bytes.
    bytes: usize,
}

impl EventSocket {
    /// Opens a socket that receives events. Needs `CAP_NET_ADMIN` and a tokio runtime.
    pub fn open() -> Result<Self, EventError> {
        Self::with_buffer(KERNEL_BUFFER)
    }

    /// Like [`EventSocket::open`], with a receive buffer of about `bytes`.
    pub fn with_buffer(bytes: usize) -> Result<Self, EventError> {
        let socket = AsyncSocket::open(Protocol::Netfilter, &GROUPS).map_err(EventError::Open)?;
        socket.receive_buffer(bytes).map_err(EventError::Open)?;
        Ok(Self { socket, bytes })
    }

    /// Waits for events and returns at least one and at most [`MAX_EVENTS`], oldest first.
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

    /// Returns up to [`MAX_EVENTS`] queued events, oldest first, without waiting. An empty list
    /// means that the queue is empty.
    pub fn try_recv(&mut self) -> Result<Vec<Event>, EventError> {
        let mut found = Vec::new();
        loop {
            let received = self.socket.try_recv_burst(|datagram| found.extend(events(datagram)));
            if received.map_err(failure)? == 0 || !found.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Prevents wake-ups for further events until the caller waits for them again.
    pub fn mute(&mut self) {
        self.socket.mute();
    }

    /// Replaces the socket and discards the queued events. After an overflow, the kernel drops
    /// further events until the queue is empty (`NETLINK_S_CONGESTED`), and draining it would take
    /// about 10,000 system calls.
    pub fn reopen(&mut self) -> Result<(), EventError> {
        *self = Self::with_buffer(self.bytes)?;
        Ok(())
    }
}

fn failure(error: io::Error) -> EventError {
    if overrun(&error) { EventError::Lost } else { EventError::Read(error) }
}

pub fn events(datagram: &[u8]) -> impl Iterator<Item = Event> {
    messages(datagram).filter_map(|message| {
        let entry = || decode::entry(message.payload);
        match message.kind {
            // NEW and UPDATE have the same type; NEW has these flags.
            CT_NEW if message.flags & (CREATE | EXCL) != 0 => entry().map(Event::New),
            CT_NEW => entry().map(Event::Update),
            CT_DELETE => entry().map(Event::Destroy),
            _ => None,
        }
    })
}
