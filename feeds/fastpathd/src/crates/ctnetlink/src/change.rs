// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes to conntrack entries (mark bits, timeout, window tracking, deletion): how many messages
//! go into one datagram, and which kernel errors count as gone or busy.

use netlink::{AsyncSocket, Protocol, Refusal, RequestError, messages};
use rustix::io::Errno;

use crate::entry::Tuple;
use crate::request::{self, EntryUpdate, MarkBits};

/// Messages in one datagram. The kernel handles all of them within the call, in some microseconds
/// each, and answers each that it refuses with 36 bytes: far below the receive buffer.
const AT_ONCE: usize = 64;

/// The outcome of a change to several entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Changed.
    pub done: usize,
    /// The entry does not exist (any more).
    pub gone: usize,
    /// `EBUSY`: before Linux 6.4 offloaded entries cannot be deleted.
    pub busy: usize,
}

impl Changed {
    fn count(&mut self, refusal: Refusal) -> Result<(), RequestError> {
        match Errno::from_raw_os_error(refusal.errno) {
            // A dying entry refuses a new timeout.
            Errno::NOENT | Errno::TIME => self.gone += 1,
            Errno::BUSY => self.busy += 1,
            _ => return Err(RequestError::Refused(refusal)),
        }
        Ok(())
    }
}

/// Why marks were not changed, for example without `CAP_NET_ADMIN` or
/// `CONFIG_NF_CONNTRACK_MARK`.
#[derive(Debug, thiserror::Error)]
#[error("cannot change connection marks")]
pub struct MarkError(#[source] pub RequestError);

/// Why entries were not deleted, for example without `CAP_NET_ADMIN`.
#[derive(Debug, thiserror::Error)]
#[error("cannot delete connections")]
pub struct DeleteError(#[source] pub RequestError);

/// Why entries were not updated, for example without `CAP_NET_ADMIN`.
#[derive(Debug, thiserror::Error)]
#[error("cannot update connections")]
pub struct UpdateError(#[source] pub RequestError);

/// Changes bits of the marks of `entries`, given by zone and original direction. Each change makes
/// the kernel send an UPDATE event, if the connection began while an event socket was open.
/// Offloaded entries are changed like others: the flowtable ignores the mark.
///
/// # Errors
/// When the request fails or the kernel refuses; missing entries are counted instead. Entries
/// earlier in the list have been changed then.
pub async fn set_mark(entries: &[(u16, Tuple)], bits: MarkBits) -> Result<Changed, MarkError> {
    let mut changes = Changes::open().map_err(MarkError)?;
    changes.mark(entries, bits).await.map_err(MarkError)
}

/// Deletes `entries`, given by zone and original direction. Their connections end on the router:
/// the next packet of each starts a new entry, or is refused. A flowtable drops a deleted entry
/// with its next packet.
///
/// # Errors
/// As [`set_mark`].
pub async fn delete(entries: &[(u16, Tuple)]) -> Result<Changed, DeleteError> {
    let mut changes = Changes::open().map_err(DeleteError)?;
    let make = |seq, at: usize, ack| {
        let (zone, orig) = &entries[at];
        request::delete(seq, *zone, orig, ack)
    };
    changes.run(entries.len(), &make).await.map_err(DeleteError)
}

/// Updates entries of connections whose packets conntrack does not see.
///
/// # Errors
/// As [`set_mark`].
pub async fn update(entries: &[EntryUpdate]) -> Result<Changed, UpdateError> {
    let mut changes = Changes::open().map_err(UpdateError)?;
    let make = |seq, at: usize, ack| request::update(seq, &entries[at], ack);
    changes.run(entries.len(), &make).await.map_err(UpdateError)
}

/// A socket for changes.
#[derive(Debug)]
pub(crate) struct Changes {
    socket: AsyncSocket,
    seq: u32,
}

impl Changes {
    pub(crate) fn open() -> Result<Self, RequestError> {
        let socket = AsyncSocket::open(Protocol::Netfilter, &[]).map_err(RequestError::Open)?;
        Ok(Self { socket, seq: 0 })
    }

    pub(crate) async fn mark(
        &mut self,
        entries: &[(u16, Tuple)],
        bits: MarkBits,
    ) -> Result<Changed, RequestError> {
        let make = |seq, at: usize, ack| {
            let (zone, orig) = &entries[at];
            request::mark(seq, *zone, orig, bits, ack)
        };
        self.run(entries.len(), &make).await
    }

    /// Sends a message for each of `entries` entries. `make` gets the sequence number, the index of
    /// the entry, and whether to request an acknowledgement: only for the last message of a
    /// datagram, the others are answered when they fail.
    async fn run(
        &mut self,
        entries: usize,
        make: &dyn Fn(u32, usize, bool) -> Vec<u8>,
    ) -> Result<Changed, RequestError> {
        let mut changed = Changed::default();
        for first in (0..entries).step_by(AT_ONCE) {
            tokio::task::yield_now().await;
            let end = entries.min(first + AT_ONCE);
            let mut datagram = Vec::new();
            for at in first..end {
                self.seq = self.seq.wrapping_add(1);
                datagram.extend(make(self.seq, at, at + 1 == end));
            }
            self.socket.send(&datagram).map_err(RequestError::Send)?;
            let failed = self.outcome(end - first).await?;
            changed.gone += failed.gone;
            changed.busy += failed.busy;
            changed.done += end - first - failed.gone - failed.busy;
        }
        Ok(changed)
    }

    /// Reads the answers to the last `count` messages. The last of them is always answered.
    async fn outcome(&mut self, count: usize) -> Result<Changed, RequestError> {
        let mut failed = Changed::default();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        loop {
            let datagram = self.socket.recv().await.map_err(RequestError::Receive)?;
            for message in messages(datagram) {
                let Some(end) = message.end() else { continue };
                // Skips answers to messages that an earlier, failed call sent.
                let before_last = self.seq.wrapping_sub(message.seq);
                if before_last >= count {
                    continue;
                }
                end.or_else(|refusal| failed.count(refusal))?;
                if before_last == 0 {
                    return Ok(failed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_is_gone_or_busy_leaves_the_others_to_be_changed() {
        let mut changed = Changed::default();
        let mut count = |errno: Errno| {
            let refusal = Refusal { errno: errno.raw_os_error(), text: None };
            changed.count(refusal).map_err(|error| error.refused().is_some())
        };
        for errno in [Errno::NOENT, Errno::TIME, Errno::BUSY] {
            assert_eq!(count(errno), Ok(()));
        }
        for errno in [Errno::PERM, Errno::INVAL, Errno::OPNOTSUPP] {
            assert_eq!(count(errno), Err(true));
        }
        assert_eq!(changed, Changed { done: 0, gone: 2, busy: 1 });
    }
}
