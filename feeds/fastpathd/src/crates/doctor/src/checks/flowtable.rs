// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of the flowtable and the engine.

use serde_json::{Map, Value, json};

use super::Check;
use crate::facts::flowtable::{Listed, Module, STALE};
use crate::facts::walk::is_protected;
use crate::facts::{Facts, Unknown, list, word};
use crate::finding::{Finding, Fix, Severity, Step, Verdict};
use uci::Section;

const GROUP: &str = "flowtable";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "flowtable-missing", group: GROUP, run: missing },
    Check { id: "flowtable-off", group: GROUP, run: off },
    Check { id: "flowtable-differs", group: GROUP, run: differs },
    Check { id: "flowtable-devices", group: GROUP, run: devices },
    Check { id: "flowtable-upper", group: GROUP, run: upper },
    Check { id: "flowtable-counters", group: GROUP, run: counters },
    Check { id: "flowtable-share", group: GROUP, run: share },
    Check { id: "flowtable-fw4", group: GROUP, run: fw4 },
    Check { id: "flowtable-stale", group: GROUP, run: stale },
    Check { id: "flowtable-neighbours", group: GROUP, run: neighbours },
    Check { id: "flowtable-shaped", group: GROUP, run: shaped },
    Check { id: "flowtable-headers", group: GROUP, run: headers },
    Check { id: "packet-rules", group: GROUP, run: packet_rules },
    Check { id: "policy-routing", group: GROUP, run: policy_routing },
];

/// Engine of a configuration without option `engine`.
const DEFAULT_ENGINE: &str = "flowtable";
/// Source of the gain: a flowtable compared with five chains.
const FIVE_CHAINS: &str = "docs/doctor.md, rows 6 and A";
/// The kernel's default timeout of idle entries, in seconds.
const DEFAULT_TIMEOUT: u64 = 30;
/// Minimum rate for a meaningful share, in bit/s.
const MIN_RATE: u64 = 1_000_000;
const MAX_REASONS: usize = 3;

pub(super) fn engine<'a>(facts: &'a Facts, key: &str) -> Result<&'a str, Unknown> {
    Ok(word(facts.flowtable.status.at("engine")?, key))
}

/// Returns a fix that configures an engine. If the engine is already configured but a command
/// selected another one, the fix is a call of the daemon.
pub(super) fn set_engine(facts: &Facts, engine: &str) -> Fix {
    let package = facts.uci.fastpath.get().ok();
    let main = package.and_then(|of| of.of("fastpath").next());
    let chosen = |main: &Section| {
        main.is_on("enabled", true) && main.text("engine").unwrap_or(DEFAULT_ENGINE) == engine
    };
    if let Some(main) = main.filter(|main| !chosen(main)) {
        return Fix::set("fastpath", &main.name, &json!({"enabled": "1", "engine": engine}));
    }
    let args = Map::from_iter([("set".to_owned(), engine.into())]);
    Fix::Steps(vec![Step::Call { object: "fastpath", method: "engine", args }])
}

/// Reports that the kernel lacks the flowtable module or has not loaded it.
fn missing(facts: &Facts) -> Verdict {
    let (case, fix) = match facts.flowtable.module.get()? {
        Module::There => return Ok(None),
        Module::Loadable => ("", Some(Fix::run("modprobe", &["nft_flow_offload"]))),
        Module::Missing => ("absent", None),
    };
    let finding = Finding::new(Severity::Error)
        .case(case)
        .saw("module", "nft_flow_offload", "–", "/proc/modules")
        .gain(FIVE_CHAINS);
    Ok(Some(finding.fix(fix)))
}

fn off(facts: &Facts) -> Verdict {
    if engine(facts, "wanted")? != "off" {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Warning)
        .saw("engine", "", "off", "ubus call fastpath status: engine.wanted")
        .gain(FIVE_CHAINS)
        .fix(Some(set_engine(facts, "flowtable")));
    Ok(Some(finding))
}

