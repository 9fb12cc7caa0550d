// SPDX-License-Identifier: GPL-2.0-or-later
//! Reacts to readings of the machine and to updates of Suricata's rules.

use crate::core::Core;
use crate::cpu;
use crate::effect::Effect;
use crate::ips;
use crate::rules;
use ledger::Kind;

impl Core {
    pub(crate) fn cpu_event(&mut self, event: cpu::Event) -> Vec<Effect> {
        match event {
            cpu::Event::Read(sample) => self.machine_read(*sample),
        }
    }

    pub(crate) fn machine_read(&mut self, sample: cpu::Sample) -> Vec<Effect> {
        let before = self.cpu.is_known().then(|| self.cpu.threads());
        let done = self.cpu.read(sample, self.now.mono);
        let mut effects: Vec<Effect> = done.into_iter().map(Into::into).collect();
        // The number of NFQUEUEs follows the plan, so a change needs other rules.
        if before != Some(self.cpu.threads()) {
            effects.extend(self.replan());
        }
        effects
    }

    pub(crate) fn rules_event(&mut self, event: rules::Event) -> Vec<Effect> {
        match event {
            rules::Event::Stored(state) => {
                self.rules.stored(*state, self.now.unix_ms);
                Vec::new()
            }
            rules::Event::Progress(step) => {
                self.rules.progress(step);
                Vec::new()
            }
            rules::Event::Done(result) => {
                let had_failed = self.rules.has_failed();
                let new = self.rules.done(result, self.now.unix_ms);
                match self.rules.has_failed() {
                    // The update is retried, and only its first failure is an event.
                    true if !had_failed => self.history.note(Kind::Rules, "failed", self.now),
                    false if new => self.history.note(Kind::Rules, "updated", self.now),
                    true | false => (),
                }
                new.then_some(ips::Effect::ReloadRules.into()).into_iter().collect()
            }
        }
    }

    /// Starts an update, unless one is running.
    pub(crate) fn update_rules(&mut self) -> Option<Effect> {
        let request = self.rules.start(&self.sys.machine().own_rules, self.now.unix_ms);
        request.map(rules::Effect::Update).map(Effect::from)
    }
}
