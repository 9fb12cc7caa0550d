// SPDX-License-Identifier: GPL-2.0-or-later
//! One source during an update: chooses its new download or its last good archive, and writes its
//! report.

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
    /// Previous report, which describes the last good archive.
    before: SourceReport,
    choice: Choice,
    plain_name: String,
    limits: ArchiveLimits,
    /// The archive in use was downloaded in this update.
    fresh: bool,
}

impl Input {
    /// Reads our own rules.
    pub(crate) fn own(own: &Builtin, limits: ArchiveLimits) -> Self {
        let name = OWN.to_owned();
        let report = SourceReport { name, state: SourceState::Unchanged, ..Default::default() };
        let choice = choice(&[], &own.disable, &own.drop);
        let plain_name = format!("{OWN}.rules");
        let mut input = Self::new(report.clone(), report, choice, plain_name, limits);
        input.read(&own.path);
        input
    }

    /// Creates the input of a source with its previous report; no archive is read yet.
    pub(crate) fn of(source: &SourceRequest, before: &State, limits: ArchiveLimits) -> Self {
        let report = before.sources.iter().find(|report| report.name == source.name);
        let blank = SourceReport { name: source.name.clone(), ..Default::default() };
        let before = report.cloned().unwrap_or_else(|| blank.clone());
        let choice = choice(&source.categories, &source.disable, &source.drop);
        // The category of a plain file is its name at the source.
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

    /// Uses the new download, or the last good archive if the download is bad.
    pub(crate) fn use_fresh(&mut self, store: &Store, archive: Fresh, now_ms: u64) {
        self.fresh = true;
        let report = &mut self.report;
        report.state = SourceState::Updated;
        (report.bytes, report.sha256) = (archive.bytes, archive.sha256);
        archive.verified.clone_into(&mut report.verified);
        (report.fetched_ms, report.checked_ms) = (now_ms, now_ms);
        self.read(&store.work(&self.report.name));
        self.refuse_older();
        if self.rules.is_none() {
            let report = &mut self.report;
            let found = (std::mem::take(&mut report.message), std::mem::take(&mut report.cause));
            self.use_last(store);
            (self.report.message, self.report.cause) = found;
            self.report.faults = Vec::new();
        }
    }

    /// Refuses a signed archive that is older than the last good one, because anybody on the path
    /// can replay an old archive with its signature. A checksum names the wanted archive, whatever
    /// its version.
    fn refuse_older(&mut self) {
        let number = |version: &str| version.parse::<u64>().ok();
        let (report, kept) = (&mut self.report, &self.before.version);
        let older = number(&report.version).zip(number(kept)).is_some_and(|(is, was)| is < was);
        if older && self.rules.is_some() && report.verified == "signature" {
            self.rules = None;
            let reason = SourceReason::Older { found: report.version.clone(), kept: kept.clone() };
            report.set_cause(reason.cause());
        }
    }

    /// Uses the last good archive, which is still current. `checked_ms` is set if the source was
    /// asked.
    pub(crate) fn use_kept(&mut self, store: &Store, checked_ms: Option<u64>) {
        self.remember();
        self.report.state = SourceState::Unchanged;
        self.report.checked_ms = checked_ms.unwrap_or(self.before.checked_ms);
        self.read(&store.archive(&self.report.name));
    }

    /// Replaces a defective archive with the last good one, unless that one is defective.
    pub(crate) fn fall_back(&mut self, store: &Store, cause: Cause, faults: Vec<String>) {
        self.use_last(store);
        self.report.set_cause(cause);
        self.report.faults = faults;
    }

    fn use_last(&mut self, store: &Store) {
        let tried_kept = self.rules.take().is_some() && !self.fresh;
        self.fresh = false;
        self.remember();
        self.report.state = SourceState::Failed;
        let archive = store.archive(&self.report.name);
        if !tried_kept && self.report.name != OWN && archive.is_file() {
            self.report.state = SourceState::Kept;
            self.read(&archive);
        }
    }

    /// Gives up the new download, because the whole update failed.
    pub(crate) fn give_up(&mut self) {
        if self.fresh {
            self.fresh = false;
            self.remember();
            let had = self.before.rules > 0;
            self.report.state = if had { SourceState::Kept } else { SourceState::Failed };
        }
        self.report.rules = self.before.rules;
    }

    /// Keeps a new download as the last good archive, now that its rules are in force.
    pub(crate) fn succeeded(&self, store: &Store) -> Result<(), UpdateReason> {
        if !self.fresh {
            return Ok(());
        }
        let name = &self.report.name;
        store.keep_archive(&store.work(name), name)
    }

    /// Reports whether the source failed, even if older rules of it are in force.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.report.state, SourceState::Kept | SourceState::Failed)
    }

    /// Copies the fields of the previous report that describe the last good archive.
    fn remember(&mut self) {
        let (report, before) = (&mut self.report, &self.before);
        (report.bytes, report.fetched_ms) = (before.bytes, before.fetched_ms);
        report.checked_ms = before.checked_ms;
        report.sha256.clone_from(&before.sha256);
        report.verified.clone_from(&before.verified);
        report.version.clone_from(&before.version);
    }

    /// Reads an archive, or reports why it is not used.
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

/// Skips invalid values, because the request was checked before.
fn choice(categories: &[String], disable: &[String], drop: &[String]) -> Choice {
    let categories: Vec<String> =
        categories.iter().filter_map(|name| category_name(name).ok()).collect();
    Choice::new(
        &categories,
        &selectors(disable).unwrap_or_default(),
        &selectors(drop).unwrap_or_default(),
    )
}
