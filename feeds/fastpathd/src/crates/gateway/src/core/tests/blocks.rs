// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocked sources of the simulated kernel.

use super::*;

impl Router {
    pub(super) fn set_table(&mut self, table: String) {
        self.table = table;
        if !self.can_block() {
            self.blocks.clear();
        }
    }

    pub(super) fn can_block(&self) -> bool {
        self.table.contains("set blocked4")
    }

    /// Ends the oldest request to block or unblock sources.
    pub(super) fn end_block(&mut self, succeeds: bool) {
        let succeeds = succeeds && self.can_block();
        match self.blocking.pop_front() {
            Some(inspection::Effect::Block { element, .. }) if succeeds => {
                self.blocks.insert(element.source);
            }
            Some(inspection::Effect::Block { element, .. }) => {
                let effects = self.core.ips_event(inspection::Event::NotBlocked(element.source));
                self.carry_out(effects);
            }
            Some(inspection::Effect::Unblock(sources)) => {
                self.blocks.retain(|source| !sources.contains(source));
            }
            _ => {}
        }
    }
}
