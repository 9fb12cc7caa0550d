// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a dump one datagram at a time, without blocking the thread. Does not repeat interrupted
//! dumps.

use crate::error::{Refusal, RequestError};
use crate::message::{Message, messages};
use crate::reactor::AsyncSocket;
use crate::socket::Protocol;

/// Socket for consecutive dumps, each called a pass.
#[derive(Debug)]
pub struct Dump {
    socket: AsyncSocket,
    pass: Pass,
}

#[derive(Debug, Default)]
struct Pass {
    seq: u32,
    running: bool,
    interrupted: bool,
}

impl Dump {
    /// Opens a socket. Needs a tokio runtime.
    pub fn open(protocol: Protocol) -> Result<Self, RequestError> {
        let socket = AsyncSocket::open(protocol, &[]).map_err(RequestError::Open)?;
        Ok(Self { socket, pass: Pass::default() })
    }

    /// Starts a pass. `request` builds the dump request for a sequence number.
    pub fn start(&mut self, request: impl FnOnce(u32) -> Vec<u8>) -> Result<(), RequestError> {
        self.pass.seq = self.pass.seq.wrapping_add(1);
        self.socket.send(&request(self.pass.seq)).map_err(RequestError::Send)?;
        self.pass.running = true;
        Ok(())
    }

    /// Passes the messages of the next datagram to `each`. Returns false at the end.
    ///
    /// Yields to other tasks first. The next datagram is always ready, so the dump would otherwise
    /// starve other tasks.
    ///
    /// # Errors
    /// Returns a [`RequestError`]; this ends the pass.
    pub async fn next(&mut self, each: impl FnMut(Message<'_>)) -> Result<bool, RequestError> {
        if !self.pass.running {
            return Ok(false);
        }
        tokio::task::yield_now().await;
        let datagram = self.socket.recv().await.map_err(RequestError::Receive);
        self.pass.running = false;
        self.pass.read(datagram?, each).map_err(RequestError::Refused)
    }

    /// Reports whether the table changed during a pass, so that objects may be missing.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.pass.interrupted
    }
}

impl Pass {
    fn read(
        &mut self,
        datagram: &[u8],
        mut each: impl FnMut(Message<'_>),
    ) -> Result<bool, Refusal> {
        self.running = false;
        for message in messages(datagram).filter(|message| message.seq == self.seq) {
            self.interrupted |= message.is_interrupted();
            match message.end() {
                Some(end) => return end.map(|()| false),
                None => each(message),
            }
        }
        self.running = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::message;

    #[test]
    fn an_interrupted_message_interrupts_the_pass() {
        const DUMP_INTR: u16 = 0x10;
        let (content, done) = (16, 3);
        for interrupted in 0..3 {
            let flag = |at: usize| if at == interrupted { DUMP_INTR } else { 0 };
            let mut pass = Pass { seq: 7, ..Pass::default() };
            let mut datagram = message(content, flag(0), 7, &[]);
            datagram.extend(message(content, flag(1), 7, &[]));
            let mut seen = 0;
            assert!(pass.read(&datagram, |_| seen += 1).unwrap() && pass.running);
            let other = message(content, DUMP_INTR, 6, &[]);
            assert!(pass.read(&other, |_| seen += 1).unwrap());
            assert_eq!((seen, pass.interrupted), (2, interrupted < 2));
            assert!(!pass.read(&message(done, flag(2), 7, &[0; 4]), |_| seen += 1).unwrap());
            assert!(pass.interrupted && !pass.running);
        }
    }
}
