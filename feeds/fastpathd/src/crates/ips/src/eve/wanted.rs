// SPDX-License-Identifier: GPL-2.0-or-later
//! Types of events whose lines are kept for collectors; none by default.

use std::cell::Cell;
use std::rc::Rc;

use super::event::EventKind;

/// A set of types. All clones share it: the exporters set it, the reader checks it.
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
