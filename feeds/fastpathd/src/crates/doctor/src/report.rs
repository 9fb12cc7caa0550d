// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the checks and formats their verdicts for the API.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::audience::{Audience, WITHHELD};
use crate::checks::{CHECKS, Check, SAMPLED};
use crate::facts::{Facts, Unknown};
use crate::finding::{Finding, Fix, Severity, Verdict};
use crate::machine::Machine;
use crate::texts::{Texts, fill};

#[derive(Debug, Default)]
pub(crate) struct Report {
    verdicts: Vec<(&'static Check, Verdict)>,
}

pub(crate) fn run(
    machine: &dyn Machine,
    only: Option<&[String]>,
    sample: Duration,
    audience: Audience,
) -> Report {
    let wanted = |check: &&Check| only.is_none_or(|only| only.iter().any(|id| id == check.id));
    let checks: Vec<&Check> = CHECKS.iter().flat_map(|group| *group).filter(wanted).collect();
    let groups: Vec<&str> = checks.iter().map(|check| check.group).collect();
    // Skip the sample if no check compares two readings.
    let sampled = checks.iter().any(|check| SAMPLED.contains(&check.id));
    let sample = if sampled { sample } else { Duration::ZERO };
    let facts = Facts::gather(machine, &groups, sample, audience);
    Report { verdicts: checks.into_iter().map(|check| (check, (check.run)(&facts))).collect() }
}

impl Report {
    pub(crate) fn finding(&self, id: &str) -> Option<&Finding> {
        let (_, verdict) = self.verdicts.iter().find(|(check, _)| check.id == id)?;
        verdict.as_ref().ok()?.as_ref()
    }

    /// Removes checks without a finding, except the first one.
    #[cfg(feature = "fuzz")]
    pub(crate) fn shorten(&mut self) {
        let mut plain = 0;
        self.verdicts.retain(|(_, verdict)| {
            let found = matches!(verdict, Ok(Some(_)));
            plain += u32::from(!found);
            found || plain == 1
        });
    }

    /// Returns `findings` of the API by severity, then in the order of the table.
    pub(crate) fn findings(&self, texts: &Texts) -> Vec<Map<String, Value>> {
        let mut rated: Vec<(Severity, Map<String, Value>)> =
            self.verdicts.iter().map(|(check, verdict)| answered(check, verdict, texts)).collect();
        // The sort is stable, which keeps the order of the table.
        config::sort::by_key(&mut rated, |(severity, _)| std::cmp::Reverse(*severity));
        rated.into_iter().map(|(_, finding)| finding).collect()
    }
}

/// Returns the answer to a reader for a check with a private finding.
pub(crate) fn withheld(id: &str) -> Map<String, Value> {
    let check = CHECKS.iter().flat_map(|group| *group).find(|check| check.id == id);
    let why = Err(Unknown(WITHHELD.to_owned()));
    check.map(|check| answered(check, &why, &Texts::english()).1).unwrap_or_default()
}

fn answered(check: &Check, verdict: &Verdict, texts: &Texts) -> (Severity, Map<String, Value>) {
    let own = |key| texts.of(check.group, check.id, key);
    let (severity, mut answer) = match verdict {
        Ok(Some(finding)) => (finding.severity, found(check, finding, texts)),
        Ok(None) => (Severity::Ok, plain(check.id, own("ok"), "", &Map::new())),
        Err(why) => {
            let params = Map::from_iter([("why".to_owned(), why.to_string().into())]);
            let text = fill(texts.of("general", "unknown", "consequence"), &params);
            (Severity::Unknown, plain(check.id, own("about"), &text, &params))
        }
    };
    for (key, of) in [("id", check.id), ("group", check.group), ("severity", severity.name())] {
        answer.insert(key.to_owned(), of.into());
    }
    (severity, answer)
}

fn plain(
    code: &str,
    title: &str,
    consequence: &str,
    params: &Map<String, Value>,
) -> Map<String, Value> {
    plugin::map([
        ("code", code.into()),
        ("params", json!(params)),
        ("title", title.into()),
        ("about", json!([])),
        ("evidence", json!([])),
        ("consequence", consequence.into()),
        ("remedy", "".into()),
        ("gain", Value::Null),
        ("fix", Value::Null),
    ])
}

fn found(check: &Check, finding: &Finding, texts: &Texts) -> Map<String, Value> {
    let text = |key| texts.finding(check.group, check.id, finding, key);
    let evidence: Vec<Value> = finding
        .evidence
        .iter()
        .map(|seen| {
            json!({
                "code": seen.what, "params": seen.params(),
                "what": texts.evidence(check.group, seen),
                "value": seen.value, "source": seen.source, "cause": seen.cause,
            })
        })
        .collect();
    let fix = finding.fix.as_ref().map(|fix| match fix {
        Fix::Change(edits) => json!({"kind": "change", "label": text("fix"), "edits": edits}),
        Fix::Steps(_) => json!({"kind": "step", "label": text("fix")}),
    });
    let gain = finding.gain.map(|gain| json!({"text": text("gain"), "source": gain.source}));
    plugin::map([
        ("code", finding.code(check.id).into()),
        ("params", json!(finding.params)),
        ("title", text("title").into()),
        ("about", json!(finding.about())),
        ("evidence", evidence.into()),
        ("consequence", text("consequence").into()),
        ("remedy", text("remedy").into()),
        ("gain", json!(gain)),
        ("fix", json!(fix)),
    ])
}
