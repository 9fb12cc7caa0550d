// SPDX-License-Identifier: GPL-2.0-or-later
//! One entry by its original direction.

use std::io;

use rustix::io::Errno;

use crate::decode::{self, CT_NEW, ERROR, Frames};
use crate::dump::refusal;
use crate::entry::{Entry, Tuple};
use crate::request;
use crate::socket::Socket;

/// Why a look-up failed.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// No socket.
    #[error("cannot open a netfilter netlink socket")]
    Open(#[source] io::Error),
    /// The request did not go out.
    #[error("cannot ask for a conntrack entry")]
    Ask(#[source] io::Error),
    /// Reading the answer failed.
    #[error("cannot read a conntrack entry")]
    Read(#[source] io::Error),
    /// The kernel refused.
    #[error("the kernel refuses to look up a conntrack entry")]
    Refused(#[source] io::Error),
}

/// A socket to ask for single entries: tells within microseconds whether a young flow has been
/// offloaded, which no event reports.
#[derive(Debug)]
pub struct Lookup {
    socket: Socket,
    seq: u32,
}

impl Lookup {
    /// Opens the socket. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// When there is no socket.
    pub fn open() -> Result<Self, LookupError> {
        Ok(Self { socket: Socket::open(0).map_err(LookupError::Open)?, seq: 0 })
    }

    /// The entry whose original direction is `orig` in `zone`; `None` when it is gone.
    ///
    /// # Errors
    /// When the kernel cannot be asked or refuses.
    pub async fn get(&mut self, zone: u16, orig: &Tuple) -> Result<Option<Entry>, LookupError> {
        self.seq = self.seq.wrapping_add(1);
        let seq = self.seq;
        self.socket.send(&request::get(seq, zone, orig)).map_err(LookupError::Ask)?;
        loop {
            let datagram = self.socket.recv().await.map_err(LookupError::Read)?;
            for frame in Frames::new(datagram).filter(|frame| frame.seq == seq) {
                match frame.kind {
                    CT_NEW => return Ok(decode::entry(frame.payload)),
                    ERROR if frame.errno() == Errno::NOENT.raw_os_error() => return Ok(None),
                    ERROR => {
                        refusal(&frame).map_err(LookupError::Refused)?;
                        return Ok(None);
                    }
                    _ => {}
                }
            }
        }
    }
}
