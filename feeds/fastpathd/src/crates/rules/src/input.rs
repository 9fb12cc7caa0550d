// SPDX-License-Identifier: GPL-2.0-or-later
//! State of one source during an update: its new or last good archive, and its report.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use config::Cause;

use crate::acquire::Fresh;
use crate::archive::ArchiveLimits;
use crate::collect::{Collected, collect};
use crate::reason::{SourceReason, UpdateReason};
use crate::request::{Builtin, OWN, SourceRequest, selectors};
use crate::select::{Choice, category_name, category_of};
use crate::state::{SourceReport, SourceState, State};
use crate::store::Store;

pub(crate) struct Input {
    pub(crate) report: SourceReport,
    /// `None` if no archive of the source is usable.
    pub(crate) rules: Option<Collected>,
    /// Report about the last good archive.
    before: SourceReport,
    choice: Choice,
    plain_name: String,
    limits: ArchiveLimits,
    /// The archive is from this update.
    fresh: bool,
}

impl Input {
    pub(crate) fn own(own: &Builtin, limits: ArchiveLimits) -> Self {
        let name = OWN.to_owned();
        let report = SourceReport { name, state: SourceState::Unchanged, ..Default::default() };
        let choice = choice(&[], &own.disable, &own.drop);
        let plain_name = format!("{OWN}.rules");
        let mut input = Self::new(report.clone(), report, choice, plain_name, limits);
        input.read(&own.path);
        input
    }

    pub(crate) fn of(source: &SourceRequest, before: &State, limits: ArchiveLimits) -> Self {
        let report = before.sources.iter().find(|report| report.name == source.name);
        let blank = SourceReport { name: source.name.clone(), ..Default::default() };
        let before = report.cloned().unwrap_or_else(|| blank.clone());
        let choice = choice(&source.categories, &source.disable, &source.drop);
        // A plain file's name at the source is its category.
        let plain = Some(source.file_name()).filter(|name| category_of(name).is_some());
        let plain = plain.map_or_else(|| format!("{}.rules", source.name), str::to_owned);
        Self::new(blank, before, choice, plain, limits)
    }

    fn new(
        report: SourceReport,
        before: SourceReport,
        choice: Choice,
        plain_name: String,
        limits: ArchiveLimits,
    ) -> Self {
        Self { report, rules: None, before, choice, plain_name, limits, fresh: false }
    }

    /// Uses the new archive, or the last good one if the new archive is unusable.
    pub(crate) fn use_fresh(&mut self, store: &Store, archive: Fresh, now_ms: u64) {
        self.fresh = true;
        let report = &mut self.report;
        report.state = SourceState::Updated;
        (report.bytes, report.sha256) = (archive.bytes, archive.sha256);
        archive.verified.clone_into(&mut report.verified);
        (report.fetched_ms, report.checked_ms) = (now_ms, now_ms);
        self.read(&store.work(&self.report.name));
        self.reject_older();
        if self.rules.is_none() {
            let report = &mut self.report;
            let found = (std::mem::take(&mut report.message), std::mem::take(&mut report.cause));
            self.use_last(store);
            (self.report.message, self.report.cause) = found;
            self.report.faults = Vec::new();
        }
    }

    /// Rejects a signed archive older than the last good one, because an attacker on the path can
    /// replay old archives with their signatures. A checksum in the settings selects an archive
    /// regardless of its version.
    fn reject_older(&mut self) {
        let number = |version: &str| version.parse::<u64>().ok();
        let (report, kept) = (&mut self.report, &self.before.version);
        let older = number(&report.version).zip(number(kept)).is_some_and(|(is, was)| is < was);
        if older && self.rules.is_some() && report.verified == "signature" {
            self.rules = None;
            let reason = SourceReason::Older { found: report.version.clone(), kept: kept.clone() };
            report.set_cause(reason.cause());
        }
    }

