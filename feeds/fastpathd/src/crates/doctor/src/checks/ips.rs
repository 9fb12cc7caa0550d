// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of Suricata: mode, queues, version, packet loss, rules, threads, encrypted share.

use serde_json::{Value, json};

use super::Check;
use crate::facts::cpu::cpus;
use crate::facts::ips::{PROGRAM, QUEUES, SuricataProcess};
use crate::facts::{Facts, Unknown, list, word};
use crate::finding::{Finding, Fix, Severity, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "ips-watching", group: "ips", run: watching },
    Check { id: "ips-away", group: "ips", run: away },
    Check { id: "ips-queue-unread", group: "ips", run: unread },
    Check { id: "ips-end-of-life", group: "ips", run: end_of_life },
    Check { id: "ips-drops", group: "ips", run: drops },
    Check { id: "ips-uninspected", group: "ips", run: uninspected },
    Check { id: "ips-rules", group: "ips", run: rules },
    Check { id: "ips-threads", group: "ips", run: threads },
    Check { id: "ips-encrypted", group: "ips", run: encrypted },
];

const STATE: &str = "ubus call fastpath ips";
const DAY: u64 = 24 * 3600 * 1000;
/// Maximum age of the last check of rule sources without a finding, in days. The page uses the same
/// limit (`ui/src/lib/protection/state.ts`).
const OLD_DAYS: u64 = 7;
/// Maximum age of the last check of rule sources without a warning, in days.
const VERY_OLD_DAYS: u64 = 30;
/// Minimum number of uninspected packets for a recommendation.
const MIN_UNINSPECTED: u64 = 1000;

/// Major version of Suricata, end of its support in Unix ms, and the date.
/// <https://suricata.io/our-story/eol-policy/>: "6.0.x: end of life since August 1st, 2024",
/// "7.0.x: supported until July 2026". A series ends three years after its first stable release,
/// and 8.0.0 was released on 8 July 2025.
const ENDS: &[(u64, u64, &str)] = &[
    (6, 1_722_470_400_000, "2024-08-01"),
    (7, 1_782_864_000_000, "2026-07-01"),
    (8, 1_846_627_200_000, "2028-07-08"),
];
const POLICY: &str = "https://suricata.io/our-story/eol-policy/";

/// Reports that Suricata gets copies of packets and cannot drop.
fn watching(facts: &Facts) -> Verdict {
    let enabled = facts.ips.enabled()?;
    let mode = facts.ips.state.at("mode")?;
    if enabled && mode == "ids" {
        let finding = Finding::new(Severity::Warning)
            .saw("mode", "", "ids", "/etc/config/fastpath, ips.mode")
            .gain("docs/doctor.md, inspection");
        return Ok(Some(finding.fix(Some(Fix::set("fastpath", "ips", &json!({"mode": "nfq"}))))));
    }
    let unmanaged = |running: &&SuricataProcess| running.capture_argument().is_some();
    let Some(running) = facts.ips.running.iter().find(unmanaged).filter(|_| !enabled) else {
        return Ok(None);
    };
    let argument = running.capture_argument().unwrap_or_default();
    let path = format!("/proc/{}/cmdline", running.pid);
    let finding = Finding::new(Severity::Warning)
        .case("other")
        .saw("argument", &running.pid, argument, path)
        .with("argument", argument)
        .gain("docs/doctor.md, inspection");
    let fix = Fix::set("fastpath", "ips", &json!({"enabled": "1", "mode": "nfq"}));
    Ok(Some(finding.fix(Some(fix))))
}

/// Reports enabled inspection that is not inline.
fn away(facts: &Facts) -> Verdict {
    if !facts.ips.enabled()? {
        return Ok(None);
    }
    let state = facts.ips.state.at("state")?.as_str().unwrap_or_default();
    let Some((case, severity)) = health::inspection(state) else { return Ok(None) };
    let why = facts.ips.state.at("why")?.as_str().unwrap_or_default();
    let passes = facts.ips.state.at("cause.code")? == "queue-full-open";
    let severity = if passes { Severity::Error } else { severity };
    let refused = facts.ips.state.at("suricata.refused")?.as_str().unwrap_or_default();
    let mut finding = Finding::new(severity)
        .case(case)
        .saw("state", "", state, STATE)
        .saw("why", "", why, STATE)
        .because("ips", facts.ips.state.at("cause")?)
        .with("why", why);
    if !refused.is_empty() {
        finding = finding.saw("refused", "", refused, "/var/etc/suricata/refused");
    }
    Ok(Some(finding))
}