fn reports(facts: &Facts, code: &str) -> Result<bool, Unknown> {
    let listed = facts.flowtable.status.at("health")?.as_array();
    Ok(listed.into_iter().flatten().any(|entry| entry["code"] == code))
}

/// Reports an active engine that differs from the configured one, or a missing table.
fn differs(facts: &Facts) -> Verdict {
    let (wanted, active) = (engine(facts, "wanted")?, engine(facts, "active")?);
    let why = engine(facts, "why")?;
    let reported = reports(facts, "flowtable-differs")? || reports(facts, "nft-refused")?;
    // Check `hardware-refused` reports rejected hardware offload.
    let hardware = wanted == "flowtable-hw" && active == "flowtable";
    let listed = facts.flowtable.listed.get()?;
    let gone = active.starts_with("flowtable")
        && !listed.iter().any(|table| table.table == "inet fastpath");
    if !gone && (hardware || !reported) {
        return Ok(None);
    }
    let mut finding = Finding::new(Severity::Error)
        .case(if gone { "gone" } else { "" })
        .with("wanted", wanted)
        .with("active", active)
        .saw("engine", "", active, "ubus call fastpath status: engine.active")
        .gain(FIVE_CHAINS);
    if !why.is_empty() {
        finding = finding
            .saw("why", "", why, "ubus call fastpath status: engine.why")
            .because("engine", facts.flowtable.status.at("engine.cause")?);
    }
    if gone {
        finding = finding.saw("table", "inet fastpath", "–", "nft list flowtables");
        finding = finding.fix(Some(set_engine(facts, wanted)));
    }
    Ok(Some(finding))
}

/// Reports routing rules that engine ebpf ignores, because it routes by destination only.
fn policy_routing(facts: &Facts) -> Verdict {
    if engine(facts, "wanted")? != "ebpf" {
        return Ok(None);
    }
    let policies = list(facts.flowtable.topology.get()?, "policies");
    let mut finding = Finding::new(Severity::Warning).with("count", policies.len());
    for policy in policies {
        finding = finding.saw("policy", "", policy.as_str().unwrap_or_default(), "ip rule");
    }
    Ok(finding.fix(Some(set_engine(facts, "flowtable"))).if_seen())
}

fn links(facts: &Facts) -> Result<&[Value], Unknown> {
    Ok(list(facts.flowtable.topology.get()?, "links"))
}

/// Reports ports that could be in the flowtable but are not.
fn devices(facts: &Facts) -> Verdict {
    if !engine(facts, "active")?.starts_with("flowtable") {
        return Ok(None);
    }
    let able = |link: &&Value| link["lowest"] == true && link["up"] == true;
    let left_out = links(facts)?.iter().filter(able).filter(|link| link["in_flowtable"] == false);
    let mut finding = Finding::new(Severity::Warning);
    let mut names = Vec::new();
    for link in left_out {
        let (name, why) = (word(link, "name"), word(link, "why"));
        finding = finding
            .saw("device", name, why, "ubus call fastpath topology: links")
            .because("link", &link["cause"]);
        names.push(name);
    }
    let Some(first) = names.first() else { return Ok(None) };
    finding = finding.with("device", *first).with("devices", names.join(", "));
    let settings = facts.uci.fastpath.get()?;
    let limited = settings
        .of("fastpath")
        .find(|main| !main.words("device").is_empty() || !main.words("ignore_device").is_empty());
    if let Some(main) = limited {
        let values = json!({"device": null, "ignore_device": null});
        let fix = Fix::set("fastpath", &main.name, &values);
        finding = finding.case("settings").fix(Some(fix));
    }
    Ok(Some(finding))
}

/// Returns the flowtables of other programs, except fw4's, which has its own check.
pub(super) fn foreign(facts: &Facts) -> Result<impl Iterator<Item = &Listed>, Unknown> {
    Ok(facts.flowtable.listed.get()?.iter().filter(|of| !is_protected(&of.table)))
}

