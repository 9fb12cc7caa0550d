// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of events whose lines are kept for collectors: none, until somebody wants them.

use std::cell::Cell;
use std::rc::Rc;

use super::event::EventKind;

/// A set of types. Its clones are the same set, for the reader and for those who want events.
#[derive(Debug, Clone, Default)]
pub struct WantedKinds(Rc<Cell<[bool; EventKind::ALL.len()]>>);

impl WantedKinds {
    /// Those for which `wanted` is true, and no others.
    pub fn set(&self, wanted: impl FnMut(EventKind) -> bool) {
        self.0.set(EventKind::ALL.map(wanted));
    }

    /// Whether it is in the set.
    #[must_use]
    pub fn has(&self, kind: EventKind) -> bool {
        self.0.get()[kind as usize]
    }
}
