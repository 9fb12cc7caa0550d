// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of the doctor without a caller, and the summary of its last report: what triggers a run
//! (`schedule.rs`), when the report is read, and why there is none. The checks are in crate
//! `doctor`, which root runs.

use std::time::Duration;

use config::Cause;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bus;
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
    last: Option<Report>,
    failure: Option<String>,
    /// Engine, inspection and lines of the last second; empty before the first.
    standing: String,
}

/// The last report, as `status` has it: without findings that have ended since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) at_ms: u64,
    took_ms: u64,
    pub(crate) counts: Counts,
    /// The worst findings, without accepted ones and notes.
    worst: Vec<Named>,
    /// Checks of the report whose finding has ended.
    ended: Vec<String>,
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

    /// The number that counts this finding.
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

    /// The summary without the findings of checks that `has_ended` names.
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
                && worst.len() < MOST_NAMED
            {
                worst.push(found.named.clone());
            }
        }
        Summary { at_ms: self.at_ms, took_ms: self.took_ms, counts, worst, ended }
    }
}

impl State {
    fn answer(&self, last: Option<Summary>) -> Doctor {
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

    fn see_standing(&mut self, standing: String, now: Duration) {
        let is_known = !self.standing.is_empty();
        if self.standing != standing && is_known {
            self.schedule.state_changed(now);
        }
        self.standing = standing;
    }
}

impl Core {
    /// The answer of `status`, with the conditions of now.
    pub(crate) fn doctor_answer(&self, conditions: &[bus::health::Finding]) -> Doctor {
        self.doctor.answer(self.doctor_summary(conditions))
    }

    /// The last report, with the conditions of now.
    pub(crate) fn doctor_summary(&self, conditions: &[bus::health::Finding]) -> Option<Summary> {
        let report = self.doctor.last.as_ref()?;
        Some(report.summary(|id| self.has_ended(id, conditions)))
    }

    /// Whether a finding of this check is over: the daemon judges it all the time, by the same
    /// rule.
    fn has_ended(&self, id: &str, conditions: &[bus::health::Finding]) -> bool {
        match id {
            "accounting-off" | "conntrack-full" | "flowtable-differs" | "flowtable-fw4" => {
                conditions.iter().all(|condition| condition.code != id)
            }
            "ips-away" => {
                let state = self.ips.inspection().condition().state;
                health::inspection(state.name()).is_none()
            }
            "latency-missing" => !self.latency.is_missing(),
            // The daemon answers.
            "system-daemon" => true,
            _ => false,
        }
    }

    /// What the checks depend on besides the configuration.
    fn standing(&self) -> String {
        let engine = self.offload.flowtable().active().name();
        let inspection = self.ips.inspection().condition().state.name();
        let wans = self.network.wans(self.sys.rates(), self.now);
        let up = wans.iter().map(|wan| format!(" {} {}", wan.name, wan.up));
        format!("{engine} {inspection}{}", up.collect::<String>())
    }

    /// Once a second.
    pub(crate) fn doctor_second(&mut self, marks: Marks) -> Vec<AnyEffect> {
        let now = self.now.mono;
        let cpus = self.sys.load();
        #[expect(clippy::cast_precision_loss, reason = "a router has few CPUs")]
        let load = cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / cpus.len().max(1) as f64;
        let standing = self.standing();
        let doctor = &mut self.doctor;
        doctor.see_standing(standing, now);
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
            Event::Read(report) => match report.and_then(Report::read) {
                Ok(report) => {
                    // A clock that was set meanwhile must not make it one of the future.
                    let age = now.unix_ms.saturating_sub(report.at_ms);
                    doctor.schedule.reported(now.mono, Duration::from_millis(age));
                    // rpcd loses an answer now and then, after the report was written.
                    if doctor.last.as_ref().is_none_or(|last| last.at_ms < report.at_ms) {
                        doctor.failure = None;
                    }
                    doctor.last = Some(report);
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
