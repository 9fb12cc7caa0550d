// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits the memory of queued calls. A call may have a megabyte of arguments, which take several
//! times as much when decoded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MAX_WEIGHT: usize = 4 * crate::MAX_MESSAGE;
/// Fixed part of a call's weight, in bytes.
const BASE_WEIGHT: usize = 256;

/// Total weight of one connection's queued calls, in bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Adds a call with `bytes` of arguments. `None` if that would exceed the limit.
    pub(crate) fn add(&self, bytes: usize) -> Option<Weight> {
        let bytes = bytes + BASE_WEIGHT;
        let fits = |now: usize| now.checked_add(bytes).filter(|sum| *sum <= MAX_WEIGHT);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()
            .map(|_| Weight { waiting: self.clone(), bytes })
    }
}

/// Weight of one call. Subtracted from the total on drop.
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
    fn refuses_a_call_beyond_the_limit_until_another_ends() {
        let waiting = Waiting::default();
        let megabyte = crate::MAX_MESSAGE - BASE_WEIGHT;
        let mut calls: Vec<_> = (0..4).map(|_| waiting.add(megabyte).unwrap()).collect();
        assert!(waiting.add(0).is_none());
        drop(calls.pop());
        assert!(waiting.add(megabyte).is_some(), "and it is dropped at once");
        let small: Vec<_> = (0..9999).map_while(|_| waiting.add(0)).collect();
        assert_eq!(small.len(), crate::MAX_MESSAGE / BASE_WEIGHT);
    }
}
