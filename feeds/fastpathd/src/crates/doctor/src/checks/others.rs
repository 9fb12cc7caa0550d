// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of hosts and programs that affect offloaded flows: roaming, flowtables of other programs,
//! shared mark bits (mwan3, pbr), and SQM.

use serde_json::Value;
use uci::Package;

use super::Check;
use super::flowtable::{engine, foreign, set_engine};
use crate::facts::{Facts, list, word};
use crate::finding::{Finding, Severity, Verdict};

const GROUP: &str = "flowtable";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "hosts-roam", group: GROUP, run: roaming },
    Check { id: "flowtable-foreign", group: GROUP, run: foreign_flowtable },
    Check { id: "marks-shared", group: GROUP, run: marks },
    Check { id: "sqm-hardware", group: GROUP, run: sqm },
];

/// Maximum moves of a host per hour without a finding, enough for a house with several access
/// points.
const MAX_MOVES: u64 = 10;
/// Default of option `mark_mask`.
const FASTPATH_MASK: u32 = 0x7800_0000;
const MWAN3_MASK: u32 = 0x3f00;
const PBR_MASK: u32 = 0x00ff_0000;

/// Reports hosts that roam so often that the flowtable is renewed all the time. Engine `ebpf` is
/// not affected, because it removes only flows of the host.
fn roaming(facts: &Facts) -> Verdict {
    if !engine(facts, "active")?.starts_with("flowtable") {
        return Ok(None);
    }
    let hosts = list(facts.flowtable.topology.get()?, "roaming");
    let often = hosts.iter().filter(|host| host["moves"].as_u64() > Some(MAX_MOVES));
    let mut finding = Finding::new(Severity::Warning);
    let mut names = Vec::new();
    let mut most = 0;
    for host in often {
        let addresses: Vec<&str> =
            list(host, "addresses").iter().filter_map(Value::as_str).collect();
        let moves = host["moves"].as_u64().unwrap_or_default();
        let value = format!("{moves}: {} → {}", word(host, "from"), word(host, "to"));
        let source = "ubus call fastpath topology: roaming";
        let name = addresses.first().copied().unwrap_or_else(|| word(host, "mac"));
        let of = if addresses.is_empty() { name.to_owned() } else { addresses.join(", ") };
        finding = finding.saw("moves", of, value, source);
        names.push(name);
        most = most.max(moves);
    }
    Ok(finding.with("hosts", names.join(", ")).with("moves", most).if_seen())
}

/// Reports another program's flowtable, which may get flows instead of ours.
fn foreign_flowtable(facts: &Facts) -> Verdict {
    if engine(facts, "wanted")? == "off" {
        return Ok(None);
    }
    let mut finding = Finding::new(Severity::Warning);
    // A flowtable without a device forwards nothing.
    for flowtable in foreign(facts)?.filter(|flowtable| !flowtable.devices.is_empty()) {
        let of = format!("{} {}", flowtable.table, flowtable.name);
        if flowtable.hardware {
            finding = finding.case("hardware");
        }
        finding = finding.with("flowtable", of.as_str()).with("table", flowtable.table.as_str());
        finding = finding.saw("hooked", of, flowtable.devices.join(", "), "nft list flowtables");
    }
    Ok(finding.if_seen())
}

/// Reports programs that store routing decisions in mark bits which fastpath's rules clear.
fn marks(facts: &Facts) -> Verdict {
    let (mwan3, pbr) = (facts.others.mwan3.get()?.as_ref(), facts.others.pbr.get()?.as_ref());
    let settings = facts.uci.fastpath.get()?;
    let main = settings.of("fastpath").next();
    let ours = main.and_then(|main| main.text("mark_mask")).and_then(mask).unwrap_or(FASTPATH_MASK);
    let of = |package: Option<&Package>, kind: &str, option: &str, default: u32| {
        let section = package?.of(kind).next();
        Some(section.and_then(|section| section.text(option)).and_then(mask).unwrap_or(default))
    };
    let found = [
        ("mwan3", "mmx_mask", of(mwan3, "globals", "mmx_mask", MWAN3_MASK)),
        ("pbr", "fw_mask", of(pbr, "pbr", "fw_mask", PBR_MASK).filter(|_| is_pbr_enabled(pbr))),
    ];
    let mut finding = Finding::new(Severity::Error);
    for (program, option, theirs) in found {
        let Some(theirs) = theirs.filter(|theirs| theirs & ours != 0) else { continue };
        let source = format!("/etc/config/{program}");
        finding = finding.with("program", program).with("option", option);
        finding = finding.saw("option", option, format!("{theirs:#010x}"), source);
        let source = "/etc/config/fastpath";
        finding = finding.saw("option", "mark_mask", format!("{ours:#010x}"), source);
    }
    Ok(finding.if_seen())
}

fn is_pbr_enabled(pbr: Option<&Package>) -> bool {
    let main = pbr.and_then(|package| package.of("pbr").next());
    main.is_some_and(|main| main.is_on("enabled", false))
}

/// Parses a hexadecimal mask. pbr may omit the prefix `0x`.
fn mask(text: &str) -> Option<u32> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    u32::from_str_radix(hex.unwrap_or(text), 16).ok()
}

/// Reports SQM with hardware offload, which bypasses the kernel's queues.
fn sqm(facts: &Facts) -> Verdict {
    if engine(facts, "active")? != "flowtable-hw" {
        return Ok(None);
    }
    let mut finding = Finding::new(Severity::Warning);
    let mut names = Vec::new();
    for queue in facts.others.sqm.get()?.iter().flat_map(|package| package.of("queue")) {
        if queue.is_on("enabled", false) {
            let device = queue.text("interface").unwrap_or(&queue.name);
            finding = finding.saw("option", "enabled", device, "/etc/config/sqm");
            names.push(device);
        }
    }
    let finding = finding.with("devices", names.join(", "));
    Ok(finding.fix(Some(set_engine(facts, "flowtable"))).if_seen())
}

#[cfg(test)]
mod tests;
