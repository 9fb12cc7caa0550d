// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocking requests and dumps, with a timeout.

use std::io;
use std::time::Duration;

use rustix::net::SocketFlags;

use crate::error::RequestError;
use crate::message::{ACK, DUMP, REQUEST, message, messages};
use crate::socket::{DATAGRAM, Protocol, Socket};

/// Receive timeout. The kernel normally answers before `send` returns.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum dumps of a table that changes during each dump.
const MAX_ATTEMPTS: usize = 5;

/// Socket for requests that block the thread.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    seq: u32,
}

impl Client {
    pub fn open(protocol: Protocol) -> Result<Self, RequestError> {
        let open = || {
            let socket = Socket::open(protocol, SocketFlags::empty())?;
            socket.receive_timeout(TIMEOUT)?;
            Ok(Self { socket, seq: 0 })
        };
        open().map_err(RequestError::Open)
    }

    /// Sends a request and returns the messages of the answer.
    pub fn request(&mut self, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        Ok(self.exchange(kind, ACK, payload)?.messages)
    }

    /// Sends a request with additional flags, such as [`CREATE`](crate::CREATE).
    pub fn request_with(
        &mut self,
        kind: u16,
        flags: u16,
        payload: &[u8],
    ) -> Result<Vec<u8>, RequestError> {
        Ok(self.exchange(kind, ACK | flags, payload)?.messages)
    }

    /// Dumps a table and returns the messages. Repeats a dump during which the table changed.
    ///
    /// # Errors
    /// Returns [`RequestError::Interrupted`] if the table changed during each attempt.
    pub fn dump(&mut self, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        for _ in 0..MAX_ATTEMPTS {
            let answer = self.exchange(kind, DUMP, payload)?;
            if !answer.interrupted {
                return Ok(answer.messages);
            }
        }
        Err(RequestError::Interrupted)
    }

    fn exchange(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<Answer, RequestError> {
        self.seq = self.seq.wrapping_add(1);
        let request = message(kind, REQUEST | flags, self.seq, payload);
        self.socket.send(&request).map_err(RequestError::Send)?;
        let mut answer = Answer::default();
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let length = self.socket.receive(&mut buffer).map_err(RequestError::Receive)?;
            if answer.add(&buffer[..length], self.seq)? {
                return Ok(answer);
            }
        }
    }
}

/// Sends one request over a new socket.
pub fn request(protocol: Protocol, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
    Client::open(protocol)?.request(kind, payload)
}

#[derive(Debug, Default)]
struct Answer {
    messages: Vec<u8>,
    interrupted: bool,
}

impl Answer {
    /// Adds a datagram and returns true at the end of the answer. Skips messages with another
    /// sequence number, which belong to a request that timed out.
    fn add(&mut self, datagram: &[u8], seq: u32) -> Result<bool, RequestError> {
        let mut all = messages(datagram);
        for found in all.by_ref().filter(|found| found.seq == seq) {
            self.interrupted |= found.is_interrupted();
            if let Some(end) = found.end() {
                return end.map(|()| true).map_err(RequestError::Refused);
            }
            if found.is_content() {
                self.messages.extend(message(found.kind, found.flags, seq, found.payload));
            }
        }
        if all.is_truncated() { Err(RequestError::Malformed) } else { Ok(false) }
    }
}

impl From<RequestError> for io::Error {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(refusal) if refusal.text.is_none() => {
                Self::from_raw_os_error(refusal.errno)
            }
            RequestError::Open(cause)
            | RequestError::Send(cause)
            | RequestError::Receive(cause) => cause,
            RequestError::Refused(refusal) => {
                let kind = Self::from_raw_os_error(refusal.errno).kind();
                Self::new(kind, refusal)
            }
            RequestError::Malformed => Self::new(io::ErrorKind::InvalidData, error),
            RequestError::NoFamily(_) => Self::new(io::ErrorKind::NotFound, error),
            RequestError::Interrupted => Self::other(error),
        }
    }
}

#[cfg(test)]
mod tests;
