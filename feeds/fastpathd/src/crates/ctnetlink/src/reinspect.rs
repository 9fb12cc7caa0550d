// SPDX-License-Identifier: GPL-2.0-or-later
//! Re-inspection: resets counters of connections and clears our mark bits.

use netlink::{Dump, Protocol, RequestError};

use crate::change::Changes;
use crate::decode::{self, CT_NEW};
use crate::entry::Entry;
use crate::request::{self, MarkBits};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Select {
    /// Connections that have left inspection: any of our bits is set in their mark.
    #[default]
    Marked,
    /// All connections. Needed after a policy change, because connections that were not inspected
    /// may already exceed the budget.
    Every,
}

#[derive(Debug, thiserror::Error)]
pub enum ReinspectError {
    /// Some counters were not reset, for example without `CAP_NET_ADMIN`.
    #[error("cannot set the counters of the conntrack table to zero")]
    Counters(#[source] RequestError),
    #[error("cannot clear our bits on connection marks")]
    Marks(#[source] RequestError),
}

/// Resets counters and clears mark bits, entry by entry.
///
/// Counters are reset first, because the next packet of a connection over its budget would set the
/// bits again. The caller flushes the flowtable afterwards.
#[derive(Debug)]
pub struct Reinspection {
    dump: Dump,
    changes: Changes,
    mask: u32,
    /// Filters of the remaining dumps, the next one last. The kernel can only compare
    /// `mark & mask` with one value, so "any of these bits" takes one dump per bit.
    passes: Vec<Option<MarkBits>>,
}

impl Reinspection {
    /// Requests the first dump. `mask` selects the bits to clear. Needs `CAP_NET_ADMIN` and a tokio
    /// runtime.
    pub fn start(mask: u32, select: Select) -> Result<Self, ReinspectError> {
        let passes = match select {
            Select::Every => vec![None],
            Select::Marked => by_highest(mask).into_iter().rev().map(Some).collect(),
        };
        let dump = Dump::open(Protocol::Netfilter).map_err(ReinspectError::Counters)?;
        let changes = Changes::open().map_err(ReinspectError::Marks)?;
        let mut this = Self { dump, changes, mask, passes };
        this.ask()?;
        Ok(this)
    }

    /// Resets the entries of the next datagram, about a hundred, and appends them to `batch` with
    /// their previous bits and counters. Returns false at the end.
    ///
    /// The kernel resets counters while it writes an entry, so an entry that does not fit into the
    /// datagram may have zero counters in the next one.
    ///
    /// # Errors
    /// Fails if reading fails or the kernel refuses; this ends the pass, with part of the table
    /// unchanged.
    pub async fn next(&mut self, batch: &mut Vec<Entry>) -> Result<bool, ReinspectError> {
        if self.passes.is_empty() {
            return Ok(false);
        }
        let dealt = self.deal(batch).await;
        if dealt.is_err() {
            self.passes.clear();
        }
        dealt
    }

    async fn deal(&mut self, batch: &mut Vec<Entry>) -> Result<bool, ReinspectError> {
        let from = batch.len();
        let more = self.dump.next(|message| {
            if message.kind == CT_NEW {
                batch.extend(decode::entry(message.payload));
            }
        });
        let more = more.await;
        self.clear(&batch[from..]).await?;
        if !more.map_err(ReinspectError::Counters)? {
            self.passes.pop();
            self.ask()?;
        }
        Ok(!self.passes.is_empty())
    }

    /// Reports whether the table changed during a dump, so that entries may be missing.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.dump.interrupted()
    }

    fn ask(&mut self) -> Result<(), ReinspectError> {
        let Some(only) = self.passes.last() else { return Ok(()) };
        self.dump.start(|seq| request::zero(seq, *only)).map_err(ReinspectError::Counters)
    }

    async fn clear(&mut self, entries: &[Entry]) -> Result<(), ReinspectError> {
        let marked = entries.iter().filter(|entry| entry.mark & self.mask != 0);
        let keys: Vec<_> = marked.map(|entry| (entry.zone, entry.orig)).collect();
        let bits = MarkBits { value: 0, mask: self.mask };
        self.changes.mark(&keys, bits).await.map_err(ReinspectError::Marks)?;
        Ok(())
    }
}

/// Returns a filter for each bit of `mask` that matches marks with this bit and no higher one. The
/// lowest bit comes first, so that no entry is missed if a higher bit is set during the dumps.
fn by_highest(mask: u32) -> Vec<MarkBits> {
    let bits = (0..u32::BITS).map(|at| 1 << at).filter(|bit| mask & bit != 0);
    bits.map(|bit: u32| MarkBits { value: bit, mask: mask & !(bit - 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::by_highest;

    #[test]
    fn each_mark_with_any_bit_matches_exactly_one_pass() {
        for mask in [0, 1, 0x6000_0000, 0x8000_0001, 0b1011] {
            let passes = by_highest(mask);
            assert_eq!(passes.len(), mask.count_ones() as usize);
            for mark in [0, 1, 2, 3, 0b1000, 0b1011, 0x2000_0000, 0x6000_0007, u32::MAX] {
                let hits = passes.iter().filter(|pass| mark & pass.mask == pass.value).count();
                assert_eq!(hits, usize::from(mark & mask != 0), "{mark:#x} in {mask:#x}");
            }
        }
    }
}
