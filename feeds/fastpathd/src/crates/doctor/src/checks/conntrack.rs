// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of conntrack: settings, helpers, table size, and programs that read counters.

use serde_json::{Value, json};

use super::{Check, flowtable};
use crate::facts::conntrack::{BUCKETS, SETTINGS};
use crate::facts::others::BY_CONNTRACK;
use crate::facts::reach::reached;
use crate::facts::rules::SOURCE;
use crate::facts::walk::statements;
use crate::facts::{Facts, Unknown, word};
use crate::finding::{Finding, Fix, Severity, Verdict};

const GROUP: &str = "conntrack";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "accounting-off", group: GROUP, run: accounting },
    Check { id: "helpers-global", group: GROUP, run: helpers },
    Check { id: "conntrack-full", group: GROUP, run: full },
    Check { id: "conntrack-timeout", group: GROUP, run: timeout },
    Check { id: "conntrack-hash", group: GROUP, run: hash },
    Check { id: "conntrack-uncounted", group: GROUP, run: uncounted },
];

/// Maximum timeout without a finding, one day in seconds. The kernel's default is five days.
const MAX_TIMEOUT: u64 = 86_400;
/// `OpenWrt`'s default timeout in seconds, the minimum of RFC 5382.
const DEFAULT_TIMEOUT: u64 = 7440;
/// Maximum connections per bucket of a full table without a finding. Kernels from 5.15 on have one,
/// `OpenWrt`'s smallest devices four.
const MAX_PER_BUCKET: u64 = 8;

fn accounting(facts: &Facts) -> Verdict {
    let counts = *facts.conntrack.accounting.get()? != 0;
    let Some(condition) = health::accounting(counts) else { return Ok(None) };
    let path = format!("{SETTINGS}/nf_conntrack_acct");
    let finding = Finding::of(condition).saw("accounting", "", "0", &path);
    Ok(Some(finding.fix(Some(Fix::write(path, 1)))))
}

/// Reports readers of conntrack's counters under engine ebpf, which cannot update them.
fn uncounted(facts: &Facts) -> Verdict {
    if flowtable::engine(facts, "active")? != "ebpf" {
        return Ok(None);
    }
    let mut finding = Finding::new(Severity::Advice);
    let mut readers = Vec::new();
    if facts.others.counting.contains(BY_CONNTRACK) {
        readers.push(BY_CONNTRACK.to_owned());
        finding = finding.saw("reader", BY_CONNTRACK, "–", "/proc");
    }
    let forwards =
        |chain: &Value| matches!(word(chain, "hook"), "prerouting" | "forward" | "postrouting");
    let met = reached(&facts.rules, forwards, |_| true)?;
    for rule in met.into_iter().filter(|rule| reads_counters(rule)) {
        let chain = ["family", "table", "chain"].map(|key| word(rule, key)).join(" ");
        if !readers.contains(&chain) {
            finding = finding.saw("reader", &chain, "ct bytes", SOURCE);
            readers.push(chain);
        }
    }
    if readers.is_empty() {
        return Ok(None);
    }
    let fix = flowtable::set_engine(facts, "flowtable");
    Ok(Some(finding.with("readers", readers.join(", ")).fix(Some(fix))))
}

/// Returns whether a rule of another table matches conntrack's counters.
fn reads_counters(rule: &Value) -> bool {
    let ours = word(rule, "family") == "inet" && word(rule, "table") == "fastpath";
    let counted = |value: &Value| {
        matches!(value["left"]["ct"]["key"].as_str(), Some("bytes" | "packets" | "avgpkt"))
    };
    !ours && statements(rule).any(|(name, value)| name == "match" && counted(value))
}

fn full(facts: &Facts) -> Verdict {
    let (count, limit) = (*facts.conntrack.count.get()?, *facts.conntrack.limit.get()?);
    let Some(condition) = health::conntrack(count, limit) else { return Ok(None) };
    let path = format!("{SETTINGS}/nf_conntrack_max");
    let finding = Finding::of(condition)
        .saw("count", "", count, format!("{SETTINGS}/nf_conntrack_count"))
        .saw("limit", "", limit, &path);
    Ok(Some(finding.fix(Some(Fix::write(path, limit * 2)))))
}

fn timeout(facts: &Facts) -> Verdict {
    let seconds = *facts.conntrack.established.get()?;
    if seconds <= MAX_TIMEOUT {
        return Ok(None);
    }
    let path = format!("{SETTINGS}/nf_conntrack_tcp_timeout_established");
    let finding = Finding::new(Severity::Advice)
        .with("seconds", seconds)
        .with("days", seconds / MAX_TIMEOUT)
        .saw("timeout", "", format!("{seconds} s"), &path);
    Ok(Some(finding.fix(Some(Fix::write(path, DEFAULT_TIMEOUT)))))
}

fn hash(facts: &Facts) -> Verdict {
    let (limit, buckets) = (*facts.conntrack.limit.get()?, *facts.conntrack.buckets.get()?);
    if buckets == 0 || limit / buckets <= MAX_PER_BUCKET {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Advice)
        .with("each", limit / buckets)
        .saw("buckets", "", buckets, format!("{SETTINGS}/nf_conntrack_buckets"))
        .saw("limit", "", limit, format!("{SETTINGS}/nf_conntrack_max"));
    // With two connections per bucket, the hash needs four bytes per connection.
    Ok(Some(finding.fix(Some(Fix::write(BUCKETS, limit / 2)))))
}

/// Returns family, table and chain of rules that attach helpers.
fn attached(facts: &Facts) -> Result<Vec<String>, Unknown> {
    let rules = facts.rules.of("rule")?;
    let sets = |rule: &&&Value| {
        statements(rule).any(|(name, value)| {
            name == "ct helper" || (name == "mangle" && value["key"]["ct"]["key"] == "helper")
        })
    };
    let place = |rule: &&Value| {
        format!("{} {} {}", word(rule, "family"), word(rule, "table"), word(rule, "chain"))
    };
    Ok(rules.iter().filter(sets).map(place).collect())
}

/// Reports helpers that firewall4 attaches to zones by default. A loaded helper without a rule does
/// nothing and cannot be unloaded, because firewall4 defines an object for it.
fn helpers(facts: &Facts) -> Verdict {
    let loaded = facts.conntrack.helpers.get()?;
    let places = attached(facts)?;
    let firewall = facts.uci.firewall.get()?;
    let chosen = |name: &str| {
        firewall
            .of("zone")
            .any(|zone| zone.text("name") == Some(name) && !zone.words("helper").is_empty())
    };
    let zone = |place: &String| place.strip_prefix("inet fw4 helper_").map(str::to_owned);
    let by_default = places.iter().filter_map(zone).any(|zone| !chosen(&zone));
    let defaults = firewall.of("defaults").next();
    let Some(defaults) = defaults.filter(|of| by_default && of.is_on("auto_helper", true)) else {
        return Ok(None);
    };
    let mut finding = Finding::new(Severity::Advice).with("helpers", loaded.join(", "));
    for name in loaded {
        finding = finding.saw("helper", name, "nf_conntrack", "/proc/modules");
    }
    for place in &places {
        finding = finding.saw("attached", place, "ct helper", SOURCE);
    }
    if let Some((flows, _)) = facts.flowtable.reasons.get().ok().and_then(|of| of.get("helper")) {
        finding = finding.saw("held", "", flows, "ubus call fastpath flows");
    }
    let fix = Fix::set("firewall", &defaults.name, &json!({"auto_helper": "0"}));
    Ok(Some(finding.fix(Some(fix))))
}

#[cfg(test)]
mod tests;
