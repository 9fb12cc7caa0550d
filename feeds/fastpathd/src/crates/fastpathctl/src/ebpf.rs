// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answer of `ebpf`.

use std::fmt::Write;

use serde_json::Value;

use crate::json::{flag, list, number, text};
use crate::table::table;

pub(crate) fn ebpf(answer: &Value) -> String {
    let mut out = String::new();
    let state = if flag(answer, "active") { "active" } else { "not active" };
    let _ = writeln!(out, "programs     {state} {}", text(answer, "why"));
    let (flows, capacity) = (number(answer, "flows"), number(answer, "capacity"));
    let _ = writeln!(out, "flows        {flows} of {capacity}");
    let _ = writeln!(out, "evicted      {}", number(answer, "evicted"));
    let devices = list(answer, "devices").map(|device| {
        let hook = Some(text(device, "hook")).filter(|hook| !hook.is_empty()).unwrap_or("none");
        vec![text(device, "device").into(), hook.into(), text(device, "why").into()]
    });
    let _ = write!(out, "\n{}", table("DEVICE|HOOK|REASON", devices));
    let exits = list(answer, "exits")
        .filter(|exit| number(exit, "packets") > 0)
        .map(|exit| vec![number(exit, "packets").to_string(), text(exit, "exit").into()]);
    let _ = write!(out, "\n{}", table(">PACKETS|VERDICT", exits));
    let mut dropped = list(answer, "dropped")
        .map(|rule| vec![number(rule, "packets").to_string(), number(rule, "rule").to_string()])
        .peekable();
    if dropped.peek().is_some() {
        let _ = write!(out, "\n{}", table(">DROPPED|BY RULE", dropped));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shows_devices_verdicts_and_dropped_packets() {
        let text = ebpf(&json!({
            "active": true, "why": "wan: rejected by the driver", "flows": 3, "capacity": 32768,
            "evicted": 0, "seen": 12,
            "devices": [
                {"device": "lan1", "hook": "tcx", "why": "the driver of lan1 does not support XDP"},
                {"device": "wan", "hook": "", "why": "rejected by the driver"},
            ],
            "exits": [{"exit": "forwarded", "packets": 12}, {"exit": "ttl", "packets": 0}],
            "dropped": [{"rule": 4711, "packets": 5, "bytes": 500}],
        }));
        assert!(text.starts_with("programs     active wan: rejected by the driver\n"), "{text}");
        assert!(text.contains("flows        3 of 32768"), "{text}");
        assert!(text.contains("lan1    tcx   the driver of lan1 does not support XDP"), "{text}");
        assert!(text.contains("wan     none  rejected by the driver"), "{text}");
        assert!(text.contains("     12  forwarded") && !text.contains("ttl"), "{text}");
        assert!(text.contains("      5  4711"), "{text}");
    }
}