/// Reports other programs' flowtables on VLAN devices, bridges or ppp devices.
fn upper(facts: &Facts) -> Verdict {
    let links = links(facts)?;
    let is_upper = |name: &&String| {
        let link = links.iter().find(|link| link["name"] == name.as_str());
        link.is_some_and(|link| matches!(link["kind"].as_str(), Some("vlan" | "bridge" | "ppp")))
    };
    let mut finding = Finding::new(Severity::Warning);
    for flowtable in foreign(facts)? {
        let wrong: Vec<&str> =
            flowtable.devices.iter().filter(is_upper).map(String::as_str).collect();
        if !wrong.is_empty() {
            let of = format!("{} {}", flowtable.table, flowtable.name);
            finding = finding.with("flowtable", of.as_str()).with("devices", wrong.join(", "));
            finding = finding.saw("hooked", of, wrong.join(", "), "nft list flowtables");
        }
    }
    Ok(finding.if_seen())
}

/// Reports flowtables without counters, whose flows appear idle.
fn counters(facts: &Facts) -> Verdict {
    let silent: Vec<String> = foreign(facts)?
        .filter(|flowtable| !flowtable.counter)
        .map(|flowtable| format!("{} {}", flowtable.table, flowtable.name))
        .collect();
    let Some(first) = silent.first() else { return Ok(None) };
    let mut finding = Finding::new(Severity::Advice).with("flowtable", first.as_str());
    for flowtable in &silent {
        finding = finding.saw("counter", flowtable, "–", "nft list flowtables");
    }
    Ok(Some(finding))
}

/// Reports that most traffic is on the slow path although the fast path is active.
fn share(facts: &Facts) -> Verdict {
    if engine(facts, "active")? == "off" {
        return Ok(None);
    }
    let Some(now) = facts.flowtable.status.at("ratio.now")?.as_f64() else { return Ok(None) };
    let paths = facts.flowtable.status.at("paths")?.as_object().into_iter().flatten();
    let rate: u64 = paths.filter_map(|(_, path)| path["bps"].as_u64()).sum();
    if now >= 0.5 || rate < MIN_RATE {
        return Ok(None);
    }
    let percent = format!("{:.0}", now * 100.0);
    let total = facts.flowtable.status.at("ratio.total")?.as_f64().unwrap_or_default() * 100.0;
    let source = "ubus call fastpath status: ratio";
    let mut finding = Finding::new(Severity::Advice)
        .with("percent", percent.as_str())
        .saw("share-now", "", format!("{percent} %"), source)
        .saw("share-total", "", format!("{total:.0} %"), source)
        .gain(FIVE_CHAINS);
    let mut reasons: Vec<_> = facts.flowtable.reasons.get()?.iter().collect();
    config::sort::by_key(&mut reasons, |(_, (_, bytes))| std::cmp::Reverse(*bytes));
    for (reason, (flows, bytes)) in reasons.into_iter().take(MAX_REASONS) {
        let value = format!("{flows} ({} kB)", bytes / 1000);
        finding = finding.saw("reason", reason, value, "ubus call fastpath flows");
    }
    Ok(Some(finding))
}

/// Reports fw4's own offloading, which lets inspection see only handshakes.
fn fw4(facts: &Facts) -> Verdict {
    let configured = health::offloading_section(&facts.uci.firewall.get()?.values());
    let listed = facts.flowtable.listed.get().ok();
    let in_force = listed.and_then(|all| all.iter().find(|table| table.table == "inet fw4"));
    let on = configured.is_some() || in_force.is_some();
    let Some(condition) = health::firewall_offload(on) else { return Ok(None) };
    let mut finding = Finding::of(condition).case("table");
    if let Some(table) = in_force {
        let devices = table.devices.join(", ");
        let of = format!("{} {}", table.table, table.name);
        finding = finding.saw("hooked", of, devices, "nft list flowtables");
    }
    if let Some(section) = configured {
        let values = json!({"flow_offloading": "0", "flow_offloading_hw": null});
        finding = finding
            .case("")
            .saw("option", "flow_offloading", "1", "/etc/config/firewall")
            .fix(Some(Fix::set("firewall", &section, &values)));
    }
    Ok(Some(finding))
}

