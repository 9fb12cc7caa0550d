// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends route look-ups asynchronously: 32 queries per datagram, with a timeout of 2 s.

use std::io;
use std::time::Duration;

use netlink::{AsyncSocket, Protocol, messages};
use thiserror::Error;
use tokio::time::timeout;

use crate::lookup::{RouteAnswer, RouteQuery, answer, request};

/// Queries per datagram. The kernel answers all of them within `send`, so the answers must fit into
/// the receive buffer.
const BATCH: usize = 32;

const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Error)]
pub enum LookupError {
    #[error("cannot open an rtnetlink socket for route look-ups")]
    Open(#[source] io::Error),
    #[error("cannot send route look-ups")]
    Send(#[source] io::Error),
    #[error("cannot receive the answers to route look-ups")]
    Receive(#[source] io::Error),
    /// The answers did not arrive within the timeout.
    #[error("the kernel does not answer route look-ups")]
    Silent,
}

/// Looks up routes of the network namespace in which it was opened. Needs no privileges.
#[derive(Debug)]
pub struct RouteLookup {
    socket: AsyncSocket,
    seq: u32,
}

impl RouteLookup {
    /// Opens the socket. Needs a tokio runtime with I/O and time.
    pub fn open() -> Result<Self, LookupError> {
        let socket = AsyncSocket::open(Protocol::Route, &[]).map_err(LookupError::Open)?;
        Ok(Self { socket, seq: 0 })
    }

    /// Returns the kernel's answer to each query.
    ///
    /// # Errors
    /// Returns a [`LookupError`]; the socket is unusable afterwards.
    pub async fn ask(
        &mut self,
        queries: &[RouteQuery],
    ) -> Result<Vec<(RouteQuery, RouteAnswer)>, LookupError> {
        let mut answers = Vec::with_capacity(queries.len());
        for batch in queries.chunks(BATCH) {
            let asked = timeout(TIMEOUT, self.batch(batch, &mut answers));
            asked.await.map_err(|_| LookupError::Silent)??;
            tokio::task::yield_now().await;
        }
        Ok(answers)
    }

    async fn batch(
        &mut self,
        batch: &[RouteQuery],
        answers: &mut Vec<(RouteQuery, RouteAnswer)>,
    ) -> Result<(), LookupError> {
        let first = self.seq.wrapping_add(1);
        let mut requests = Vec::new();
        for query in batch {
            self.seq = self.seq.wrapping_add(1);
            requests.extend(request(query, self.seq));
        }
        self.socket.send(&requests).map_err(LookupError::Send)?;
        let mut missing = batch.len();
        while missing > 0 {
            let datagram = self.socket.recv().await.map_err(LookupError::Receive)?;
            for message in messages(datagram) {
                let at = usize::try_from(message.seq.wrapping_sub(first)).unwrap_or(usize::MAX);
                if let Some(query) = batch.get(at) {
                    answers.push((*query, answer(&message)));
                    missing = missing.saturating_sub(1);
                }
            }
        }
        Ok(())
    }
}
