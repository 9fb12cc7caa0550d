// SPDX-License-Identifier: GPL-2.0-or-later
//! The last report of all checks, kept in a file of root's until the next boot: what of it a reader
//! gets, which findings are accepted, and the summary.

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

/// Root's alone: it has findings that only administrators see. The daemon sees the time of its last
/// change.
pub(crate) const FILE: &str = "/var/run/fastpath-doctor.json";

/// The findings of one run, before acceptance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// When it began, Unix ms.
    pub at_ms: u64,
    /// How long it took.
    pub took_ms: u64,
    /// Worst first.
    pub findings: Vec<Map<String, Value>>,
}

impl Kept {
    /// The last one.
    ///
    /// # Errors
    /// There is none since the boot.
    pub(crate) fn load(machine: &dyn Machine) -> Result<Self, Refusal> {
        let text = machine.read(FILE).ok();
        let read = text.and_then(|text| serde_json::from_str(&text).ok());
        read.ok_or_else(|| DoctorReason::NoReport.into())
    }

    /// In place of the one before. Findings that its reader must not see stay as found last.
    pub(crate) fn save(mut self, machine: &dyn Machine, audience: Audience) -> io::Result<()> {
        if let (Audience::Reader, Ok(before)) = (audience, Self::load(machine)) {
            self.findings.retain(|found| !is_private(found));
            self.findings.extend(before.findings.into_iter().filter(is_private));
            sort(&mut self.findings);
        }
        machine.keep(FILE, &json!(self).to_string())
    }

    /// The answer of the API, as `audience` may see it.
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

/// Worst first, and in the table's order among equals: the place of a withheld finding must not
/// reveal how severe it is.
fn sort(findings: &mut [Map<String, Value>]) {
    let place = |found: &Map<String, Value>| {
        CHECKS.iter().flat_map(|group| *group).position(|check| check.id == text(found, "id"))
    };
    findings.sort_by_key(|found| (std::cmp::Reverse(severity(found)), place(found)));
}

/// As the check itself answers a reader.
fn withhold(found: &mut Map<String, Value>) {
    let answer = crate::report::withheld(text(found, "id"));
    *found = answer;
}

/// A configuration that cannot be read accepts nothing.
fn accepted(machine: &dyn Machine) -> Vec<Acceptance> {
    let Some(values) = fastpath(machine) else { return Vec::new() };
    Package::new(&values).map_or_else(|_| Vec::new(), |mut package| Acceptance::read(&mut package))
}

/// Names of the sections that accept a finding. Only one that asks for something can be, and no
/// private one: a reader would see it in the configuration.
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

/// Checks by result; accepted findings count as such only.
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
#[path = "kept_tests.rs"]
mod tests;
