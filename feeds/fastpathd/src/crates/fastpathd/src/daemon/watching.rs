// SPDX-License-Identifier: GPL-2.0-or-later
//! What reaches the loop about inspection, CPUs and rules.

use cpu::Found;
use serde_json::Value;

use super::{Daemon, object};
use crate::bus;
use crate::core::Effect;
use crate::happening::Happening;
use crate::protection_view;
use crate::suricata;
use crate::task::spawn_local;
use crate::watch_ips;

impl Daemon {
    /// Starts the sources, and recalls what the daemon before knew.
    pub(super) fn start_watching(&mut self) {
        let (attention, happenings) = (self.attention.clone(), self.happenings.clone());
        spawn_local(watch_ips::look(attention.clone(), happenings.clone()));
        spawn_local(watch_ips::ask(self.paths.commands.clone(), attention, happenings.clone()));
        spawn_local(suricata::listen(self.paths.folder(), self.started, happenings));
        match std::fs::read(Found::PATH).map(|text| Found::read(&text)) {
            Ok(Ok(found)) => self.core.cpus.remember(found),
            Ok(Err(error)) => log::error!("CPU plan: {}: {error}", Found::PATH),
            // Nothing was taken over before.
            Err(_) => {}
        }
        self.run_errand(Effect::ReadTable);
    }

    pub(super) fn take_more(&mut self, happening: Happening) -> Vec<Effect> {
        match happening {
            Happening::ReadBack(found) => self.core.read_back(&found),
            Happening::Sight(sight) => self.core.sight(sight),
            Happening::Word(word) => {
                self.core.word(word);
                Vec::new()
            }
            Happening::Events(batch) => self.core.batch_of_events(*batch),
            Happening::Machine(seen) => self.core.machine_read(*seen),
            Happening::RulesProgress(step) => {
                self.core.rules.progress(step);
                Vec::new()
            }
            Happening::RulesDone(result) => self.rules_done(result),
            Happening::Renewed(entries) => self.core.renewed(&entries),
            Happening::Freed(offers, told) => self.core.freed(&offers, told),
            Happening::Attached(result) => self.core.attached(*result),
            Happening::Reinspected(result) => {
                match &result {
                    Ok(flows) => log::info!("{flows} connections are inspected again"),
                    Err(why) => log::error!("inspecting again: {why}"),
                }
                self.answer_reinspect(&result);
                self.core.dump_if_due()
            }
            // Everything else the loop has taken.
            _ => Vec::new(),
        }
    }

    fn rules_done(&mut self, result: Result<Value, String>) -> Vec<Effect> {
        let changed = self.core.rules.done(result, self.core.now.unix_ms);
        if changed { vec![Effect::ReloadRules] } else { Vec::new() }
    }

    /// At most once a second, to whoever listens.
    pub(super) fn notify_alerts(&mut self) {
        let last = self.core.events.alerts.last();
        if last == self.notified {
            return;
        }
        let news = protection_view::news(&self.core, self.notified);
        self.notified = last;
        if let Some(bus) = self.bus.as_ref().filter(|_| self.watched)
            && let Some(Err(error)) =
                object(&news).map(|news| bus.notify(bus::OBJECT, "alert", &news))
        {
            log::debug!("ubus: alert: {error}");
        }
    }
}