/// Reports timeouts that keep entries long after the last packet.
fn stale(facts: &Facts) -> Verdict {
    let long: Vec<_> =
        facts.flowtable.timeouts.iter().filter(|(_, seconds)| *seconds > STALE).collect();
    let stale = *facts.flowtable.stale.get()?;
    if long.is_empty() {
        return Ok(None);
    }
    let mut steps = Vec::new();
    let source = "ubus call fastpath flows: idle_s";
    let mut finding =
        Finding::new(Severity::Advice).with("flows", stale).saw("stale", "", stale, source);
    for (of, seconds) in long {
        let path = format!("/proc/sys/net/netfilter/nf_flowtable_{of}_timeout");
        finding =
            finding.with("seconds", *seconds).saw("timeout", of, format!("{seconds} s"), &path);
        steps.push(Step::Write { path, text: DEFAULT_TIMEOUT.to_string() });
    }
    Ok(Some(finding.fix(Some(Fix::Steps(steps)))))
}

/// Reports flows on the slow path because the kernel does not know a neighbour.
fn neighbours(facts: &Facts) -> Verdict {
    let reasons = facts.flowtable.reasons.get()?;
    let Some((flows, bytes)) = reasons.get("no-neighbour") else { return Ok(None) };
    let value = format!("{flows} ({} kB)", bytes / 1000);
    let finding = Finding::new(Severity::Advice)
        .with("flows", *flows)
        .saw("reason", "no-neighbour", value, "ubus call fastpath flows")
        .gain("docs/doctor.md, hardware");
    Ok(Some(finding))
}

/// Reports shaping above the lowest device. Its flows stay on the slow path, because offload would
/// bypass the shaping.
fn shaped(facts: &Facts) -> Verdict {
    if !engine(facts, "active")?.starts_with("flowtable") {
        return Ok(None);
    }
    let queued = links(facts)?.iter().filter(|link| !word(link, "shaped").is_empty());
    let mut finding = Finding::new(Severity::Advice);
    let mut names = Vec::new();
    for link in queued {
        let (name, queue) = (word(link, "name"), word(link, "shaped"));
        finding = finding.saw("shaped", name, queue, "ubus call fastpath topology: links");
        names.push(name);
    }
    Ok(finding.with("devices", names.join(", ")).if_seen())
}

/// Reports devices with headers that the flowtable cannot read, such as PPPoE in two VLAN tags.
fn headers(facts: &Facts) -> Verdict {
    let unread = links(facts)?.iter().filter(|link| link["cause"]["code"] == "encapsulated");
    let mut finding = Finding::new(Severity::Advice);
    let mut names = Vec::new();
    for link in unread {
        let (name, why) = (word(link, "name"), word(link, "why"));
        finding = finding
            .saw("device", name, why, "ubus call fastpath topology: links")
            .because("link", &link["cause"]);
        names.push(name);
    }
    Ok(finding.with("devices", names.join(", ")).if_seen())
}

/// Reports rules of other programs that keep flows on the slow path because they act on each
/// packet.
fn packet_rules(facts: &Facts) -> Verdict {
    let rules = list(facts.flowtable.status.at("engine")?, "packet_rules");
    let slow = facts.flowtable.reasons.get()?.get("rule-per-packet").map_or(0, |(flows, _)| *flows);
    let mut finding = Finding::new(Severity::Advice).with("count", rules.len()).with("flows", slow);
    for rule in rules.iter().filter_map(Value::as_str) {
        // The handle changes at each reload, so it is part of the value, not of the object.
        let (chain, rest) = rule.split_once(" handle ").unwrap_or((rule, ""));
        let (handle, comment) = rest.split_once(' ').unwrap_or((rest, ""));
        let of = format!("{chain} {comment}");
        let value = format!("handle {handle}");
        finding = finding.saw("packet-rule", of.trim(), value, "nft -a list ruleset");
    }
    Ok(finding.if_seen())
}

#[cfg(test)]
mod tests;
