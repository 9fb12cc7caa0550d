// SPDX-License-Identifier: GPL-2.0-or-later
//! Schedules the doctor's own runs, and summarizes its last report.

use std::time::Duration;

use config::Cause;
use flows::Now;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use schedule::{Ended, Schedule};

mod schedule;

/// Retry interval for a report that could not be read.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Findings that `status` names; all others are only counted.
const MAX_NAMED: usize = 8;

#[derive(Debug)]
pub enum Event {
    Ran(Result<(), Refused>),
    /// The last report, or why it could not be read.
    Read(Result<Value, String>),
}

/// Why a run has no report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Busy,
    /// The call or the run failed, for this reason.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run all checks, at the lowest priority.
    Run,
    Read,
}

config::coded! {
    /// Why there is no report, or no newer one. `said` is the text of the doctor or of ubus.
    pub enum ReportReason {
        First = "first", "The checks run for the first time some minutes after the start.";
        Running = "running", "The checks are running.";
        Failed { said: String } = "failed", "The checks failed to run: {said}";
    }
}

/// Modification time of a file or folder, in seconds and nanoseconds; `None` if it does not exist.
pub type Mark = Option<(i64, i64)>;

/// Modification times, read once a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub report: Mark,
    /// Folder of the configuration; changes when one of its files is replaced.
    pub settings: Mark,
    /// Folder of the pending change; changes when it is applied, confirmed or rolled back.
    pub change: Mark,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    schedule: Schedule,
    /// The previous marks; `None` before the first reading.
    marks: Option<Marks>,
    /// Mark of the report that was read or is being read.
    read: Mark,
    /// Earliest time to read a report.
    not_before: Duration,
    last: Option<Report>,
    failure: Option<String>,
    /// Engine, inspection and WANs of the last second; empty before the first.
    router: String,
}

/// Summary of the last report in `status`, without findings that have ended since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) at_ms: u64,
    took_ms: u64,
    pub(crate) counts: Counts,
    /// The worst findings, without accepted ones and notes.
    worst: Vec<Named>,
    /// Checks of the report with findings that have ended since.
    ended: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) error: u64,
    pub(crate) warning: u64,
    pub(crate) advice: u64,
    pub(crate) info: u64,
    pub(crate) unknown: u64,
    pub(crate) ok: u64,
    pub(crate) accepted: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    id: String,
    code: String,
    severity: String,
    title: String,
}

/// Field `doctor` in the answer of `status`.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor {
    last: Option<Summary>,
    running: bool,
    why: String,
    cause: Cause,
}

#[derive(Debug, Deserialize)]
struct Report {
    at_ms: u64,
    took_ms: u64,
    summary: Counts,
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    #[serde(flatten)]
    named: Named,
    accepted: Vec<String>,
}

impl Finding {
    fn severity(&self) -> health::Severity {
        health::Severity::from_name(&self.named.severity).unwrap_or(health::Severity::Unknown)
    }

    /// Returns the counter that includes this finding.
    fn count<'a>(&self, counts: &'a mut Counts) -> &'a mut u64 {
        use health::Severity::{Advice, Error, Info, Ok, Unknown, Warning};
        if !self.accepted.is_empty() {
            return &mut counts.accepted;
        }
        match self.severity() {
            Error => &mut counts.error,
            Warning => &mut counts.warning,
            Advice => &mut counts.advice,
            Info => &mut counts.info,
            Unknown => &mut counts.unknown,
            Ok => &mut counts.ok,
        }
    }
}

impl Report {
    fn read(report: Value) -> Result<Self, String> {
        serde_json::from_value(report).map_err(|error| error.to_string())
    }

