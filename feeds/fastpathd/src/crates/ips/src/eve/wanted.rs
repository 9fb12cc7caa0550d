// SPDX-License-Identifier: GPL-2.0-or-later

use std::cell::Cell;
use std::rc::Rc;

use super::event::EventKind;

/// A set of types, shared by all clones: exporters set it, the reader checks it.
#[derive(Debug, Clone, Default)]
pub struct WantedKinds(Rc<Cell<[bool; EventKind::ALL.len()]>>);

impl WantedKinds {
    pub fn set(&self, wanted: impl FnMut(EventKind) -> bool) {
        self.0.set(EventKind::ALL.map(wanted));
    }

    #[must_use]
    pub fn has(&self, kind: EventKind) -> bool {
        self.0.get()[kind as usize]
    }
}
