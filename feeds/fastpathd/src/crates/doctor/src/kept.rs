// SPDX-License-Identifier: GPL-2.0-or-later
//! Stores the last report of all checks until the next boot, reduces it for readers, and marks
//! accepted findings.

use std::io;

use config::Package;
use health::{Acceptance, Severity};
use plugin::Refusal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::audience::{Audience, PRIVATE};
use crate::checks::CHECKS;
use crate::facts::uci::fastpath;
use crate::machine::Machine;
use crate::reason::DoctorReason;

/// File of the report, readable only by root. The daemon watches its modification time.
pub(crate) const FILE: &str = "/var/run/fastpath-doctor.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredReport {
    /// Start of the run, in Unix ms.
    pub at_ms: u64,
    /// Duration of the run, in ms.
    pub took_ms: u64,
    /// Findings, most severe first.
    pub findings: Vec<Map<String, Value>>,
}

impl StoredReport {
    pub(crate) fn load(machine: &dyn Machine) -> Result<Self, Refusal> {
        let text = machine.read(FILE).ok();
        let read = text.and_then(|text| serde_json::from_slice(text.as_bytes()).ok());
        read.ok_or_else(|| DoctorReason::NoReport.into())
    }

    /// Replaces the report. A reader's run keeps the private findings of the previous report.
    pub(crate) fn save(mut self, machine: &dyn Machine, audience: Audience) -> io::Result<()> {
        if let (Audience::Reader, Ok(before)) = (audience, Self::load(machine)) {
            self.findings.retain(|found| !is_private(found));
            self.findings.extend(before.findings.into_iter().filter(is_private));
            sort(&mut self.findings);
        }
        machine.keep(FILE, &json!(self).to_string())
    }

    pub(crate) fn answer(
        mut self,
        machine: &dyn Machine,
        audience: Audience,
    ) -> Map<String, Value> {
        if audience == Audience::Reader {
            self.findings.iter_mut().filter(|found| is_private(found)).for_each(withhold);
            sort(&mut self.findings);
        }
        let accepted = accepted(machine);
        for found in &mut self.findings {
            let sections = covering(&accepted, found);
            found.insert("accepted".to_owned(), sections.into());
        }
        let summary = summary(&self.findings);
        plugin::map([
            ("at_ms", self.at_ms.into()),
            ("took_ms", self.took_ms.into()),
            ("summary", summary.into()),
            ("findings", json!(self.findings)),
        ])
    }
}

fn text<'a>(found: &'a Map<String, Value>, key: &str) -> &'a str {
    found.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn severity(found: &Map<String, Value>) -> Severity {
    Severity::from_name(text(found, "severity")).unwrap_or(Severity::Unknown)
}

fn is_private(found: &Map<String, Value>) -> bool {
    PRIVATE.contains(&text(found, "id"))
}

/// Sorts by severity, then in the order of the table, so that the position of a withheld finding
/// does not reveal its severity.
fn sort(findings: &mut [Map<String, Value>]) {
    let place = |found: &Map<String, Value>| {
        CHECKS.iter().flat_map(|group| *group).position(|check| check.id == text(found, "id"))
    };
    config::sort::by_key(findings, |found| (std::cmp::Reverse(severity(found)), place(found)));
}

fn withhold(found: &mut Map<String, Value>) {
    let answer = crate::report::withheld(text(found, "id"));
    *found = answer;
}

/// Returns the acceptances. Empty if the configuration cannot be read.
fn accepted(machine: &dyn Machine) -> Vec<Acceptance> {
    let Some(values) = fastpath(machine) else { return Vec::new() };
    Package::new(&values).map_or_else(|_| Vec::new(), |mut package| Acceptance::read(&mut package))
}

/// Returns the sections that accept a finding. Notes and private findings cannot be accepted, the
/// latter because readers see the configuration.
fn covering(accepted: &[Acceptance], found: &Map<String, Value>) -> Vec<String> {
    let severity = severity(found);
    if !severity.asks() || is_private(found) {
        return Vec::new();
    }
    let about = found.get("about").and_then(Value::as_array).into_iter().flatten();
    let about: Vec<String> = about.filter_map(Value::as_str).map(str::to_owned).collect();
    let covers = |one: &&Acceptance| one.covers(text(found, "code"), severity, &about);
    accepted.iter().filter(covers).map(|one| one.section.clone()).collect()
}

/// Counts checks by severity. Accepted findings are counted separately.
fn summary(findings: &[Map<String, Value>]) -> Map<String, Value> {
    use Severity::{Advice, Error, Info, Ok, Unknown, Warning};
    let is_accepted = |found: &&Map<String, Value>| {
        found.get("accepted").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
    };
    let mut summary = Map::new();
    for of in [Error, Warning, Advice, Info, Unknown, Ok] {
        let these = findings.iter().filter(|found| !is_accepted(found) && severity(found) == of);
        summary.insert(of.name().to_owned(), these.count().into());
    }
    summary.insert("accepted".to_owned(), findings.iter().filter(is_accepted).count().into());
    summary
}

#[cfg(test)]
mod tests;
