// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks up single conntrack entries by zone and original direction.

use netlink::{AsyncSocket, Protocol, RequestError, messages};
use rustix::io::Errno;

use crate::decode::{self, CT_NEW};
use crate::entry::{Entry, Tuple};
use crate::request;

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

    /// Returns the entry with original direction `orig` in `zone`, or `None` if it does not exist.
    pub async fn get(&mut self, zone: u16, orig: &Tuple) -> Result<Option<Entry>, LookupError> {
        self.request(zone, orig).await.map_err(LookupError)
    }

    async fn request(&mut self, zone: u16, orig: &Tuple) -> Result<Option<Entry>, RequestError> {
        self.seq = self.seq.wrapping_add(1);
        let seq = self.seq;
        self.socket.send(&request::get(seq, zone, orig)).map_err(RequestError::Send)?;
        loop {
            let datagram = self.socket.recv().await.map_err(RequestError::Receive)?;
            for message in messages(datagram).filter(|message| message.seq == seq) {
                if message.kind == CT_NEW {
                    return Ok(decode::entry(message.payload));
                }
                match message.end() {
                    Some(Err(refusal)) if refusal.errno != Errno::NOENT.raw_os_error() => {
                        return Err(RequestError::Refused(refusal));
                    }
                    Some(_) => return Ok(None),
                    None => {}
                }
            }
        }
    }
}
