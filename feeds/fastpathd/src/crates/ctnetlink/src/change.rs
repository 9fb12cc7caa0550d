// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates and deletes conntrack entries in batches.

use netlink::{AsyncSocket, Protocol, Refusal, RequestError, messages};
use rustix::io::Errno;

use crate::entry::Tuple;
use crate::request::{self, EntryUpdate, MarkBits};

/// Messages per datagram. The kernel needs a few microseconds per message, and its error replies
/// (36 bytes each) fit into the receive buffer.
const BATCH: usize = 64;

/// Number of entries by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    pub done: usize,
    /// Missing entries, and entries that are being removed.
    pub gone: usize,
    /// Entries refused with `EBUSY`: before Linux 6.4, offloaded entries cannot be deleted.
    pub busy: usize,
}

impl Changed {
    fn count(&mut self, refusal: Refusal) -> Result<(), RequestError> {
        match Errno::from_raw_os_error(refusal.errno) {
            // The kernel refuses a new timeout for an entry that is being removed.
            Errno::NOENT | Errno::TIME => self.gone += 1,
            Errno::BUSY => self.busy += 1,
            _ => return Err(RequestError::Refused(refusal)),
        }
        Ok(())
    }
}

/// Error of [`set_mark`], for example without `CAP_NET_ADMIN` or `CONFIG_NF_CONNTRACK_MARK`.
#[derive(Debug, thiserror::Error)]
#[error("cannot change connection marks")]
pub struct MarkError(#[source] pub RequestError);

#[derive(Debug, thiserror::Error)]
#[error("cannot delete connections")]
pub struct DeleteError(#[source] pub RequestError);

#[derive(Debug, thiserror::Error)]
#[error("cannot update connections")]
pub struct UpdateError(#[source] pub RequestError);

/// Changes mark bits of entries, given by zone and original direction. Each change causes an UPDATE
/// event if the connection began while an event socket was open.
///
/// # Errors
/// Fails if a request fails or the kernel refuses one; earlier entries stay changed. Missing
/// entries are only counted.
pub async fn set_mark(entries: &[(u16, Tuple)], bits: MarkBits) -> Result<Changed, MarkError> {
    let mut changes = Changes::open().map_err(MarkError)?;
    changes.mark(entries, bits).await.map_err(MarkError)
}

/// Deletes entries, given by zone and original direction. A flowtable tears down a deleted flow
/// when its next packet arrives.
pub async fn delete(entries: &[(u16, Tuple)]) -> Result<Changed, DeleteError> {
    let mut changes = Changes::open().map_err(DeleteError)?;
    let make = |seq, at: usize, ack| {
        let (zone, orig) = &entries[at];
        request::delete(seq, *zone, orig, ack)
    };
    changes.run(entries.len(), &make).await.map_err(DeleteError)
}

pub async fn update(entries: &[EntryUpdate]) -> Result<Changed, UpdateError> {
    if entries.is_empty() {
        return Ok(Changed::default());
    }
    let mut changes = Changes::open().map_err(UpdateError)?;
    let make = |seq, at: usize, ack| request::update(seq, &entries[at], ack);
    changes.run(entries.len(), &make).await.map_err(UpdateError)
}

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

    /// Sends one message per entry. `make` builds it from the sequence number, the index of the
    /// entry, and true for the last message of a datagram, which requests an acknowledgement.
    /// Earlier messages are answered only if they fail.
    async fn run(
        &mut self,
        entries: usize,
        make: &dyn Fn(u32, usize, bool) -> Vec<u8>,
    ) -> Result<Changed, RequestError> {
        let mut changed = Changed::default();
        for first in (0..entries).step_by(BATCH) {
            tokio::task::yield_now().await;
            let end = entries.min(first + BATCH);
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

    /// Reads the answers to the last `count` messages.
    async fn outcome(&mut self, count: usize) -> Result<Changed, RequestError> {
        let mut failed = Changed::default();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        loop {
            let datagram = self.socket.recv().await.map_err(RequestError::Receive)?;
            for message in messages(datagram) {
                let Some(end) = message.end() else { continue };
                // Skip late answers to an earlier call.
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
    fn counts_gone_and_busy_entries_and_fails_on_other_errors() {
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
