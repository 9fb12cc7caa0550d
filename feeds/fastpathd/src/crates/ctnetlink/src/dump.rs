// SPDX-License-Identifier: GPL-2.0-or-later
//! The whole conntrack table, batch by batch.

use std::io;

use crate::decode::{self, CT_NEW, DONE, ERROR, Frame, Frames};
use crate::entry::Entry;
use crate::request;
use crate::socket::Socket;

pub(crate) const NLM_F_DUMP_INTR: u16 = 0x10;
const SEQ: u32 = 1;

/// Why a dump failed.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// No socket.
    #[error("cannot open a netfilter netlink socket")]
    Open(#[source] io::Error),
    /// The request did not go out.
    #[error("cannot ask for the conntrack table")]
    Ask(#[source] io::Error),
    /// Reading the answer failed.
    #[error("cannot read the conntrack table")]
    Read(#[source] io::Error),
    /// The kernel refused, for example without `CAP_NET_ADMIN`.
    #[error("the kernel refuses to dump the conntrack table")]
    Refused(#[source] io::Error),
}

/// One pass over the conntrack table.
#[derive(Debug)]
pub struct Dump {
    socket: Socket,
    done: bool,
    interrupted: bool,
}

impl Dump {
    /// Asks the kernel for every entry, IPv4 and IPv6. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// When there is no socket or the request does not go out.
    pub fn start() -> Result<Self, DumpError> {
        let socket = Socket::open(0).map_err(DumpError::Open)?;
        socket.send(&request::dump(SEQ)).map_err(DumpError::Ask)?;
        Ok(Self { socket, done: false, interrupted: false })
    }

    /// Appends the next batch (one datagram, about a hundred entries) to `batch`; false at the end.
    ///
    /// Yields to the other tasks before each batch: the kernel always has the next one ready, so
    /// a single-threaded daemon would stand still for the whole dump otherwise.
    ///
    /// # Errors
    /// When reading fails or the kernel refuses; the dump is over then.
    pub async fn next(&mut self, batch: &mut Vec<Entry>) -> Result<bool, DumpError> {
        if self.done {
            return Ok(false);
        }
        tokio::task::yield_now().await;
        let datagram = self.socket.recv().await.map_err(DumpError::Read)?;
        for frame in Frames::new(datagram).filter(|frame| frame.seq == SEQ) {
            self.interrupted |= frame.flags & NLM_F_DUMP_INTR != 0;
            match frame.kind {
                CT_NEW => batch.extend(decode::entry(frame.payload)),
                DONE | ERROR => {
                    self.done = true;
                    refusal(&frame).map_err(DumpError::Refused)?;
                }
                _ => {}
            }
        }
        Ok(!self.done)
    }

    /// Whether the kernel said that the table changed under the dump in a way that may have
    /// hidden entries: what is missing from such a dump need not be gone.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.interrupted
    }
}

/// The errno that ends an answer, as an error unless it is 0.
pub(crate) fn refusal(frame: &Frame<'_>) -> io::Result<()> {
    match frame.errno() {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
