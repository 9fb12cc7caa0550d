// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of the doctor without a caller, and the summary of its last report: what triggers a run
//! (`schedule.rs`), when the report is read, and why there is none. The checks are in crate
//! `doctor`, which root runs.

use std::time::Duration;

use config::Cause;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use schedule::{Ended, Schedule};

pub(crate) mod run;
mod schedule;
#[cfg(test)]
mod tests;

/// After a report that could not be read.
const RETRY: Duration = Duration::from_secs(60);
/// Findings that `status` names; the others are only counted.
const MOST_NAMED: usize = 8;

/// A call of the doctor has been answered.
#[derive(Debug)]
pub(crate) enum Event {
    /// A run: its refusal, or why the call failed.
    Ran(Result<(), Refused>),
    /// The kept report, or why it could not be read.
    Read(Result<Value, String>),
}

/// Why a run has no report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Others run checks.
    Busy,
    /// For this reason.
    Failed(String),
}

/// A call of the doctor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Run all checks, at the lowest priority.
    Run,
    /// Read the kept report.
    Read,
}

config::coded! {
    /// The reason that no report exists, or no newer one. `said` is of the doctor or of ubus.
    pub enum ReportReason {
        First = "first", "The checks run for the first time some minutes after the start.";
        Running = "running", "The checks are running.";
        Failed { said: String } = "failed", "The checks failed to run: {said}";
    }
}

/// When a file or folder was last changed: seconds and nanoseconds; none: it is not there.
pub(crate) type Mark = Option<(i64, i64)>;

/// Once a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The kept report.
    pub(crate) report: Mark,
    /// The files of the configuration: one was replaced.
    pub(crate) settings: Mark,
    /// The change that waits: it was applied, confirmed or reverted.
    pub(crate) change: Mark,
}

/// The state of the doctor's runs.
#[derive(Debug, Default)]
pub(crate) struct State {
    schedule: Schedule,
    /// Those before; none: before the first reading.
    marks: Option<Marks>,
    /// The report that was read, or is being read.
    read: Mark,
    /// It is not read before this.
    not_before: Duration,
    last: Option<Summary>,
    failure: Option<String>,
}

/// The last report, as `status` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) at_ms: u64,
    took_ms: u64,
    pub(crate) counts: Counts,
    /// The worst findings, without accepted ones and notes.
    worst: Vec<Named>,
}

/// Checks by result.
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

/// A finding, without its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    id: String,
    code: String,
    severity: String,
    title: String,
}

/// The part `doctor` of the answer of `status`.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor<'a> {
    last: Option<&'a Summary>,
    running: bool,
    why: String,
    cause: Cause,
}

#[derive(Deserialize)]
struct Report {
    at_ms: u64,
    took_ms: u64,
    summary: Counts,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    #[serde(flatten)]
    named: Named,
    accepted: Vec<String>,
}

impl Summary {
    fn of(report: Value) -> Result<Self, String> {
        let report: Report = serde_json::from_value(report).map_err(|error| error.to_string())?;
        let Report { at_ms, took_ms, summary: counts, findings } = report;
        let asks = |found: &Finding| {
            let severity = health::Severity::from_name(&found.named.severity);
            severity.is_some_and(health::Severity::asks) && found.accepted.is_empty()
        };
        let worst = findings.into_iter().filter(asks).take(MOST_NAMED);
        let worst = worst.map(|found| found.named).collect();
        Ok(Self { at_ms, took_ms, counts, worst })
    }
}

impl State {
    /// The answer of `status`.
    pub(crate) fn answer(&self) -> Doctor<'_> {
        let running = self.schedule.is_running();
        let reason = match (&self.failure, &self.last) {
            (Some(said), _) => Some(ReportReason::Failed { said: said.clone() }),
            (None, Some(_)) => None,
            (None, None) if running => Some(ReportReason::Running),
            (None, None) => Some(ReportReason::First),
        };
        let cause = reason.map(|reason| reason.cause()).unwrap_or_default();
        Doctor { last: self.last.as_ref(), running, why: cause.text.clone(), cause }
    }

    /// The last report.
    pub(crate) fn last(&self) -> Option<&Summary> {
        self.last.as_ref()
    }

    /// The configuration was read: it may accept other findings.
    pub(crate) fn read_again(&mut self) {
        self.read = None;
    }

    fn see(&mut self, marks: Marks, now: Duration) {
        let before = self.marks.replace(marks);
        let changed = before.is_some_and(|before| {
            (before.settings, before.change) != (marks.settings, marks.change)
        });
        if changed {
            self.schedule.changed(now);
        }
    }
}

impl Core {
    /// Once a second.
    pub(crate) fn doctor_second(&mut self, marks: Marks) -> Vec<AnyEffect> {
        let now = self.now.mono;
        let cpus = self.sys.load();
        #[expect(clippy::cast_precision_loss, reason = "a router has few CPUs")]
        let load = cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / cpus.len().max(1) as f64;
        let doctor = &mut self.doctor;
        doctor.see(marks, now);
        let mut effects = Vec::new();
        let unread = marks.report.is_some() && marks.report != doctor.read;
        if unread && now >= doctor.not_before {
            doctor.read = marks.report;
            effects.push(AnyEffect::Doctor(Effect::Read));
        }
        if doctor.schedule.begins(now, load) {
            effects.push(AnyEffect::Doctor(Effect::Run));
        }
        effects
    }

    pub(crate) fn doctor_event(&mut self, event: Event) -> Vec<AnyEffect> {
        let Self { now, doctor, .. } = self;
        match event {
            Event::Ran(Ok(())) => {
                doctor.failure = None;
                doctor.schedule.ended(now.mono, Ended::Well);
            }
            Event::Ran(Err(Refused::Busy)) => doctor.schedule.ended(now.mono, Ended::Busy),
            Event::Ran(Err(Refused::Failed(said))) => {
                log::warn!("the doctor's checks failed to run: {said}");
                doctor.failure = Some(said);
                doctor.schedule.ended(now.mono, Ended::Failed);
            }
            Event::Read(report) => match report.and_then(Summary::of) {
                Ok(summary) => {
                    // A clock that was set meanwhile must not make it one of the future.
                    let age = now.unix_ms.saturating_sub(summary.at_ms);
                    doctor.schedule.reported(now.mono, Duration::from_millis(age));
                    // rpcd loses an answer now and then, after the report was written.
                    if doctor.last.as_ref().is_none_or(|last| last.at_ms < summary.at_ms) {
                        doctor.failure = None;
                    }
                    doctor.last = Some(summary);
                }
                Err(said) => {
                    log::warn!("reading the doctor's report: {said}");
                    doctor.read = None;
                    doctor.not_before = now.mono + RETRY;
                }
            },
        }
        Vec::new()
    }
}
