// SPDX-License-Identifier: GPL-2.0-or-later
//! Schedules updates of Suricata's rules, keeps the last result, and builds Suricata's test
//! command. `offload/` handles the rules of nftables.

use std::path::{Path, PathBuf};

use rules::{
    Hour, SourceReport, SourceRequest, SourceState, State, StateError, StoredCause, UpdateOutcome,
    UpdateReason,
};
use serde::Serialize;
use serde_json::Value;

/// Delay after a start, so that the WAN comes up first.
const START_DELAY_MS: u64 = 60 * 1000;
/// Delay after a change of the sources, since more changes may follow.
const CHANGE_DELAY_MS: u64 = 5 * 1000;
const RETRY_INTERVAL_MS: u64 = 3600 * 1000;
/// Longest time to the next update. A day may have 25 hours (daylight saving time).
const MAX_DELAY_MS: u64 = 25 * 3600 * 1000;

#[derive(Debug)]
pub enum Event {
    /// Outcome of the last update, as stored.
    Stored(Box<State>),
    /// Source and step of the current update.
    Progress(UpdateReason),
    /// Result of the update, or the reason for its failure.
    Done(Result<Value, UpdateReason>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read the outcome of the last update from this folder.
    ReadState(PathBuf),
    Update(String),
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Updates {
    settings: rules::Settings,
    configured: bool,
    /// The sources have changed since the last update began.
    sources_changed: bool,
    /// Inspection is configured; nothing else needs rules.
    wanted: bool,
    state: State,
    running: bool,
    step: Option<UpdateReason>,
    /// Why the last update has no result.
    failure: Option<UpdateReason>,
    next_ms: u64,
    /// Seconds that local time is ahead of UTC.
    offset_s: i64,
}

config::named! {
    pub enum RulesSummary {
        /// Only the built-in rules are in force: nothing was fetched yet.
        Builtin = "builtin",
        Good = "good",
        Updating = "updating",
        /// The last update was refused; the previous rules are in force.
        Failed = "failed",
    }
}

/// Field `rules` in the answer of `ips`.
#[derive(Debug, Serialize)]
pub(crate) struct RulesView<'a> {
    state: &'static str,
    loaded: u64,
    failed: u64,
    updated_ms: u64,
    checked_ms: u64,
    next_ms: u64,
    message: String,
    cause: StoredCause,
    sources: Vec<SourceView<'a>>,
}

#[derive(Debug, Serialize)]
struct SourceView<'a> {
    name: &'a str,
    url: String,
    enabled: bool,
    state: &'static str,
    message: &'a str,
    cause: StoredCause,
    rules: u32,
    updated_ms: u64,
}

impl Updates {
    pub(crate) fn store(&self) -> &Path {
        &self.settings.store
    }

    /// Applies new settings. Returns the store to read: at the start, if inspection is switched on,
    /// or if the store changes.
    pub(crate) fn configure(
        &mut self,
        settings: &rules::Settings,
        wanted: bool,
        now_ms: u64,
    ) -> Option<Effect> {
        let moves = self.settings.store != settings.store;
        let reads = moves || !self.configured || wanted && !self.wanted;
        let read = reads.then(|| Effect::ReadState(settings.store.clone()));
        if moves {
            self.state = State::default();
        }
        let choices = |of: &rules::Settings| (of.sources.clone(), of.own.clone());
        self.sources_changed |= self.configured && choices(&self.settings) != choices(settings);
        // Keep the schedule if a reload changes no setting of the rules.
        let news = !self.configured || self.wanted != wanted || self.settings != *settings;
        self.configured = true;
        self.settings = settings.clone();
        self.wanted = wanted;
        if news {
            self.schedule(now_ms);
        }
        read
    }

    /// Handles the stored outcome of the last update, unless a later update has ended meanwhile.
    pub(crate) fn stored(&mut self, state: State, now_ms: u64) {
        if !self.running && state.finished_ms >= self.state.finished_ms {
            self.state = state;
            self.schedule(now_ms);
        }
    }

