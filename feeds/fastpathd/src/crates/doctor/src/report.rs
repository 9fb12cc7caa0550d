// SPDX-License-Identifier: GPL-2.0-or-later
//! Verdicts in words, as the API answers them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::audience::Audience;
use crate::checks::{CHECKS, Check, SAMPLED};
use crate::facts::Facts;
use crate::finding::{Finding, Fix, Severity, Verdict};
use crate::machine::Machine;
use crate::words::{Words, fill};

/// The verdicts of one look at the router.
#[derive(Debug, Default)]
pub struct Report {
    verdicts: Vec<(&'static Check, Verdict)>,
}

/// Looks at everything, or only at the checks named in `only`.
#[must_use]
pub fn run(
    machine: &dyn Machine,
    only: Option<&[String]>,
    sample: Duration,
    audience: Audience,
) -> Report {
    let wanted = |check: &&Check| only.is_none_or(|only| only.iter().any(|id| id == check.id));
    let checks: Vec<&Check> = CHECKS.iter().flat_map(|group| *group).filter(wanted).collect();
    let groups: Vec<&str> = checks.iter().map(|check| check.group).collect();
    // Nobody waits for what nobody asked for.
    let sampled = checks.iter().any(|check| SAMPLED.contains(&check.id));
    let sample = if sampled { sample } else { Duration::ZERO };
    let facts = Facts::gather(machine, &groups, sample, audience);
    Report { verdicts: checks.into_iter().map(|check| (check, (check.look)(&facts))).collect() }
}

impl Report {
    /// The finding of a check, if it has one.
    #[must_use]
    pub fn finding(&self, id: &str) -> Option<&Finding> {
        let (_, verdict) = self.verdicts.iter().find(|(check, _)| check.id == id)?;
        verdict.as_ref().ok()?.as_ref()
    }

    /// `findings` and `summary` of the API, worst first, and in the table's order among equals.
    #[must_use]
    pub fn answer(&self, words: &Words) -> Map<String, Value> {
        let mut rated: Vec<(Severity, Value)> =
            self.verdicts.iter().map(|(check, verdict)| told(check, verdict, words)).collect();
        // Few enough for any sort; this one keeps the order among equals.
        rated.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        let mut summary = Map::new();
        for severity in [
            Severity::Error,
            Severity::Warning,
            Severity::Advice,
            Severity::Info,
            Severity::Unknown,
            Severity::Ok,
        ] {
            let count = rated.iter().filter(|(of, _)| *of == severity).count();
            summary.insert(severity.name().into(), count.into());
        }
        let mut answer = Map::new();
        answer.insert("summary".into(), summary.into());
        let findings: Vec<Value> = rated.into_iter().map(|(_, finding)| finding).collect();
        answer.insert("findings".into(), findings.into());
        answer
    }
}

fn told(check: &Check, verdict: &Verdict, words: &Words) -> (Severity, Value) {
    let own = |key| words.of(check.group, check.id, key);
    let (severity, mut told) = match verdict {
        Ok(Some(finding)) => (finding.severity, in_words(check, finding, words)),
        Ok(None) => (Severity::Ok, plain(own("ok"), "")),
        Err(why) => {
            let mut params = Map::new();
            params.insert("why".into(), why.to_string().into());
            let text = fill(words.of("general", "unknown", "consequence"), &params);
            (Severity::Unknown, plain(own("about"), &text))
        }
    };
    told["id"] = check.id.into();
    told["group"] = check.group.into();
    told["severity"] = severity.name().into();
    (severity, told)
}

fn plain(title: &str, consequence: &str) -> Value {
    json!({
        "title": title, "evidence": [], "consequence": consequence, "remedy": "",
        "gain": null, "fix": null, "params": {},
    })
}

fn in_words(check: &Check, finding: &Finding, words: &Words) -> Value {
    let text = |key| words.finding(check.group, check.id, finding, key);
    let evidence: Vec<Value> = finding
        .evidence
        .iter()
        .map(|seen| {
            let what = words.evidence(check.group, seen);
            json!({"what": what, "value": seen.value, "source": seen.source})
        })
        .collect();
    let fix = finding.fix.as_ref().map(|fix| match fix {
        Fix::Change(edits) => json!({"kind": "change", "label": text("fix"), "edits": edits}),
        Fix::Steps(_) => json!({"kind": "step", "label": text("fix")}),
    });
    json!({
        "title": text("title"),
        "evidence": evidence,
        "consequence": text("consequence"),
        "remedy": text("remedy"),
        "gain": finding.gain.map(|gain| json!({"text": text("gain"), "source": gain.source})),
        "fix": fix,
        "params": finding.params,
    })
}
