// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes to entries, one netlink message each, many in one datagram.

use std::io;

use rustix::io::Errno;

use crate::decode::{ERROR, Frames};
use crate::dump::refusal;
use crate::entry::Tuple;
use crate::request::{self, MarkBits};
use crate::socket::Socket;

/// Messages in one datagram. The kernel handles all of them before it returns, some microseconds
/// each, and each refused one comes back with 100 bytes: far below the socket's room.
const AT_ONCE: usize = 64;

/// What became of the entries that were to be changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Done.
    pub done: usize,
    /// There was no such entry (any more).
    pub gone: usize,
    /// The kernel did not let go: before Linux 6.4 offloaded entries cannot be deleted.
    pub busy: usize,
}

/// Why marks were not changed.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// No socket.
    #[error("cannot open a netfilter netlink socket")]
    Open(#[source] io::Error),
    /// A request did not go out.
    #[error("cannot ask for a change of connection marks")]
    Ask(#[source] io::Error),
    /// Reading the answer failed.
    #[error("cannot read the outcome of a change of connection marks")]
    Read(#[source] io::Error),
    /// The kernel refused, for example without `CAP_NET_ADMIN` or `CONFIG_NF_CONNTRACK_MARK`.
    #[error("the kernel refuses to change connection marks")]
    Refused(#[source] io::Error),
}

/// Why entries were not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// No socket.
    #[error("cannot open a netfilter netlink socket")]
    Open(#[source] io::Error),
    /// A request did not go out.
    #[error("cannot ask for connections to be deleted")]
    Ask(#[source] io::Error),
    /// Reading the answer failed.
    #[error("cannot read the outcome of deleting connections")]
    Read(#[source] io::Error),
    /// The kernel refused, for example without `CAP_NET_ADMIN`.
    #[error("the kernel refuses to delete connections")]
    Refused(#[source] io::Error),
}

/// Changes bits of the marks of `entries`, given by zone and original direction. Each change makes
/// the kernel tell an UPDATE event, if the connection began while somebody listened. Offloaded
/// entries are changed like others: the flowtable does not look at the mark.
///
/// # Errors
/// When the kernel cannot be asked or refuses; entries that are gone are counted instead. What
/// came before in the list has been changed then.
pub async fn set_mark(entries: &[(u16, Tuple)], bits: MarkBits) -> Result<Changed, MarkError> {
    let mut changes = Changes::open().map_err(MarkError::Open)?;
    Ok(changes.mark(entries, bits).await?)
}

/// Deletes `entries`, given by zone and original direction. Their connections end for the router:
/// the next packet of each starts a new entry, or is refused. A flowtable drops a deleted entry
/// with its next packet.
///
/// # Errors
/// As [`set_mark`].
pub async fn delete(entries: &[(u16, Tuple)]) -> Result<Changed, DeleteError> {
    let mut changes = Changes::open().map_err(DeleteError::Open)?;
    let make = |seq, at: usize, ack| {
        let (zone, orig) = &entries[at];
        request::delete(seq, *zone, orig, ack)
    };
    changes.run(entries.len(), &make).await.map_err(|failure| match failure {
        Failure::Ask(error) => DeleteError::Ask(error),
        Failure::Read(error) => DeleteError::Read(error),
        Failure::Refused(error) => DeleteError::Refused(error),
    })
}

/// Where a change failed.
pub(crate) enum Failure {
    Ask(io::Error),
    Read(io::Error),
    Refused(io::Error),
}

impl From<Failure> for MarkError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Ask(error) => Self::Ask(error),
            Failure::Read(error) => Self::Read(error),
            Failure::Refused(error) => Self::Refused(error),
        }
    }
}

/// What conntrack is told of a connection whose packets it does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    /// Conntrack zone.
    pub zone: u16,
    /// Original direction.
    pub orig: Tuple,
    /// Seconds until it is forgotten; none: as it is.
    pub timeout_s: Option<u32>,
    /// TCP sequence numbers are not held against the windows any more, in both directions, nor
    /// those of a RST against the last acknowledgement, until the next one is seen: they have
    /// moved on unseen.
    pub liberal: bool,
}

/// Why entries were not kept up.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// No socket.
    #[error("cannot open a netfilter netlink socket")]
    Open(#[source] io::Error),
    /// A request did not go out.
    #[error("cannot ask for connections to be kept")]
    Ask(#[source] io::Error),
    /// Reading the answer failed.
    #[error("cannot read the outcome of keeping connections")]
    Read(#[source] io::Error),
    /// The kernel refused, for example without `CAP_NET_ADMIN`.
    #[error("the kernel refuses to keep connections")]
    Refused(#[source] io::Error),
}

/// Tells conntrack of connections whose packets it does not see.
///
/// # Errors
/// As [`set_mark`].
pub async fn keep(entries: &[Upkeep]) -> Result<Changed, KeepError> {
    let mut changes = Changes::open().map_err(KeepError::Open)?;
    let make = |seq, at: usize, ack| request::keep(seq, &entries[at], ack);
    changes.run(entries.len(), &make).await.map_err(|failure| match failure {
        Failure::Ask(error) => KeepError::Ask(error),
        Failure::Read(error) => KeepError::Read(error),
        Failure::Refused(error) => KeepError::Refused(error),
    })
}

/// A socket for changes.
#[derive(Debug)]
pub(crate) struct Changes {
    socket: Socket,
    seq: u32,
}

impl Changes {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::open(0)?, seq: 0 })
    }

    pub(crate) async fn mark(
        &mut self,
        entries: &[(u16, Tuple)],
        bits: MarkBits,
    ) -> Result<Changed, Failure> {
        let make = |seq, at: usize, ack| {
            let (zone, orig) = &entries[at];
            request::mark(seq, *zone, orig, bits, ack)
        };
        self.run(entries.len(), &make).await
    }

    /// Sends a message for each of so many entries; `make` gets its sequence number, which entry it
    /// is for, and whether it is to be acknowledged. Only the last one of a datagram is, the others
    /// answer when they fail.
    async fn run(
        &mut self,
        entries: usize,
        make: &dyn Fn(u32, usize, bool) -> Vec<u8>,
    ) -> Result<Changed, Failure> {
        let mut changed = Changed::default();
        for first in (0..entries).step_by(AT_ONCE) {
            tokio::task::yield_now().await;
            let end = entries.min(first + AT_ONCE);
            let mut datagram = Vec::new();
            for at in first..end {
                self.seq = self.seq.wrapping_add(1);
                datagram.extend(make(self.seq, at, at + 1 == end));
            }
            self.socket.send(&datagram).map_err(Failure::Ask)?;
            let failed = self.outcome(end - first).await?;
            changed.gone += failed.gone;
            changed.busy += failed.busy;
            changed.done += end - first - failed.gone - failed.busy;
        }
        Ok(changed)
    }

    /// Reads the answers to the last `count` messages, of which the last one always comes.
    async fn outcome(&mut self, count: usize) -> Result<Changed, Failure> {
        let mut failed = Changed::default();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        loop {
            let datagram = self.socket.recv().await.map_err(Failure::Read)?;
            for frame in Frames::new(datagram).filter(|frame| frame.kind == ERROR) {
                // Answers to what was sent before an earlier call failed are passed over.
                let before_last = self.seq.wrapping_sub(frame.seq);
                if before_last >= count {
                    continue;
                }
                match frame.errno() {
                    errno if errno == Errno::NOENT.raw_os_error() => failed.gone += 1,
                    errno if errno == Errno::BUSY.raw_os_error() => failed.busy += 1,
                    // What is dying gets no new timeout.
                    errno if errno == Errno::TIME.raw_os_error() => failed.gone += 1,
                    _ => refusal(&frame).map_err(Failure::Refused)?,
                }
                if before_last == 0 {
                    return Ok(failed);
                }
            }
        }
    }
}
