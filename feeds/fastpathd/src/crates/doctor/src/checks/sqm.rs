// SPDX-License-Identifier: GPL-2.0-or-later
//! The check of SQM on a WAN. Its fix moves rates and overhead to section `latency` and disables
//! SQM's queue.

use serde_json::{Value, json};
use uci::{Package, Section};

use super::Check;
use super::flowtable::engine;
use crate::facts::{Facts, Unknown, list, word};
use crate::finding::{Finding, Fix, Severity, Verdict, set};

pub(super) const CHECKS: &[Check] =
    &[Check { id: "sqm-downloads", group: "flowtable", run: downloads }];

const SOURCE: &str = "/etc/config/sqm";
/// Range of rates in section `latency`, in kbit/s.
const RATES: std::ops::RangeInclusive<u32> = 64..=10_000_000;
/// Maximum overhead in section `latency`, in bytes.
const MAX_OVERHEAD: u32 = 256;
/// Default overhead of section `latency`, in bytes.
const ETHERNET: u32 = 38;
/// Minimum frame with the default overhead, in bytes.
const MIN_FRAME: u32 = 84;
/// Header of PPPoE in bytes, which packets of the lower device already include.
const PPPOE_HEADER: u32 = 8;

/// Reports SQM on a WAN. Packets that return from SQM's ifb device bypass the flowtable's hook.
fn downloads(facts: &Facts) -> Verdict {
    if matches!(engine(facts, "wanted")?, "off" | "flowtable-hw") {
        return Ok(None);
    }
    let wans = list(facts.flowtable.status.get()?, "wan");
    let network = facts.uci.network.get()?;
    let queues: Vec<(&Section, &Value, &str)> = (facts.others.sqm.get()?.iter())
        .flat_map(|package| package.of("queue"))
        .filter(|queue| queue.is_on("enabled", false))
        .filter_map(|queue| {
            let device = queue.text("interface")?;
            let wan = wans.iter().find(|wan| carries(wan, network, device))?;
            Some((queue, wan, device))
        })
        .collect();
    let mut finding = Finding::new(Severity::Advice);
    let mut devices = Vec::new();
    for (queue, _, device) in &queues {
        for option in ["download", "upload"] {
            let value = queue.text(option).unwrap_or("–");
            finding = finding.saw("option", format!("{device}: {option}"), value, SOURCE);
        }
        devices.push(*device);
    }
    let [(queue, wan, device)] = &queues[..] else {
        let finding = finding.case("several").with("devices", devices.join(", "));
        return Ok(finding.if_seen());
    };
    let finding = finding.with("devices", *device);
    let without = inexpressible(queue);
    if !without.is_empty() {
        return Ok(Some(finding.case("by-hand").with("options", without.join(", "))));
    }
    let below = word(wan, "proto") == "pppoe" && *device != word(wan, "device");
    let values = json!({
        "enabled": "1",
        "interface": word(wan, "name"),
        "download": queue.text("download"),
        "upload": queue.text("upload"),
        "overhead": overhead(queue, below).map(|bytes| bytes.to_string()),
    });
    Ok(Some(finding.fix(Some(migration(facts, queue, values)?))))
}

/// Returns whether packets of a WAN pass a device: its layer 3 device, port or VLAN device.
fn carries(wan: &Value, network: &Package, device: &str) -> bool {
    let configured = network.section(word(wan, "name")).and_then(|section| section.text("device"));
    let (port, vlan) = (word(wan, "port"), &wan["vlan"]);
    [word(wan, "device"), port].contains(&device)
        || configured == Some(device)
        || format!("{port}.{vlan}") == device
}

/// Returns options and values of a queue that section `latency` cannot express.
fn inexpressible(queue: &Section) -> Vec<String> {
    let text = |option: &str| queue.text(option).unwrap_or_default();
    let rate = |option| text(option).parse().is_ok_and(|rate| RATES.contains(&rate));
    let bytes = |option| number(queue, option).is_some();
    let adapts = !matches!(text("linklayer"), "" | "none");
    let cake = matches!(text("linklayer_adaptation_mechanism"), "" | "default" | "cake");
    let short = number(queue, "tcMPU").is_some_and(|shortest| shortest <= MIN_FRAME);
    let fits = number(queue, "overhead").is_some_and(|of| of <= MAX_OVERHEAD - PPPOE_HEADER);
    let options = [
        ("download", rate("download")),
        ("upload", rate("upload")),
        ("script", text("script") == "piece_of_cake.qos"),
        ("linklayer", matches!(text("linklayer"), "" | "none" | "ethernet")),
        ("linklayer_adaptation_mechanism", !adapts || cake),
        ("overhead", !adapts || bytes("overhead") && fits),
        ("tcMPU", !adapts || bytes("tcMPU") && short),
        ("iqdisc_opts", are_ours(queue, "iqdisc_opts", "dual-dsthost")),
        ("eqdisc_opts", are_ours(queue, "eqdisc_opts", "dual-srchost")),
    ];
    let bad = options.into_iter().filter(|(_, good)| !good);
    bad.map(|(option, _)| format!("{option} '{}'", text(option))).collect()
}

/// Returns whether section `latency` passes the same options to CAKE. Ignores `ingress`.
fn are_ours(queue: &Section, option: &str, fairness: &str) -> bool {
    let known = |word: &str| {
        matches!(word, "nat" | "besteffort" | "nowash" | "ingress" | "egress") || word == fairness
    };
    queue.words(option).into_iter().all(known)
}

/// Parses a number of bytes. A missing option is 0.
fn number(queue: &Section, option: &str) -> Option<u32> {
    queue.text(option).map_or(Some(0), |text| text.parse().ok())
}

/// Returns option `overhead` of section `latency`. `None` if the default suffices.
fn overhead(queue: &Section, below_session: bool) -> Option<u32> {
    if matches!(queue.text("linklayer"), None | Some("" | "none")) {
        return None;
    }
    let header = if below_session { PPPOE_HEADER } else { 0 };
    let bytes = number(queue, "overhead")? + header;
    let has_shortest = number(queue, "tcMPU") != Some(0);
    // Only the default overhead has a minimum frame.
    (!has_shortest || bytes > ETHERNET).then_some(bytes)
}

/// Returns one change with the edits of both files.
fn migration(facts: &Facts, queue: &Section, mut values: Value) -> Result<Fix, Unknown> {
    let latency = if let Some(section) = facts.uci.fastpath.get()?.of("latency").next() {
        set("fastpath", &section.name, &values)
    } else {
        if let Value::Object(values) = &mut values {
            values.retain(|_, value| !value.is_null());
        }
        json!({
            "op": "add", "config": "fastpath", "type": "latency", "section": "latency",
            "values": values,
        })
    };
    Ok(Fix::Change(vec![latency, set("sqm", &queue.name, &json!({"enabled": "0"}))]))
}

#[cfg(test)]
mod tests;