    pub(crate) fn local_time(&mut self, offset_s: i64, now_ms: u64) {
        if self.offset_s != offset_s {
            self.offset_s = offset_s;
            self.schedule(now_ms);
        }
    }

    fn schedule(&mut self, now_ms: u64) {
        let sources = &self.settings.sources;
        let hour = match self.settings.hour {
            Hour::Daily(hour) if self.wanted && !sources.is_empty() => Some(hour),
            Hour::Daily(_) | Hour::Manual => None,
        };
        let automatic = self.wanted && self.settings.hour != Hour::Manual;
        self.next_ms = match hour {
            _ if automatic && self.sources_changed => now_ms + CHANGE_DELAY_MS,
            _ if automatic && self.has_removed_sources() => now_ms + START_DELAY_MS,
            None => 0,
            // Fetch a new source soon, not at the daily hour.
            Some(_) if sources.iter().any(|source| self.report(source).is_none()) => {
                now_ms + START_DELAY_MS
            }
            Some(hour) => next(now_ms, hour, self.offset_s),
        };
    }

    /// Returns true if rules of removed sources are in force, because the configuration changed
    /// while the daemon was not running.
    fn has_removed_sources(&self) -> bool {
        let chosen = |name: &str| match name {
            rules::OWN => self.settings.own.is_some(),
            _ => self.settings.sources.iter().any(|source| source.name == name),
        };
        self.state.sources.iter().any(|report| !chosen(&report.name))
    }

    fn report(&self, source: &SourceRequest) -> Option<&SourceReport> {
        self.state.sources.iter().find(|report| report.name == source.name)
    }

    /// Returns the request if an update is due. Called once a second.
    pub(crate) fn tick(&mut self, own_rules: &Path, now_ms: u64) -> Option<String> {
        // The clock was set back, for example by NTP.
        if self.next_ms > now_ms + MAX_DELAY_MS {
            self.next_ms = now_ms + RETRY_INTERVAL_MS;
        }
        let due = self.next_ms != 0 && now_ms >= self.next_ms;
        if due { self.start(own_rules, now_ms) } else { None }
    }

    /// Begins an update. Returns its request; `None` while an update is running.
    pub(crate) fn start(&mut self, own_rules: &Path, now_ms: u64) -> Option<String> {
        if self.running {
            return None;
        }
        let request = self.settings.request(own_rules, test(), true);
        let request = serde_json::to_string(&request).ok()?;
        self.running = true;
        self.sources_changed = false;
        self.step = None;
        self.next_ms = if self.next_ms == 0 { 0 } else { now_ms + RETRY_INTERVAL_MS };
        log::info!("updating the rules");
        Some(request)
    }

    pub(crate) fn progress(&mut self, step: UpdateReason) {
        log::debug!("rules: {step}");
        self.step = Some(step);
    }

    /// Handles the end of an update. Returns true if there are new rules to load.
    pub(crate) fn done(&mut self, result: Result<Value, UpdateReason>, now_ms: u64) -> bool {
        self.running = false;
        let unread = |error: StateError| UpdateReason::State { said: error.to_string() };
        self.failure = match result.and_then(|value| State::read(value).map_err(unread)) {
            Ok(state) => {
                self.state = state;
                None
            }
            Err(why) => Some(why),
        };
        let outcome =
            if self.failure.is_none() { self.state.outcome } else { UpdateOutcome::Failed };
        let failure = self.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        log::info!("update of the rules: {outcome:?} {failure}{}", self.state.message);
        let done = matches!(outcome, UpdateOutcome::Updated | UpdateOutcome::Unchanged);
        if done || self.sources_changed {
            self.schedule(now_ms);
        } else if self.next_ms != 0 {
            self.next_ms = now_ms + RETRY_INTERVAL_MS;
        }
        matches!(outcome, UpdateOutcome::Updated | UpdateOutcome::Partly | UpdateOutcome::Restored)
    }

