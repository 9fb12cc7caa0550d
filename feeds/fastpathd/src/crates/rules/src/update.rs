// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs one update: gathers, merges, tests and swaps rules.
//!
//! Sources fail independently: the last good archive of a failed source is used with the current
//! selection. Rules come into force after the merged set has passed Suricata's test; sources with
//! faults fall back until the test passes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use config::Cause;
use serde::Serialize;

use crate::acquire::{Acquired, acquire};
use crate::archive::ArchiveLimits;
use crate::fetch::Fetcher;
use crate::input::Input;
use crate::merge::{Part, merge};
use crate::reason::{SourceReason, UpdateReason};
use crate::request::{OWN, Request, SourceRequest};
use crate::state::{State, UpdateOutcome};
use crate::store::{self, Store};
use crate::trial::{Fault, trial};

const MAX_FAULTS: usize = 20;

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Empty for all sources together.
    pub source: &'a str,
    /// `download`, `unpack`, `test` or `swap`.
    pub step: &'a str,
}

pub struct UpdateContext<'a> {
    pub store: &'a Store,
    /// `None` if the router has no download program.
    pub fetcher: Option<&'a Fetcher>,
    /// Unix milliseconds.
    pub now_ms: u64,
    pub progress: &'a mut dyn FnMut(Progress<'_>),
}

/// Runs an update; writes and returns the state.
pub fn update(request: &Request, context: &mut UpdateContext<'_>) -> State {
    let before = store::state(&request.store);
    let mut work = Work::gather(request, &before, context);
    let applied = work.apply(request, &before, context);
    if applied.is_err() {
        work.inputs.iter_mut().for_each(Input::discard);
    }
    let files = store::state(&request.store);
    let mut state = work.into_state(&before, applied, context.now_ms, files);
    // Free space before writing, because the disk may be full. The next update removes remaining
    // files.
    let _ = context.store.clear();
    if let Err(error) = context.store.write_state(&state) {
        let mut cause = error.cause();
        if !state.message.is_empty() {
            // A cause has only one code.
            cause = Cause { text: format!("{}; {error}", state.message), ..Cause::default() };
        }
        state.set_cause(cause);
    }
    state
}

#[derive(Default)]
struct Work {
    inputs: Vec<Input>,
    /// Numbers of rules, of rules that drop or reject, and of duplicates.
    totals: (u32, u32, u32),
    /// Cause of an archive that could not be kept.
    unkept: Option<Cause>,
}

enum Tested {
    /// The rules are in force already.
    Same,
    Good(PathBuf),
    Faults(Vec<Fault>),
}

impl Work {
    fn gather(request: &Request, before: &State, context: &mut UpdateContext<'_>) -> Self {
        let limits = ArchiveLimits::of_bytes(request.limit_bytes);
        let own = request.builtin.iter().map(|own| Input::own(own, limits));
        let mut inputs: Vec<Input> = own.collect();
        for source in &request.sources {
            let mut input = Input::of(source, before, limits);
            get(request, source, &mut input, context);
            inputs.push(input);
        }
        Self { inputs, ..Self::default() }
    }

    /// Merges, tests and swaps rules. Sources with faults fall back until the test passes.
    fn apply(
        &mut self,
        request: &Request,
        before: &State,
        context: &mut UpdateContext<'_>,
    ) -> Result<UpdateOutcome, Cause> {
        let wanted = !self.inputs.is_empty();
        loop {
            let (places, parts) = self.take_parts();
            if wanted && parts.is_empty() {
                return Err(self.no_rules());
            }
            let tested = self.test(request, before, context, &parts, &places);
            for (place, part) in places.iter().zip(parts) {
                self.inputs[*place].rules = Some(part.rules);
            }
            match tested? {
                Tested::Faults(faults) => self.blame(&places, faults, context.store),
                Tested::Same => return self.succeeded(request, context, UpdateOutcome::Unchanged),
                Tested::Good(file) => {
                    (context.progress)(Progress { source: "", step: "swap" });
                    context.store.swap(&file)?;
                    // If an archive cannot be kept, the new rules are in force nevertheless.
                    let kept = self.succeeded(request, context, UpdateOutcome::Updated);
                    return Ok(kept.unwrap_or_else(|cause| {
                        self.unkept = Some(cause);
                        UpdateOutcome::Partly
                    }));
                }
            }
        }
    }

    /// Keeps the archives in use as the last good ones, and returns the outcome.
    fn succeeded(
        &self,
        request: &Request,
        context: &UpdateContext<'_>,
        best: UpdateOutcome,
    ) -> Result<UpdateOutcome, Cause> {
        for input in &self.inputs {
            input.succeeded(context.store)?;
        }
        let names: Vec<&str> = request.sources.iter().map(|source| source.name.as_str()).collect();
        context.store.remove_other_archives(&names)?;
        Ok(match (self.inputs.iter().any(Input::has_failed), best) {
            (false, _) => best,
            (true, UpdateOutcome::Unchanged) => UpdateOutcome::Failed,
            (true, _) => UpdateOutcome::Partly,
        })
    }

