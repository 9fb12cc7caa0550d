// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of the calls that wait for their answer: 4 MiB of arguments, each call at least 256
//! bytes. Callers can send a megabyte each, and decoded it takes several times as much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Some of the largest messages.
const MOST: usize = 4 * crate::MAX_MESSAGE;
/// A call without arguments.
const LEAST: usize = 256;

/// The bytes of one connection's calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// One more call with so many bytes of arguments; `None`: too many wait already.
    pub(crate) fn add(&self, bytes: usize) -> Option<Weight> {
        let bytes = bytes + LEAST;
        let fits = |now: usize| now.checked_add(bytes).filter(|sum| *sum <= MOST);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()
            .map(|_| Weight { waiting: self.clone(), bytes })
    }
}

/// The bytes of one call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Weight {
    waiting: Waiting,
    bytes: usize,
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.waiting.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_up_to_their_sum_and_one_more_when_another_has_ended() {
        let waiting = Waiting::default();
        let megabyte = crate::MAX_MESSAGE - LEAST;
        let mut calls: Vec<_> = (0..4).map(|_| waiting.add(megabyte).unwrap()).collect();
        assert!(waiting.add(0).is_none());
        drop(calls.pop());
        assert!(waiting.add(megabyte).is_some(), "and it is dropped at once");
        let small: Vec<_> = (0..9999).map_while(|_| waiting.add(0)).collect();
        assert_eq!(small.len(), crate::MAX_MESSAGE / LEAST);
    }
}
