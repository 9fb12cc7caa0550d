// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of offloads, rings and queues of ports.

use serde_json::{Value, json};

use super::Check;
use super::flowtable::set_engine;
use crate::facts::ports::Port;
use crate::facts::{Facts, Unknown, list, word};
use crate::finding::{Finding, Fix, Severity, Step, Verdict, set};
use crate::machine::Ethtool;

const GROUP: &str = "offload";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "gro-off", group: GROUP, run: gro },
    Check { id: "segmentation-off", group: GROUP, run: segmentation },
    Check { id: "checksum-off", group: GROUP, run: checksum },
    Check { id: "lro-on", group: GROUP, run: lro },
    Check { id: "rx-hash-off", group: GROUP, run: rx_hash },
    Check { id: "rings-small", group: GROUP, run: rings },
    Check { id: "queues-few", group: GROUP, run: queues },
    Check { id: "hw-tc-off", group: GROUP, run: hw_tc },
    Check { id: "hardware-refused", group: GROUP, run: hardware },
    Check { id: "hardware-unbound", group: GROUP, run: unbound },
];

/// Source of the gain: offloads with a flowtable at MTU 1500.
const OFFLOAD_GAIN: &str = "docs/doctor.md, rows A and B";
/// Minimum number of descriptors. A burst at line rate overflows a smaller ring before the next
/// poll.
const MIN_RING: u32 = 256;
/// Maximum flows in the evidence.
const MAX_LOST: usize = 5;

const SEGMENTATION: &[&str] = &[
    "tx-generic-segmentation",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
];
const CHECKSUM: &[&str] = &["rx-checksum", "tx-checksum-ip-generic", "tx-checksum-ipv4"];

/// Returns all ports with their offloads. Fails if the offloads of a port are unknown.
fn known(facts: &Facts) -> Result<Vec<(&Port, &Ethtool)>, Unknown> {
    let mut found = Vec::new();
    for port in facts.ports.all.get()? {
        found.push((port, port.ethtool.get()?));
    }
    Ok(found)
}

fn named(finding: Finding, ports: &[&str]) -> Finding {
    let mut ports = ports.to_vec();
    ports.dedup();
    finding.with("ports", ports.join(", "))
}

