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

    /// Completes the oldest request to block or unblock sources, unless the job runs before it.
    pub(super) fn end_block(&mut self, succeeds: bool) {
        if self.job.is_some() {
            let Some(left) = self.before_job.checked_sub(1) else { return };
            self.before_job = left;
        }
        let succeeds = succeeds && self.can_block();
        match self.blocking.pop_front() {
            Some(inspection::Effect::Block { element, .. }) if succeeds => {
                self.blocks.insert(element.source);
            }
            Some(inspection::Effect::Block { element, .. }) => {
                let effects = self.core.ips_event(inspection::Event::NotBlocked(element.source));
                self.execute(effects);
            }
            Some(inspection::Effect::Unblock(sources)) => {
                self.blocks.retain(|source| !sources.contains(source));
            }
            _ => {}
        }
    }

    /// Asserts that the kernel blocks every source that is listed, and with `exactly` no other one.
    pub(super) fn assert_blocks(&self, exactly: bool) {
        let listed = self.core.ips().blocks(self.core.now.mono);
        let listed: BTreeSet<Network> = listed.into_iter().map(|block| block.source).collect();
        assert!(listed.is_subset(&self.blocks), "{listed:?} are listed, not {:?}", self.blocks);
        assert!(!exactly || listed == self.blocks, "{:?} are blocked, not {listed:?}", self.blocks);
    }
}