fn unread(facts: &Facts) -> Verdict {
    let works = matches!(facts.ips.state.at("state")?.as_str(), Some("inline" | "inline-degraded"));
    if !facts.ips.enabled()? || facts.ips.state.at("mode")? != "nfq" || !works {
        return Ok(None);
    }
    let planned = list(facts.ips.state.get()?, "queues");
    let numbers = planned.iter().filter_map(|queue| queue["queue"].as_u64());
    let read = |number: &u64| facts.ips.queues.iter().any(|queue| queue.number == *number);
    let unread: Vec<u64> = numbers.filter(|number| !read(number)).collect();
    let mut finding = Finding::new(Severity::Error).with("count", unread.len());
    for number in unread {
        finding = finding.saw("unread", number, "-", QUEUES);
    }
    Ok(finding.if_seen())
}

/// Reports a Suricata series without support, or with less than 90 days of support.
fn end_of_life(facts: &Facts) -> Verdict {
    let Some(said) = &facts.ips.version else { return Ok(None) };
    // "This is Suricata version 8.0.6 RELEASE"
    let said = said.get()?;
    let word = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let version = word.unwrap_or_default();
    let major: u64 =
        version.split('.').next().and_then(|word| word.parse().ok()).ok_or_else(|| {
            Unknown(format!("{PROGRAM} -V prints '{}', without a version", said.trim()))
        })?;
    // Versions older than the table have the end of its oldest row.
    let row =
        ENDS.iter().find(|row| row.0 >= major).filter(|row| row.0 == major || major < ENDS[0].0);
    let Some(&(_, end, date)) = row else { return Ok(None) };
    // The build time replaces a clock that was never set.
    let now = facts.system.now_ms.max(super::system::BUILT_MS);
    let severity = match () {
        () if now >= end => Severity::Warning,
        () if now + 90 * DAY >= end => Severity::Advice,
        () => return Ok(None),
    };
    let finding = Finding::new(severity)
        .saw("version", "", version, "suricata -V")
        .saw("end", format!("{major}.x"), date, POLICY)
        .with("version", version)
        .with("date", date);
    Ok(Some(finding))
}

/// Reports packets without a verdict because a queue was full.
fn drops(facts: &Facts) -> Verdict {
    let lost = |queue: &crate::facts::ips::Queue| queue.full + queue.reader;
    let queues: Vec<_> = facts.ips.queues.iter().filter(|queue| lost(queue) > 0).collect();
    let (dropped, given) =
        queues.iter().fold((0, 0), |sum, queue| (sum.0 + lost(queue), sum.1 + queue.given));
    if dropped == 0 {
        return Ok(None);
    }
    // A burst at the start of a connection may lose one packet in a thousand.
    let often = dropped * 1000 > given + dropped;
    let severity = if often { Severity::Warning } else { Severity::Info };
    let mut finding = Finding::new(severity).with("lost", dropped).with("given", given);
    for queue in queues {
        let value = format!("{} / {}", lost(queue), queue.given);
        finding = finding.saw("lost", queue.number, value, QUEUES);
    }
    Ok(Some(finding))
}

/// Reports packets that passed without inspection while Suricata was not running.
fn uninspected(facts: &Facts) -> Verdict {
    let packets = facts.ips.state.at("counters.uninspected_packets")?.as_u64().unwrap_or(0);
    let inspected = facts.ips.state.at("counters.inspected_packets")?.as_u64().unwrap_or(0);
    if !facts.ips.enabled()? || packets == 0 {
        return Ok(None);
    }
    let fail = facts.ips.state.at("fail")?.as_str().unwrap_or_default();
    // Shortly after the start of Suricata, few packets have a large share, so both limits apply.
    let often = packets >= MIN_UNINSPECTED && packets * 100 > inspected + packets;
    let severity = if often { Severity::Advice } else { Severity::Info };
    let finding = Finding::new(severity)
        .saw("uninspected", "", packets, STATE)
        .saw("inspected", "", inspected, STATE)
        .saw("fail", "", fail, "/etc/config/fastpath, ips.fail")
        .with("packets", packets);
    Ok(Some(finding))
}

/// Reports rules that are old or could not be updated.
fn rules(facts: &Facts) -> Verdict {
    if !facts.ips.enabled()? {
        return Ok(None);
    }
    let text = |field: &str| Ok(facts.ips.state.at(field)?.as_str().unwrap_or_default().to_owned());
    let state: String = text("rules.state")?;
    let message: String = text("rules.message")?;
    // Use the time of the last check, because sources may have no updates for a long time.
    let checked = facts.ips.state.at("rules.checked_ms")?.as_u64().unwrap_or(0);
    let loaded = facts.ips.state.at("rules.loaded")?.as_u64().unwrap_or(0).to_string();
    let days = facts.system.now_ms.saturating_sub(checked) / DAY;
    let (case, severity) = match state.as_str() {
        "failed" => ("failed", Severity::Warning),
        _ if checked == 0 => ("builtin", Severity::Warning),
        _ if days > VERY_OLD_DAYS => ("", Severity::Warning),
        _ if days > OLD_DAYS => ("", Severity::Advice),
        _ => return Ok(None),
    };
    let mut finding = Finding::new(severity)
        .case(case)
        .saw("rules", "", state, STATE)
        .saw("loaded", "", loaded, STATE)
        .with("days", days)
        .with("message", message.as_str());
    if checked > 0 {
        finding = finding.saw("age", "", days, STATE);
    }
    if !message.is_empty() {
        // An update's message contains the messages of its sources.
        let mut reported = facts.ips.state.at("rules.cause")?.clone();
        if reported.is_object() {
            reported["sources"] = facts.ips.state.at("rules.sources")?.clone();
        }
        finding = finding.saw("message", "", message, STATE).because("rules", &reported);
    }
    Ok(Some(finding))
}