    /// Returns the time of the last successful check, in Unix milliseconds: the oldest of all
    /// sources with rules in force. 0 if only our own rules are in force.
    pub(crate) fn checked_ms(&self) -> u64 {
        let foreign = |report: &&SourceReport| report.name != rules::OWN && report.rules > 0;
        let sources = self.state.sources.iter().filter(foreign);
        // Earlier versions did not store `checked_ms`.
        let checked = sources.map(|report| match report.checked_ms {
            0 => report.fetched_ms.max(self.state.since_ms),
            checked => checked,
        });
        checked.min().unwrap_or(0)
    }

    /// Returns the time when the rule set in force was built, in Unix milliseconds; 0 if never.
    pub(crate) fn updated_ms(&self) -> u64 {
        self.state.since_ms
    }

    /// Returns whether the last update failed, at least in part.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
            || matches!(self.state.outcome, UpdateOutcome::Failed | UpdateOutcome::Partly)
                && self.state.finished_ms != 0
    }

    pub(crate) fn summary(&self) -> RulesSummary {
        let failed = self.has_failed();
        match () {
            () if self.running => RulesSummary::Updating,
            () if failed => RulesSummary::Failed,
            () if self.state.version.is_empty() => RulesSummary::Builtin,
            () => RulesSummary::Good,
        }
    }

    pub(crate) fn view(&self, counted: ips::RuleCounts) -> RulesView<'_> {
        let own = if self.running { &self.step } else { &self.failure };
        let (message, cause) = match own {
            Some(reason) => (reason.to_string(), reason.cause().into()),
            None if self.running => (String::new(), StoredCause::default()),
            None => (self.state.message.clone(), self.state.cause.clone()),
        };
        let on = self.settings.sources.iter().map(|source| self.source(source, true));
        let off = self.settings.off.iter().map(|source| self.source(source, false));
        RulesView {
            state: self.summary().name(),
            loaded: counted.loaded,
            failed: counted.failed,
            updated_ms: self.updated_ms(),
            checked_ms: self.checked_ms(),
            next_ms: self.next_ms,
            message,
            cause,
            sources: on.chain(off).collect(),
        }
    }

    fn source<'a>(&'a self, source: &'a SourceRequest, enabled: bool) -> SourceView<'a> {
        let report = self.report(source);
        SourceView {
            name: &source.name,
            url: config::secret::shown_url(&source.url),
            enabled,
            state: match report {
                _ if !enabled => "off",
                None => "new",
                Some(report) => match report.state {
                    SourceState::Updated | SourceState::Unchanged => "good",
                    SourceState::Kept | SourceState::Failed => "failed",
                },
            },
            message: report.map_or("", |report| &report.message),
            cause: report.map(|report| report.cause.clone()).unwrap_or_default(),
            rules: report.map_or(0, |report| report.rules),
            updated_ms: report.map_or(0, |report| report.fetched_ms),
        }
    }
}

/// Returns the command that tests rules: Suricata with the configuration in force, because rules
/// use its variables. With `-S` it loads only the named file.
fn test() -> Vec<String> {
    const ACCEPTED: &str = "/var/etc/suricata/accepted.yaml";
    let words = ["/usr/bin/suricata", "-T", "-c", "/etc/suricata/suricata.yaml"];
    let with = ["--include", ACCEPTED, "-S", "{rules}", "-l", "{dir}"];
    words.into_iter().chain(with).map(str::to_owned).collect()
}