/// Reports changeable offloads that are switched `wrong`. The fix lasts until the next boot.
fn switched(
    facts: &Facts,
    features: &[&'static str],
    wrong: bool,
    severity: Severity,
) -> Result<Option<Finding>, Unknown> {
    let (mut finding, mut ports, mut steps) = (Finding::new(severity), Vec::new(), Vec::new());
    for (port, ethtool) in known(facts)? {
        for feature in features.iter().copied() {
            let now = ethtool.feature(feature);
            if now.on != wrong || now.wanted != wrong || now.fixed {
                continue;
            }
            let value = if now.on { "on" } else { "off" };
            let source = format!("ethtool -k {} ({})", port.name, port.driver);
            finding = finding.saw("feature", format!("{}: {feature}", port.name), value, source);
            ports.push(port.name.as_str());
            steps.push(Step::Feature { device: port.name.clone(), feature, on: !wrong });
        }
    }
    Ok(named(finding, &ports).fix(Some(Fix::Steps(steps))).if_seen())
}

/// Reports disabled GRO, without which each frame is processed separately. The fix uses netifd's
/// option `gro`.
fn gro(facts: &Facts) -> Verdict {
    let Some(finding) = switched(facts, &["rx-gro"], false, Severity::Warning)? else {
        return Ok(None);
    };
    let edits: Vec<Value> = match (&finding.fix, facts.uci.network.get()) {
        (Some(Fix::Steps(steps)), Ok(network)) => {
            let ports = steps.iter().filter_map(|step| match step {
                Step::Feature { device, .. } => Some(device.as_str()),
                _ => None,
            });
            ports
                .map(|port| match network.find("device", "name", port) {
                    Some(section) => set("network", &section.name, &json!({"gro": "1"})),
                    None => json!({
                        "op": "add", "config": "network", "type": "device",
                        "values": {"name": port, "gro": "1"},
                    }),
                })
                .collect()
        }
        _ => return Ok(Some(finding.case("step").gain(OFFLOAD_GAIN))),
    };
    Ok(Some(finding.gain(OFFLOAD_GAIN).fix(Some(Fix::Change(edits)))))
}

fn segmentation(facts: &Facts) -> Verdict {
    let finding = switched(facts, SEGMENTATION, false, Severity::Advice)?;
    Ok(finding.map(|finding| finding.gain(OFFLOAD_GAIN)))
}

fn checksum(facts: &Facts) -> Verdict {
    switched(facts, CHECKSUM, false, Severity::Advice)
}

/// Reports enabled LRO. Frames that a NIC has merged cannot be forwarded unchanged.
fn lro(facts: &Facts) -> Verdict {
    switched(facts, &["rx-lro"], true, Severity::Warning)
}

/// Reports a disabled receive hash, which software then has to compute.
fn rx_hash(facts: &Facts) -> Verdict {
    switched(facts, &["rx-hashing"], false, Severity::Advice)
}

fn rings(facts: &Facts) -> Verdict {
    let (mut finding, mut ports) = (Finding::new(Severity::Advice), Vec::new());
    for (port, ethtool) in known(facts)? {
        let Some(rings) = ethtool.rings else { continue };
        if rings.rx >= rings.rx_max || (rings.rx >= MIN_RING && port.missed == 0) {
            continue;
        }
        let source = format!("ethtool -g {}", port.name);
        let value = format!("{} / {}", rings.rx, rings.rx_max);
        finding = finding.saw("ring", &port.name, value, source);
        if port.missed > 0 {
            let source = format!("/sys/class/net/{}/statistics", port.name);
            finding = finding.saw("missed", &port.name, port.missed, source);
        }
        finding = finding.with("rx", rings.rx).with("most", rings.rx_max);
        ports.push(port.name.as_str());
    }
    Ok(named(finding, &ports).if_seen())
}

fn queues(facts: &Facts) -> Verdict {
    let (mut finding, mut ports) = (Finding::new(Severity::Advice), Vec::new());
    for (port, ethtool) in known(facts)? {
        let Some(queues) = ethtool.channels else { continue };
        let could = queues.rx_max.min(facts.ports.cpus);
        if queues.rx >= could {
            continue;
        }
        let value = format!("{} / {}", queues.rx, queues.rx_max);
        let source = format!("ethtool -l {}", port.name);
        finding = finding.with("queues", queues.rx).with("most", could);
        finding = finding.saw("queues", &port.name, value, source);
        ports.push(port.name.as_str());
    }
    let gain = "docs/doctor.md, rows 6 and 7";
    Ok(named(finding, &ports).gain(gain).if_seen())
}

fn hw_tc(facts: &Facts) -> Verdict {
    let finding = switched(facts, &["hw-tc-offload"], false, Severity::Advice)?;
    Ok(finding.map(|finding| finding.gain("docs/doctor.md, hardware")))
}

/// Reports configured hardware offload that is rejected, unused, or not supported by all ports.
/// `OpenWrt`'s kernel accepts ports without support.
fn hardware(facts: &Facts) -> Verdict {
    let status = facts.flowtable.status.get()?;
    let engine = &status["engine"];
    if engine["wanted"] != "flowtable-hw" {
        return Ok(None);
    }
    let accepted = engine["active"] == "flowtable-hw";
    let unused = accepted && engine["hardware_unused"] == true;
    let source = "ubus call fastpath status";
    let flows = &status["paths"]["hardware"]["flows"];
    let (mut finding, mut ports) = (Finding::new(Severity::Warning), Vec::new());
    let devices = list(engine, "devices");
    let all: Vec<_> = known(facts)?
        .into_iter()
        .filter(|(port, _)| !accepted || devices.iter().any(|name| *name == *port.name))
        .collect();
    let count = all.len();
    for (port, ethtool) in all {
        let offload = ethtool.feature("hw-tc-offload");
        if !offload.on {
            let value = if offload.fixed { "off [fixed]" } else { "off" };
            let of = format!("{}: hw-tc-offload", port.name);
            let source = format!("ethtool -k {} ({})", port.name, port.driver);
            finding = finding.saw("feature", of, value, source);
            ports.push(port.name.as_str());
        }
    }
    // Use what the engine reports, which the page also shows.
    let reported = &engine["hardware_ports"];
    let lacks = reported["able"].as_array().filter(|able| {
        accepted && ports.is_empty() && reported["present"].as_u64() > Some(able.len() as u64)
    });
    if let Some(able) = lacks {
        let unable = devices.iter().filter(|name| !able.contains(name)).filter_map(Value::as_str);
        ports.extend(unable);
    }
    if accepted && !unused && ports.is_empty() {
        return Ok(None);
    }
    if accepted {
        finding = finding.case(if unused { "unused" } else { "some" });
        let able =
            reported["able"].as_array().map_or_else(|| count.saturating_sub(ports.len()), Vec::len);
        let present = reported["present"].as_u64().unwrap_or(count as u64);
        finding = finding.with("able", able).with("present", present);
    } else {
        finding =
            finding.saw("why", "", word(engine, "why"), source).because("engine", &engine["cause"]);
    }
    finding = finding
        .saw("in-hardware", "", flows, source)
        .with("active", word(engine, "active"))
        .fix(Some(set_engine(facts, "flowtable")));
    Ok(Some(named(saw_tables(finding, facts), &ports)))
}

/// Adds what the chip's own tables have, or the reason why none is shown.
fn saw_tables(mut finding: Finding, facts: &Facts) -> Finding {
    match &facts.ppe.engines {
        Ok(engines) => {
            for (number, bound, unbound) in engines {
                let source = format!("/sys/kernel/debug/ppe{number}/entries");
                finding = finding.saw("ppe", number, format!("{bound} / {unbound}"), source);
            }
        }
        Err(cause) => {
            finding = finding
                .saw("no-ppe", "", &cause.text, "/sys/kernel/debug")
                .because("refusal", &json!(cause));
        }
    }
    for (number, attached) in &facts.ppe.wed {
        let source = format!("/sys/kernel/debug/wed{number}/txinfo");
        finding = finding.saw("wed", number, u8::from(*attached), source);
    }
    finding
}

/// Reports active flows that the page shows in hardware, but that the chip's tables lack.
fn unbound(facts: &Facts) -> Verdict {
    let lost = facts.ppe.lost.get()?;
    let mut finding = Finding::new(Severity::Warning).with("flows", lost.len());
    for flow in lost.iter().take(MAX_LOST) {
        finding = finding.saw("unbound-flow", "", flow, "ubus call fastpath flows");
    }
    Ok(finding.if_seen().map(|finding| saw_tables(finding, facts)))
}

#[cfg(test)]
mod tests;