/// Reports threads of Suricata that may run on a forwarding CPU.
fn threads(facts: &Facts) -> Verdict {
    let pinned = facts.cpu.plan.at("suricata")?["pinned"] == true;
    let allowed = |key: &str| {
        let list = facts.cpu.plan.at("suricata").map(|of| of[key].as_str().map(cpus));
        list.ok().flatten().unwrap_or_default()
    };
    let own = [allowed("management"), allowed("workers")].concat();
    let forwarding = forwarding(facts)?;
    let mut finding = Finding::new(Severity::Warning);
    let mut strayed = 0;
    for thread in facts.ips.running.iter().flat_map(|running| &running.threads) {
        // With two CPUs, the plan may put management on the forwarding CPU.
        let strays =
            |cpu: u32| if pinned { !own.contains(&cpu) } else { forwarding.contains(&cpu) };
        if cpus(&thread.cpus).into_iter().any(strays) {
            strayed += 1;
            if strayed <= 8 {
                finding = finding.saw("thread", &thread.name, &thread.cpus, "/proc/PID/task");
            }
        }
    }
    if strayed == 0 {
        return Ok(None);
    }
    let list: Vec<String> = forwarding.iter().map(ToString::to_string).collect();
    let finding = finding
        .saw("forwarding", "", list.join(","), "ubus call fastpath cpu")
        .with("count", strayed)
        .gain("docs/BENCHMARKS.md, CPU plan");
    let off = facts.cpu.plan.at("enabled")? == false;
    Ok(Some(finding.fix(off.then(super::cpu::enable))))
}

/// Returns the CPUs to which the plan or masks steer packets. Empty if packets arrive on all CPUs.
fn forwarding(facts: &Facts) -> Result<Vec<u32>, Unknown> {
    let plan = facts.cpu.plan.get()?;
    let planned = list(plan, "cpus");
    if facts.cpu.plan.at("active")? == true {
        let forwards = planned.iter().filter(|cpu| cpu["role"] == "forwarding");
        return Ok(forwards.filter_map(|cpu| u32::try_from(cpu["cpu"].as_u64()?).ok()).collect());
    }
    let mut found = Vec::new();
    for device in list(plan, "devices") {
        for kind in ["irqs", "rps"] {
            for at in list(device, kind).iter().filter(|at| receives(at)) {
                found.extend(cpus(word(at, "have")));
            }
        }
    }
    config::sort::values(&mut found);
    found.dedup();
    if found.len() >= planned.len() {
        found.clear();
    }
    Ok(found)
}

/// Returns whether an interrupt or queue receives packets. Names such as `virtio4-output.0`,
/// `eth0-tx-1` and `virtio4-config` do not.
fn receives(at: &Value) -> bool {
    let name = word(at, "name").to_ascii_lowercase();
    let sends = name.contains("output") || (name.contains("tx") && !name.contains("rx"));
    !sends && !name.ends_with("config")
}

/// Reports that most bytes of ended flows were encrypted.
fn encrypted(facts: &Facts) -> Verdict {
    let visible = list(facts.ips.state.get()?, "visible");
    let bytes = |kind: &str| {
        let of = visible.iter().find(|of| of["kind"] == kind);
        of.and_then(|of| of["bytes"].as_u64()).unwrap_or(0)
    };
    let (plain, tls, dark) = (bytes("plain"), bytes("tls"), bytes("encrypted"));
    let all = plain + tls + dark;
    if !facts.ips.enabled()? || all == 0 || (tls + dark) * 2 < all {
        return Ok(None);
    }
    let share = (tls + dark) * 100 / all;
    let mut finding = Finding::new(Severity::Info).with("share", share);
    for (kind, bytes) in [("plain", plain), ("tls", tls), ("encrypted", dark)] {
        finding = finding.saw(kind, "", format!("{bytes} B"), STATE);
    }
    Ok(Some(finding))
}

#[cfg(test)]
mod tests;
