// SPDX-License-Identifier: GPL-2.0-or-later
//! What reaches the loop about inspection, CPUs and rules.

use std::time::Duration;

use cpu::Found;
use serde_json::Value;

use super::{Daemon, object};
use crate::bus::connection;
use crate::core::Effect;
use crate::event::Happening;
use crate::ips::answer;
use crate::ips::probe;
use crate::ips::suricata;
use crate::sys::task::spawn_local;

impl Daemon {
    /// Starts the sources, and recalls what the daemon before knew.
    pub(super) fn start_watching(&mut self) {
        let (attention, happenings) = (self.attention.clone(), self.happenings.clone());
        spawn_local(probe::look(attention.clone(), happenings.clone()));
        spawn_local(probe::ask(self.paths.commands.clone(), attention, happenings.clone()));
        spawn_local(suricata::listen(self.paths.folder(), self.started, happenings));
        match std::fs::read(Found::PATH).map(|text| Found::read(&text)) {
            Ok(Ok(found)) => self.core.cpus.remember(found),
            Ok(Err(error)) => log::error!("CPU plan: {}: {error}", Found::PATH),
            // Nothing was taken over before.
            Err(_) => {}
        }
        self.run_errand(Effect::ReadTable);
        self.run_errand(Effect::NoteRules);
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
            Happening::Freed(offers, told) => self.core.window_tracking(&offers, told),
            Happening::Distrusted(offers) => self.core.marks_cleared(&offers),
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

    /// To whoever listens.
    pub(super) fn notify_alerts(&mut self) {
        let newest = self.core.events.alerts.last();
        let Some(since) = self.alerts_told.tell(newest, self.core.now.mono) else { return };
        let news = answer::news(&self.core, since);
        if let Some(bus) = self.bus.as_ref().filter(|_| self.watched)
            && let Some(Err(error)) =
                object(&news).map(|news| bus.notify(connection::OBJECT, "alert", &news))
        {
            log::debug!("ubus: alert: {error}");
        }
    }
}

/// Which alerts were notified: the first of a while at once, a flood about once a second.
#[derive(Debug, Default)]
pub(super) struct AlertsTold {
    /// Id of the newest one.
    last: u64,
    at: Option<Duration>,
}

impl AlertsTold {
    /// Less than a second, so that a tick that comes early is not one missed.
    const PAUSE: Duration = Duration::from_millis(900);

    /// Whether it is time to tell of those up to `newest`: since which one, if so.
    fn tell(&mut self, newest: u64, now: Duration) -> Option<u64> {
        let paused = self.at.is_none_or(|at| now.saturating_sub(at) >= Self::PAUSE);
        if newest == self.last || !paused {
            return None;
        }
        self.at = Some(now);
        Some(std::mem::replace(&mut self.last, newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_told_at_once_and_a_flood_once_a_second() {
        let ms = Duration::from_millis;
        let mut told = AlertsTold::default();
        assert_eq!(told.tell(0, ms(0)), None, "there is none");
        assert_eq!(told.tell(1, ms(300)), Some(0), "the first one waits for nothing");
        assert_eq!(told.tell(1, ms(5000)), None, "it was told");
        assert_eq!(told.tell(2, ms(5100)), Some(1));
        assert_eq!(told.tell(3, ms(5200)), None, "too soon");
        assert_eq!(told.tell(9, ms(5999)), None);
        assert_eq!(told.tell(9, ms(6000)), Some(2), "all of a flood in one");
    }
}