/// Returns the next full `hour` of local time after `now_ms`.
fn next(now_ms: u64, hour: u8, offset_s: i64) -> u64 {
    const DAY: i64 = 86_400;
    let now = i64::try_from(now_ms / 1000).unwrap_or(0) + offset_s;
    let today = now - now.rem_euclid(DAY) + i64::from(hour) * 3600;
    let at = if today > now { today } else { today + DAY };
    u64::try_from(at - offset_s).unwrap_or(0) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_updater() -> UpdateReason {
        let said = "no such program".to_owned();
        UpdateReason::Updater { what: "starting", program: "rules", said }
    }

    #[test]
    fn the_next_update_is_at_the_local_hour() {
        let hour = 3600 * 1000;
        // 03:00 UTC is 04:00 in Berlin in winter.
        assert_eq!(next(2 * hour, 4, 3600), 3 * hour);
        assert_eq!(next(3 * hour, 4, 3600), 27 * hour);
        assert_eq!(next(3 * hour, 4, 0), 4 * hour);
        assert_eq!(next(30 * hour, 4, -5 * 3600), 33 * hour);
    }

    #[test]
    fn changed_rule_sources_are_updated_after_a_few_seconds() {
        let mut updates = Updates::default();
        let mut settings = rules::Settings::default();
        updates.configure(&settings, true, 1000);
        assert_eq!(updates.next_ms, 0, "nothing to fetch");
        settings.own = None;
        updates.configure(&settings, true, 2000);
        assert_eq!(updates.next_ms, 2000 + CHANGE_DELAY_MS);
        assert!(updates.tick(Path::new("/own"), 2000).is_none());
        assert!(updates.tick(Path::new("/own"), 2000 + CHANGE_DELAY_MS).is_some());
        assert!(updates.start(Path::new("/own"), 9000).is_none(), "an update is running");
        assert_eq!(updates.view(ips::RuleCounts::default()).state, "updating");
        assert!(!updates.done(Err(no_updater()), 9000));
        let view = updates.view(ips::RuleCounts::default());
        assert_eq!(
            (view.state, view.message.as_str()),
            ("failed", "starting rules: no such program")
        );
    }

    #[test]
    fn a_clock_that_is_set_back_delays_an_update_by_at_most_an_hour() {
        let mut updates = Updates::default();
        let mut settings = rules::Settings::default();
        updates.configure(&settings, true, 1000);
        settings.own = None;
        let wrong = 2 * 365 * MAX_DELAY_MS;
        updates.configure(&settings, true, wrong);
        assert!(updates.tick(Path::new("/own"), 5000).is_none());
        assert_eq!(updates.next_ms, 5000 + RETRY_INTERVAL_MS);
        assert!(updates.tick(Path::new("/own"), 5000 + RETRY_INTERVAL_MS).is_some());
    }

    #[test]
    fn changed_rule_sources_are_not_lost_before_their_update_begins() {
        let mut updates = Updates::default();
        let mut settings = rules::Settings::default();
        updates.configure(&settings, true, 1000);
        settings.own = None;
        updates.configure(&settings, true, 2000);
        updates.configure(&settings, true, 3000);
        assert_eq!(
            updates.next_ms,
            2000 + CHANGE_DELAY_MS,
            "the file is read again for another reason"
        );
        settings.limit_mib += 1;
        updates.configure(&settings, true, 4000);
        assert_eq!(updates.next_ms, 4000 + CHANGE_DELAY_MS);
        updates.start(Path::new("/own"), 5000).unwrap();
        settings.own = Some(rules::OwnRules::default());
        updates.configure(&settings, true, 6000);
        updates.done(Err(no_updater()), 60_000);
        assert_eq!(updates.next_ms, 60_000 + CHANGE_DELAY_MS, "changed during an update");
        updates.start(Path::new("/own"), 70_000).unwrap();
        updates.done(Err(no_updater()), 80_000);
        updates.configure(&settings, true, 90_000);
        assert_eq!(updates.next_ms, 80_000 + RETRY_INTERVAL_MS, "the retry is not postponed");
    }

    #[test]
    fn a_failed_update_is_retried_only_where_updates_are_scheduled() {
        for (hour, next) in [(Hour::Manual, 0), (Hour::Daily(4), 9000 + RETRY_INTERVAL_MS)] {
            let source = SourceRequest { name: "et".into(), ..SourceRequest::default() };
            let settings =
                rules::Settings { hour, sources: vec![source], ..rules::Settings::default() };
            let mut updates = Updates::default();
            updates.configure(&settings, true, 1000);
            updates.start(Path::new("/own"), 5000).unwrap();
            updates.done(Err(no_updater()), 9000);
            assert_eq!(updates.next_ms, next, "{hour:?}");
        }
    }

    #[test]
    fn a_stored_outcome_schedules_the_next_update_unless_a_later_one_is_known() {
        let report = SourceReport { name: "et".into(), ..SourceReport::default() };
        let stored = State { finished_ms: 7, sources: vec![report], ..State::default() };
        let source = SourceRequest { name: "et".into(), ..SourceRequest::default() };
        let settings = rules::Settings { sources: vec![source], ..rules::Settings::default() };
        let mut updates = Updates::default();
        let read = Effect::ReadState(settings.store.clone());
        assert_eq!(updates.configure(&settings, true, 1000), Some(read));
        assert_eq!(updates.next_ms, 1000 + START_DELAY_MS, "never fetched");
        updates.stored(stored.clone(), 2000);
        assert_eq!(updates.next_ms, next(2000, 4, 0));
        assert_eq!(updates.configure(&settings, true, 3000), None, "the same store");

        let later = State { finished_ms: 9, ..State::default() };
        updates.state = later.clone();
        updates.stored(stored.clone(), 3000);
        assert_eq!(updates.state, later);
        let moved = rules::Settings { store: "/mnt/rules".into(), ..settings };
        assert_eq!(
            updates.configure(&moved, true, 4000),
            Some(Effect::ReadState(moved.store.clone()))
        );
        updates.stored(stored.clone(), 4000);
        assert_eq!(updates.state, stored, "of another store");
    }

    #[test]
    fn rules_of_a_source_removed_while_no_daemon_ran_are_replaced() {
        let report = |name: &str| SourceReport { name: name.into(), ..SourceReport::default() };
        let state = State {
            finished_ms: 1,
            sources: vec![report(rules::OWN), report("gone")],
            ..State::default()
        };
        let started = |settings: &rules::Settings| {
            let mut updates = Updates { state: state.clone(), wanted: true, ..Updates::default() };
            updates.settings.store = settings.store.clone();
            updates.configure(settings, true, 1000);
            updates.next_ms
        };
        let mut settings = rules::Settings::default();
        assert_eq!(started(&settings), 1000 + START_DELAY_MS, "the WAN has to come up first");
        settings.hour = Hour::Manual;
        assert_eq!(started(&settings), 0, "manual updates only");
    }

    #[test]
    fn the_check_time_of_rules_is_the_oldest_check_of_their_sources() {
        let of = |reports: &[(&str, u32, u64)]| {
            let report = |&(name, rules, checked_ms): &(&str, u32, u64)| SourceReport {
                name: name.into(),
                rules,
                checked_ms,
                ..SourceReport::default()
            };
            let sources = reports.iter().map(report).collect();
            let state = State { since_ms: 5, sources, ..State::default() };
            Updates { state, ..Updates::default() }.checked_ms()
        };
        assert_eq!(of(&[]), 0, "nothing was fetched yet");
        assert_eq!(of(&[(rules::OWN, 63, 9)]), 0, "our own rules do not count");
        assert_eq!(of(&[(rules::OWN, 63, 9), ("et", 0, 9)]), 0, "its download failed");
        assert_eq!(of(&[(rules::OWN, 63, 1), ("et", 40_000, 90)]), 90, "the check of the source");
        assert_eq!(of(&[("et", 40_000, 90), ("other", 10, 70)]), 70, "not reached since");
        assert_eq!(of(&[("et", 40_000, 0)]), 5, "stored by an earlier version");
    }
}
