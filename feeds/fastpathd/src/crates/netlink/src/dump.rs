// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a dump datagram by datagram without blocking the thread. An interrupted pass is reported,
//! not repeated.

use crate::error::RequestError;
use crate::message::{Message, messages};
use crate::reactor::AsyncSocket;
use crate::socket::Protocol;

/// Reads tables in passes, one after the other.
#[derive(Debug)]
pub struct Dump {
    socket: AsyncSocket,
    seq: u32,
    running: bool,
    interrupted: bool,
}

impl Dump {
    /// Opens the socket. Needs a tokio runtime.
    ///
    /// # Errors
    /// Returns [`RequestError::Open`].
    pub fn open(protocol: Protocol) -> Result<Self, RequestError> {
        let socket = AsyncSocket::open(protocol, &[]).map_err(RequestError::Open)?;
        Ok(Self { socket, seq: 0, running: false, interrupted: false })
    }

    /// Sends the dump request that `request` makes for a sequence number.
    ///
    /// # Errors
    /// Returns [`RequestError::Send`].
    pub fn start(&mut self, request: impl FnOnce(u32) -> Vec<u8>) -> Result<(), RequestError> {
        self.seq = self.seq.wrapping_add(1);
        self.socket.send(&request(self.seq)).map_err(RequestError::Send)?;
        self.running = true;
        Ok(())
    }

    /// Passes the messages of the next datagram to `each`. Returns false at the end.
    ///
    /// Yields to other tasks first: the kernel always has the next datagram ready, so the dump
    /// would otherwise block a single-threaded daemon.
    ///
    /// # Errors
    /// Returns a [`RequestError`]; the pass has ended then.
    pub async fn next(&mut self, mut each: impl FnMut(Message<'_>)) -> Result<bool, RequestError> {
        if !self.running {
            return Ok(false);
        }
        tokio::task::yield_now().await;
        let datagram = self.socket.recv().await.map_err(RequestError::Receive);
        self.running = false;
        for message in messages(datagram?).filter(|message| message.seq == self.seq) {
            self.interrupted |= message.is_interrupted();
            match message.end() {
                Some(end) => return end.map(|()| false).map_err(RequestError::Refused),
                None => each(message),
            }
        }
        self.running = true;
        Ok(true)
    }

    /// Reports whether the table changed during a pass, so that existing objects may be missing.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.interrupted
    }
}
