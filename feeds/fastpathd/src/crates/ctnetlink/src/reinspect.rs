// SPDX-License-Identifier: GPL-2.0-or-later
//! Re-inspection: selects connections by mark or all of them, sets their counters to zero and
//! clears our bits of their marks, in this order.

use netlink::{Dump, Protocol, RequestError};

use crate::change::Changes;
use crate::decode::{self, CT_NEW};
use crate::entry::Entry;
use crate::request::{self, MarkBits};

/// Connections to re-inspect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Select {
    /// Those that have left inspection: their mark has any of the bits.
    #[default]
    Marked,
    /// All of them, including those that the policy excluded: after a change of the policy their
    /// byte counts would exceed the budget at once.
    Every,
}

/// Why connections cannot be re-inspected.
#[derive(Debug, thiserror::Error)]
pub enum ReinspectError {
    /// The counters were not all set to zero, for example without `CAP_NET_ADMIN`.
    #[error("cannot set the counters of the conntrack table to zero")]
    Counters(#[source] RequestError),
    /// Bits could not be cleared on connection marks.
    #[error("cannot clear our bits on connection marks")]
    Marks(#[source] RequestError),
}

/// One pass over the conntrack table that sets counters to zero and clears bits of marks.
///
/// Counters come first: a connection over its budget would get the bits again with its next
/// packet. Offloaded flows stay in the flowtable until it is flushed, so flush it last.
#[derive(Debug)]
pub struct Reinspection {
    dump: Dump,
    changes: Changes,
    mask: u32,
    /// Dumps still to be requested, the next one last. The kernel compares `mark & mask` with one
    /// value, so "any of these bits" takes a dump for each bit; an entry is in that of its highest
    /// bit.
    passes: Vec<Option<MarkBits>>,
}

impl Reinspection {
    /// Requests the first dump; `mask`: the bits to clear. Needs `CAP_NET_ADMIN` and a tokio
    /// runtime.
    ///
    /// # Errors
    /// When there is no socket or the request is not sent.
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

    /// Resets the next batch (one datagram, about a hundred entries) and appends its previous
    /// state to `batch`, with the bits and the counters. False at the end.
    ///
    /// Each entry is reported once. The kernel zeroes counters while it writes the entry, so one
    /// that does not fit into the datagram may come in the next one with zeros.
    ///
    /// # Errors
    /// When reading fails or the kernel refuses; the pass has ended then, after a part of the
    /// table.
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

    /// Whether the table changed during a dump, so that entries may have been missed.
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

/// For each bit of `mask`, lowest first: this bit and none of the higher ones. Marks gain bits
/// meanwhile; with the lowest bit first, an entry that gains one is met again, not missed.
fn by_highest(mask: u32) -> Vec<MarkBits> {
    let bits = (0..u32::BITS).map(|at| 1 << at).filter(|bit| mask & bit != 0);
    bits.map(|bit: u32| MarkBits { value: bit, mask: mask & !(bit - 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::by_highest;

    #[test]
    fn every_mark_with_any_bit_is_in_one_pass() {
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