    fn summary(&self, has_ended: impl Fn(&str) -> bool) -> Summary {
        use health::Severity::{Ok, Unknown};
        let mut counts = self.summary.clone();
        let (mut worst, mut ended) = (Vec::new(), Vec::new());
        for found in &self.findings {
            if !matches!(found.severity(), Ok | Unknown) && has_ended(&found.named.id) {
                let count = found.count(&mut counts);
                *count = count.saturating_sub(1);
                counts.ok += 1;
                ended.push(found.named.id.clone());
            } else if found.severity().asks()
                && found.accepted.is_empty()
                && worst.len() < MAX_NAMED
            {
                worst.push(found.named.clone());
            }
        }
        Summary { at_ms: self.at_ms, took_ms: self.took_ms, counts, worst, ended }
    }
}

impl State {
    pub(crate) fn answer(&self, last: Option<Summary>) -> Doctor {
        let running = self.schedule.is_running();
        let reason = match (&self.failure, &self.last) {
            (Some(said), _) => Some(ReportReason::Failed { said: said.clone() }),
            (None, Some(_)) => None,
            (None, None) if running => Some(ReportReason::Running),
            (None, None) => Some(ReportReason::First),
        };
        let cause = reason.map(|reason| reason.cause()).unwrap_or_default();
        Doctor { last, running, why: cause.text.clone(), cause }
    }

    /// Requests the report again: a new configuration may accept other findings.
    pub(crate) fn read_again(&mut self) {
        self.read = None;
    }

    fn note_marks(&mut self, marks: Marks, now: Duration) {
        let before = self.marks.replace(marks);
        let changed = before.is_some_and(|before| {
            (before.settings, before.change) != (marks.settings, marks.change)
        });
        if changed {
            self.schedule.changed(now);
        }
    }

    fn note_state(&mut self, router: String, now: Duration) {
        let is_known = !self.router.is_empty();
        if self.router != router && is_known {
            self.schedule.state_changed(now);
        }
        self.router = router;
    }

    /// Returns the summary of the last report. Findings of checks for which `has_ended` is true
    /// count as ok.
    pub(crate) fn summary(&self, has_ended: impl Fn(&str) -> bool) -> Option<Summary> {
        Some(self.last.as_ref()?.summary(has_ended))
    }

    /// Reads a new report, and starts a run if one is due. `router` summarizes the state that
    /// checks depend on; `load` is the load of all CPUs. Called once a second.
    pub(crate) fn second(
        &mut self,
        marks: Marks,
        router: String,
        load: f64,
        now: Duration,
    ) -> Vec<Effect> {
        self.note_state(router, now);
        self.note_marks(marks, now);
        let mut effects = Vec::new();
        let unread = marks.report.is_some() && marks.report != self.read;
        if unread && now >= self.not_before {
            self.read = marks.report;
            effects.push(Effect::Read);
        }
        if self.schedule.begins(now, load) {
            effects.push(Effect::Run);
        }
        effects
    }

    pub(crate) fn event(&mut self, event: Event, now: Now) {
        match event {
            Event::Ran(Ok(())) => {
                self.failure = None;
                self.schedule.ended(now.mono, Ended::Succeeded);
            }
            Event::Ran(Err(Refused::Busy)) => self.schedule.ended(now.mono, Ended::Busy),
            Event::Ran(Err(Refused::Failed(said))) => {
                log::warn!("the doctor's checks failed to run: {said}");
                self.failure = Some(said);
                self.schedule.ended(now.mono, Ended::Failed);
            }
            Event::Read(report) => match report.and_then(Report::read) {
                Ok(report) => {
                    // The clock may have been set back meanwhile, so saturate.
                    let age = now.unix_ms.saturating_sub(report.at_ms);
                    self.schedule.reported(now.mono, Duration::from_millis(age));
                    // rpcd may lose the answer of a run that wrote a report.
                    if self.last.as_ref().is_none_or(|last| last.at_ms < report.at_ms) {
                        self.failure = None;
                    }
                    self.last = Some(report);
                }
                Err(said) => {
                    log::warn!("reading the doctor's report: {said}");
                    self.read = None;
                    self.not_before = now.mono + RETRY_INTERVAL;
                }
            },
        }
    }
}
