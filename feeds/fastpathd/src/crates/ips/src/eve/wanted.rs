// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of events that collectors want; empty by default.

use std::cell::Cell;
use std::rc::Rc;

use super::event::EventKind;

/// A set of types that all clones share: the exporters set it, the reader checks it.
#[derive(Debug, Clone, Default)]
pub struct WantedKinds(Rc<Cell<[bool; EventKind::ALL.len()]>>);

impl WantedKinds {
    /// Replaces the set with the types for which `wanted` returns true.
    pub fn set(&self, wanted: impl FnMut(EventKind) -> bool) {
        self.0.set(EventKind::ALL.map(wanted));
    }

    #[must_use]
    pub fn has(&self, kind: EventKind) -> bool {
        self.0.get()[kind as usize]
    }
}
