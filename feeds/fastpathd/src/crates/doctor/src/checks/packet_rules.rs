// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of the packet rules on the slow path.

use super::Check;
use crate::facts::rules::SOURCE;
use crate::facts::walk::{Walk, forward, has_no_effect};
use crate::facts::{Facts, Unknown};
use crate::finding::{Finding, Fix, Severity, Step, Verdict};

const GROUP: &str = "rules";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "legacy-tables", group: GROUP, run: legacy },
    Check { id: "forward-deep", group: GROUP, run: deep },
    Check { id: "established-late", group: GROUP, run: late },
];

/// Tables that are not counted.
const OWN_TABLES: &[&str] = &["fastpath"];
/// Maximum chains of an established packet without a finding. firewall4 needs one for its MSS rules
/// and one for the established rule.
const MAX_CHAINS: usize = 3;
/// Maximum rules of an established packet without a finding.
const MAX_RULES: usize = 12;
/// Maximum rules before the established rule without a finding, such as firewall4's flow rule.
const MAX_RULES_BEFORE: usize = 3;
/// Source of the gain: no rules (row 3) compared with five chains (row 6).
const FIVE_CHAINS: &str = "docs/doctor.md, rows 3 and 6";

fn legacy(facts: &Facts) -> Verdict {
    let mut finding = Finding::new(Severity::Warning);
    let mut rules = 0;
    for table in &facts.rules.legacy {
        rules += table.rules.unwrap_or_default();
        let size = table.rules.map_or("?".to_owned(), |rules| rules.to_string());
        let of = format!("{} {}", table.family, table.name);
        finding = finding.saw("legacy", of, size, table.source);
    }
    let finding = finding.with("tables", facts.rules.legacy.len()).with("rules", rules);
    Ok(finding.gain(FIVE_CHAINS).if_seen())
}

/// Adds the current cost: packets per second on the slow path times rules.
fn cost(facts: &Facts, finding: Finding, rules: usize) -> Finding {
    let finding = finding.with("rules", rules);
    let status = facts.flowtable.status.get();
    let Some(pps) = status.ok().and_then(|status| status["paths"]["slow"]["pps"].as_u64()) else {
        return finding;
    };
    let value = format!("{pps} × {rules} = {}", pps * rules as u64);
    finding.saw("cost", "", value, "ubus call fastpath status: paths.slow.pps")
}

fn with_walk(finding: Finding, walk: &Walk) -> Finding {
    let of = format!("{} {}", walk.table, walk.chain);
    let mut value = format!("{} / {}", walk.rules, walk.chains);
    if let Some(packets) = walk.packets {
        value = format!("{value}, {packets} × {} = {}", walk.rules, packets * walk.rules as u64);
    }
    finding.saw("walk", of, value, SOURCE)
}

/// Returns a fix that deletes the tables of `walks`. `None` if one of them has an effect on
/// packets.
fn deletion(facts: &Facts, walks: &[&Walk]) -> Result<Option<Fix>, Unknown> {
    let mut steps = Vec::new();
    for walk in walks {
        let (family, name) = walk.table.split_once(' ').unwrap_or_default();
        if !has_no_effect(&facts.rules, family, name)? {
            return Ok(None);
        }
        steps.extend(
            ["list", "delete"].map(|verb| Step::run("nft", &[verb, "table", family, name])),
        );
    }
    Ok((!steps.is_empty()).then_some(Fix::Steps(steps)))
}

/// Reports that packets of established connections pass many chains or rules.
fn deep(facts: &Facts) -> Verdict {
    let walks = forward(&facts.rules, OWN_TABLES)?;
    let long: Vec<&Walk> =
        walks.iter().filter(|walk| walk.chains > MAX_CHAINS || walk.rules > MAX_RULES).collect();
    let Some(first) = long.first() else { return Ok(None) };
    let chains: usize = long.iter().map(|walk| walk.chains).sum();
    let rules = long.iter().map(|walk| walk.rules).sum();
    let mut finding =
        Finding::new(Severity::Warning).with("table", first.table.as_str()).with("chains", chains);
    for walk in &long {
        finding = with_walk(finding, walk);
    }
    let fix = deletion(facts, &long)?;
    let case = if fix.is_some() { "idle" } else { "" };
    Ok(Some(cost(facts, finding.case(case).gain(FIVE_CHAINS), rules).fix(fix)))
}

/// Reports that rules precede the rule for established connections.
fn late(facts: &Facts) -> Verdict {
    let walks = forward(&facts.rules, OWN_TABLES)?;
    let late: Vec<&Walk> =
        walks.iter().filter(|walk| walk.shortcut && walk.rules > MAX_RULES_BEFORE + 1).collect();
    let Some(first) = late.first() else { return Ok(None) };
    let mut finding = Finding::new(Severity::Advice)
        .with("table", first.table.as_str())
        .with("chain", first.chain.as_str())
        .with("before", first.rules - 1);
    for walk in &late {
        finding = with_walk(finding, walk);
    }
    let fix = deletion(facts, &late)?;
    let case = if fix.is_some() { "idle" } else { "" };
    Ok(Some(cost(facts, finding.case(case), first.rules - 1).fix(fix)))
}

#[cfg(test)]
mod tests;
