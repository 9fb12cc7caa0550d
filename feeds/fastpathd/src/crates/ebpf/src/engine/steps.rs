// SPDX-License-Identifier: GPL-2.0-or-later
//! Revokes all entries at once. Finds entries of a previous daemon and removes entries in bounded
//! steps, so that the daemon sends heartbeats and answers in between.

use std::collections::btree_map;
use std::time::Duration;

use ctnetlink::Counters;

use crate::connection::EntryReading;
use crate::engine::{MapError, OffloadEngine, RemovalCause};
use crate::entry::Key;

/// Work in the maps that [`OffloadEngine::step`] does, besides the removal of unwanted entries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passes {
    /// Passes over the maps until every element has been read since the last [`Maps::hide`].
    pub(super) left: u8,
    /// The first pass, which finds the entries of a previous daemon.
    pub(super) is_first: bool,
    /// Connections with hidden entries. Without any, the passes end early, because reading a large
    /// map without entries takes a tenth of a second.
    pub(super) hidden: usize,
    /// Stale, unwanted or not yet found entries may be hidden, too.
    pub(super) has_others: bool,
}

/// Entry of a previous daemon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stale {
    pub(super) address: u64,
    /// Counters when it was found.
    pub(super) counted: Counters,
    /// Last reading of a hidden entry, which has been removed.
    pub(super) last: Option<EntryReading>,
}

impl OffloadEngine {
    /// Removes all connections with [`RemovalCause::Moved`], and the stale entries.
    pub fn remove_all(&mut self, now: Duration) {
        while self.passes.is_first && self.advance(usize::MAX, now).is_ok() {}
        for id in self.table.all() {
            self.leave(id, RemovalCause::Moved, now);
        }
        self.remove_unwanted(usize::MAX);
        self.remove_stale();
        self.remove_unwanted(usize::MAX);
    }

    /// Stops all forwarding at once. [`step`](Self::step) then counts and removes the entries, and
    /// writes those of dropped connections again.
    ///
    /// # Errors
    /// Fails if the kernel refuses; all entries are removed in this call, which may take seconds.
    pub fn revoke(&mut self, now: Duration) -> Result<(), MapError> {
        if self.table.is_empty() && self.stale.is_empty() && !self.is_busy() {
            return Ok(());
        }
        let hidden = self.maps.hide();
        if hidden.is_ok() {
            let others = self.passes.is_first || !self.stale.is_empty() || self.unwanted.len() > 0;
            // The current pass may have begun before.
            self.passes.left = 2;
            self.passes.hidden = self.table.len();
            self.passes.has_others |= others;
            self.unwanted = btree_map::IntoIter::default();
        } else {
            self.remove_all(now);
        }
        hidden
    }

    /// Returns true until the entries of a previous daemon are found. Nothing may be installed
    /// before, because that would replace such entries.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        self.passes.is_first
    }

    /// Returns true if [`step`](Self::step) has work.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.passes.left > 0 || self.unwanted.len() > 0
    }

    /// Finds entries of a previous daemon, and removes hidden and unwanted entries: about `most`
    /// entries at a time. Returns true if there are more.
    pub fn step(&mut self, most: usize, now: Duration) -> Result<bool, MapError> {
        if self.passes.left == 0 {
            self.remove_unwanted(most);
        } else if self.passes.has_others || self.passes.hidden > 0 {
            self.passes.left -= u8::from(self.advance(most, now)?);
            self.passes.has_others &= self.passes.left > 0;
        } else {
            self.passes.left = 0;
        }
        Ok(self.is_busy())
    }

    fn remove_unwanted(&mut self, most: usize) {
        for (key, stale) in self.unwanted.by_ref().take(most) {
            // A new connection may have replaced the entry.
            if stale.last.is_none() && !self.table.knows(&key) {
                let _ = self.maps.remove(&key, stale.address);
            }
        }
    }

    /// Counts and removes a hidden entry.
    pub(super) fn remove_hidden(&mut self, key: &Key, address: u64, now: Duration) {
        if let Some(id) = self.table.at(key, address) {
            match self.table.rejection(id) {
                Some((connection, ends, rule, until)) => {
                    // If the table is full, nft drops the packets.
                    let _ = self.reject(connection, ends, rule, until, now);
                }
                None => self.leave(id, RemovalCause::Moved, now),
            }
        } else if let Ok(Some(last)) = self.maps.remove(key, address) {
            let found = Stale { address, counted: last.counters, last: None };
            let stale = if self.passes.is_first {
                Some(self.stale.entry(*key).or_insert(found))
            } else {
                self.stale.get_mut(key)
            };
            if let Some(stale) = stale.filter(|stale| stale.address == address) {
                stale.last = Some(last);
            }
        }
    }

    /// Returns the number of entries of a previous daemon that were not adopted.
    /// [`step`](Self::step) removes them.
    pub fn remove_stale(&mut self) -> usize {
        self.unwanted = std::mem::take(&mut self.stale).into_iter();
        self.unwanted.len()
    }
}

#[cfg(test)]
mod tests;