    /// Uses the last good archive, which is current. `checked_ms` is set if the source was
    /// contacted.
    pub(crate) fn use_kept(&mut self, store: &Store, checked_ms: Option<u64>) {
        self.copy_previous();
        self.report.state = SourceState::Unchanged;
        self.report.checked_ms = checked_ms.unwrap_or(self.before.checked_ms);
        self.read(&store.archive(&self.report.name));
    }

    /// Replaces an unusable archive by the last good one, unless that one is unusable, too.
    pub(crate) fn fall_back(&mut self, store: &Store, cause: Cause, faults: Vec<String>) {
        self.use_last(store);
        self.report.set_cause(cause);
        self.report.faults = faults;
    }

    fn use_last(&mut self, store: &Store) {
        let tried_kept = self.rules.take().is_some() && !self.fresh;
        self.fresh = false;
        self.copy_previous();
        self.report.state = SourceState::Failed;
        let archive = store.archive(&self.report.name);
        if !tried_kept && self.report.name != OWN && archive.is_file() {
            self.report.state = SourceState::Kept;
            self.read(&archive);
        }
    }

    /// Discards the new archive after the update failed.
    pub(crate) fn discard(&mut self) {
        if self.fresh {
            self.fresh = false;
            self.copy_previous();
            let had = self.before.rules > 0;
            self.report.state = if had { SourceState::Kept } else { SourceState::Failed };
        }
        self.report.rules = self.before.rules;
    }

    /// Keeps a new archive as the last good one after its rules have come into force.
    pub(crate) fn succeeded(&self, store: &Store) -> Result<(), UpdateReason> {
        if !self.fresh {
            return Ok(());
        }
        let name = &self.report.name;
        store.keep_archive(&store.work(name), name)
    }

    /// Reports whether the source failed, even if its older rules are in force.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.report.state, SourceState::Kept | SourceState::Failed)
    }

    fn copy_previous(&mut self) {
        let (report, before) = (&mut self.report, &self.before);
        (report.bytes, report.fetched_ms) = (before.bytes, before.fetched_ms);
        report.checked_ms = before.checked_ms;
        report.sha256.clone_from(&before.sha256);
        report.verified.clone_from(&before.verified);
        report.version.clone_from(&before.version);
    }

    fn read(&mut self, archive: &Path) {
        let report = &mut self.report;
        let file =
            File::open(archive).map_err(|error| SourceReason::of_file(archive, &error).into());
        let collected = file.and_then(|file| {
            let (packed, choice) = (BufReader::new(file), self.choice.clone());
            collect(packed, &self.plain_name, &self.limits, choice)
                .map_err(|error| Cause::from(&error))
        });
        match collected {
            Ok(rules) if rules.rules.is_empty() => {
                let note = rules.notes.first().cloned();
                report.set_cause(note.map_or(SourceReason::NoneSelected.cause(), |note| {
                    let reason = SourceReason::NoneUsable { why: note.text.clone() };
                    reason.cause().around(note)
                }));
                report.state = SourceState::Failed;
            }
            Ok(mut rules) => {
                (report.converted, report.disabled) = (rules.converted, rules.disabled);
                report.disabled_by_source = rules.disabled_by_source;
                (report.left_out, report.unpacked) = (rules.left_out, rules.unpacked);
                report.version = std::mem::take(&mut rules.version);
                report.notes = rules.notes.drain(..).map(|note| note.text).collect();
                self.rules = Some(rules);
            }
            Err(cause) => {
                report.set_cause(cause);
                report.state = SourceState::Failed;
            }
        }
    }
}

/// Ignores invalid values; the request has been checked.
fn choice(categories: &[String], disable: &[String], drop: &[String]) -> Choice {
    let categories: Vec<String> =
        categories.iter().filter_map(|name| category_name(name).ok()).collect();
    Choice::new(
        &categories,
        &selectors(disable).unwrap_or_default(),
        &selectors(drop).unwrap_or_default(),
    )
}