    fn take_parts(&mut self) -> (Vec<usize>, Vec<Part>) {
        let take = |(place, input): (usize, &mut Input)| {
            let name = input.report.name.clone();
            let own = name == OWN;
            Some((place, Part { name, rules: input.rules.take()?, own }))
        };
        self.inputs.iter_mut().enumerate().filter_map(take).unzip()
    }

    fn test(
        &mut self,
        request: &Request,
        before: &State,
        context: &mut UpdateContext<'_>,
        parts: &[Part],
        places: &[usize],
    ) -> Result<Tested, Cause> {
        let merged = merge(parts);
        self.inputs.iter_mut().for_each(|input| input.report.rules = 0);
        for (place, count) in places.iter().zip(&merged.counts) {
            self.inputs[*place].report.rules = *count;
        }
        let count = u32::try_from(merged.len()).unwrap_or(u32::MAX);
        self.totals = (count, merged.stopping, merged.duplicates);
        if merged.version == before.version {
            return Ok(Tested::Same);
        }
        (context.progress)(Progress { source: "", step: "test" });
        let new = context.store.write("new.rules", |file| merged.write(file));
        let new = new?;
        let dir = context.store.work("test");
        fs::create_dir_all(&dir).map_err(store::failed("make folder", &dir))?;
        let time = Duration::from_secs(request.test_seconds);
        let faults = trial(&request.test, &new, &dir, &merged, time)?;
        Ok(if faults.is_empty() { Tested::Good(new) } else { Tested::Faults(faults) })
    }

    /// Replaces the archive of each faulty source by its last good one, or omits the source.
    /// Terminates because each round removes an archive.
    fn blame(&mut self, places: &[usize], faults: Vec<Fault>, store: &Store) {
        let mut of_part: BTreeMap<usize, Vec<Fault>> = BTreeMap::new();
        for fault in faults {
            of_part.entry(fault.part).or_default().push(fault);
        }
        for (part, mut faults) in of_part {
            let Fault { part: _, file, line, said } = faults.remove(0);
            let reason = match faults.len() {
                0 => SourceReason::Rule { file, line, said },
                more => SourceReason::Rules { file, line, said, more },
            };
            let of = |Fault { part: _, file, line, said }| SourceReason::Rule { file, line, said };
            let texts = faults.into_iter().take(MAX_FAULTS).map(|fault| of(fault).to_string());
            self.inputs[places[part]].fall_back(store, reason.cause(), texts.collect());
        }
    }

    fn messages(&self) -> String {
        let reports = self.inputs.iter().map(|input| &input.report);
        let messages = reports.filter(|report| !report.message.is_empty());
        let messages: Vec<_> = messages.map(|of| format!("{}: {}", of.name, of.message)).collect();
        messages.join("; ")
    }

    fn no_rules(&self) -> Cause {
        match self.messages() {
            said if said.is_empty() => UpdateReason::NothingUsable.cause(),
            said => self.of_sources(UpdateReason::NoRules { said }.cause()),
        }
    }

    /// Returns the cause of omitted sources; empty if there are none.
    fn left_out(&self) -> Cause {
        match self.messages() {
            said if said.is_empty() => Cause::default(),
            said => self.of_sources(UpdateReason::Sources { said }.cause()),
        }
    }

    /// Removes the code if fastpath's own rules failed, because it covers only sources.
    fn of_sources(&self, cause: Cause) -> Cause {
        let own = self.inputs.iter().find(|input| input.report.name == OWN);
        if own.is_none_or(|own| own.report.message.is_empty()) {
            return cause;
        }
        Cause { text: cause.text, ..Cause::default() }
    }

    fn into_state(
        self,
        before: &State,
        applied: Result<UpdateOutcome, Cause>,
        now_ms: u64,
        files: State,
    ) -> State {
        let (outcome, cause) = match applied {
            Ok(outcome) => (outcome, self.unkept.clone().unwrap_or_else(|| self.left_out())),
            Err(cause) => (UpdateOutcome::Failed, cause),
        };
        let same = files.version == before.version;
        let (rules, stopping, duplicates) = if same && outcome == UpdateOutcome::Failed {
            (before.rules, before.stopping, before.duplicates)
        } else {
            self.totals
        };
        State {
            outcome,
            message: cause.text.clone(),
            cause: cause.into(),
            version: files.version,
            since_ms: if same { before.since_ms } else { now_ms },
            finished_ms: now_ms,
            rules,
            stopping,
            duplicates,
            previous: files.previous,
            sources: self.inputs.into_iter().map(|input| input.report).collect(),
        }
    }
}

fn get(
    request: &Request,
    source: &SourceRequest,
    input: &mut Input,
    context: &mut UpdateContext<'_>,
) {
    (context.progress)(Progress { source: &source.name, step: "download" });
    let acquired = acquire(request, source, context.store, context.fetcher);
    (context.progress)(Progress { source: &source.name, step: "unpack" });
    match acquired {
        Ok(Acquired::Fresh(archive)) => input.use_fresh(context.store, archive, context.now_ms),
        Ok(Acquired::Same { checked }) => {
            input.use_kept(context.store, checked.then_some(context.now_ms));
        }
        Err(reason) => input.fall_back(context.store, reason.cause(), Vec::new()),
    }
}
