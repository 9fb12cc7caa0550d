// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks up conntrack entries by zone and original direction, 64 per system call.

use netlink::{AsyncSocket, Protocol, RequestError, messages};
use rustix::io::Errno;

use crate::decode::{self, CT_NEW};
use crate::entry::{Entry, Tuple};
use crate::request;

/// Requests per datagram. The kernel answers all of them within `send`, so the answers must fit
/// into the receive buffer.
const BATCH: usize = 64;

#[derive(Debug, thiserror::Error)]
#[error("cannot look up a conntrack entry")]
pub struct LookupError(#[source] pub RequestError);

/// Looks up single entries. Unlike events, a lookup shows whether a flow is offloaded.
#[derive(Debug)]
pub struct Lookup {
    socket: AsyncSocket,
    seq: u32,
}

impl Lookup {
    /// Opens the socket. Needs `CAP_NET_ADMIN` and a tokio runtime.
    pub fn open() -> Result<Self, LookupError> {
        match AsyncSocket::open(Protocol::Netfilter, &[]) {
            Ok(socket) => Ok(Self { socket, seq: 0 }),
            Err(error) => Err(LookupError(RequestError::Open(error))),
        }
    }

    /// Returns for each key, a zone and an original direction, the entry or `None` if it does not
    /// exist.
    pub async fn get(&mut self, keys: &[(u16, Tuple)]) -> Result<Vec<Option<Entry>>, LookupError> {
        let mut found = vec![None; keys.len()];
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            tokio::task::yield_now().await;
            self.batch(keys, found).await.map_err(LookupError)?;
        }
        Ok(found)
    }

    async fn batch(
        &mut self,
        keys: &[(u16, Tuple)],
        found: &mut [Option<Entry>],
    ) -> Result<(), RequestError> {
        let first = self.seq.wrapping_add(1);
        let mut requests = Vec::new();
        for (zone, orig) in keys {
            self.seq = self.seq.wrapping_add(1);
            requests.extend(request::get(self.seq, *zone, orig));
        }
        self.socket.send(&requests).map_err(RequestError::Send)?;
        let mut missing = keys.len();
        while missing > 0 {
            let datagram = self.socket.recv().await.map_err(RequestError::Receive)?;
            for message in messages(datagram) {
                let at = usize::try_from(message.seq.wrapping_sub(first)).unwrap_or(usize::MAX);
                let Some(found) = found.get_mut(at) else { continue };
                if message.kind == CT_NEW {
                    *found = decode::entry(message.payload);
                } else {
                    match message.end() {
                        Some(Err(refusal)) if refusal.errno != Errno::NOENT.raw_os_error() => {
                            return Err(RequestError::Refused(refusal));
                        }
                        Some(_) => {}
                        None => continue,
                    }
                }
                missing -= 1;
            }
        }
        Ok(())
    }
}
