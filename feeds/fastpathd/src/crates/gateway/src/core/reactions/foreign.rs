// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the rules of other programs that act on each packet, and replans with them.

use ruleset::ForeignRules;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::offload::revocation::RevocationReason;

impl Core {
    /// Sets the rules that were read at the start.
    pub fn start_with_rules(&mut self, rules: Result<ForeignRules, String>) {
        self.offload.rules_read(rules, self.now);
    }

    /// Reads the rules after this change. No flow is offloaded until they are known.
    pub(super) fn read_rules(&mut self, reason: &RevocationReason) -> Vec<AnyEffect> {
        if !self.offload.rules_outdated(reason, self.now) {
            return Vec::new();
        }
        let mut effects = self.replan();
        self.engine_changed();
        effects.extend(self.offload.read_rules(self.now).map(AnyEffect::from));
        effects
    }

    pub(crate) fn rules_read(&mut self, rules: Result<ForeignRules, String>) -> Vec<AnyEffect> {
        self.offload.rules_read(rules, self.now);
        let again = self.offload.read_rules(self.now);
        let mut effects: Vec<AnyEffect> = again.into_iter().map(Into::into).collect();
        effects.extend(self.replan());
        self.engine_changed();
        effects.extend(self.step());
        effects
    }
}

#[cfg(test)]
mod tests;
