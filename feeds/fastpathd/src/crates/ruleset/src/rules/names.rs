// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspects the router's own DNS: queries of hosts to the router pass the hook `input`, and queries
//! of the router to a server pass `output`, but not `forward`. Both directions of port 53 go to
//! Suricata without budgets and marks, because DNS of the router is never offloaded.
//!
//! The gate always fails open: the router needs DNS to download new rules after Suricata has
//! rejected the installed ones.

use config::Network;
use model::{Action, DevicePolicy, Gate};

use super::inspect::{numbers, quoted, set, source};
use crate::inspection::InspectionRules;
use crate::rules::{Chain, NAMES, Rule};

/// End of a connection at which policies name devices; the router is the other end.
#[derive(Clone, Copy)]
enum End {
    /// Host that queries the router.
    Initiator,
    /// Server that the router queries.
    Responder,
}

pub(super) fn chains(inspection: &InspectionRules) -> Vec<Chain> {
    let asked = "ct direction original meta l4proto { tcp, udp } th dport 53";
    let answered = "ct direction reply meta l4proto { tcp, udp } th sport 53";
    let (ours, others) = (inspection.marks.mask(), !inspection.marks.mask());
    vec![
        Chain {
            name: "names_in",
            comment: "!fastpath: names that hosts ask the router for, and answers to it",
            hook: Some(("input", "filter + 10")),
            rules: [
                free(inspection, "iifname"),
                by_policy(inspection, "iifname", End::Initiator, asked),
                by_policy(inspection, "iifname", End::Responder, answered),
            ]
            .concat(),
        },
        Chain {
            name: "names_out",
            comment: "!fastpath: names that the router asks for, and its answers",
            hook: Some(("output", "filter + 10")),
            rules: [
                free(inspection, "oifname"),
                by_policy(inspection, "oifname", End::Initiator, answered),
                by_policy(inspection, "oifname", End::Responder, asked),
            ]
            .concat(),
        },
        Chain {
            name: "names_source",
            comment: "!fastpath: the limit of each source of names",
            hook: None,
            rules: source(NAMES),
        },
        Chain {
            name: NAMES,
            comment: "!fastpath: the gate of names",
            hook: None,
            rules: vec![gate(inspection)],
        },
        Chain {
            name: "names_seen",
            comment: "!fastpath: names that Suricata accepted",
            hook: Some(("output", "filter + 20")),
            rules: vec![Rule::new(
                format!(
                    "meta mark & {ours:#010x} != 0x00000000 \
                     meta mark set meta mark & {others:#010x}"
                ),
                "clear the bypass mark of Suricata",
            )],
        },
    ]
}

/// Returns rules that exempt loopback, and exempt hosts and servers.
fn free(inspection: &InspectionRules, device: &str) -> Vec<Rule> {
    let own = Rule::new(format!("{device} \"lo\" return"), "of the router to itself");
    let mut rules = vec![own];
    for (family, ipv4) in [("ip", true), ("ip6", false)] {
        let networks = inspection.exempt_of(ipv4);
        if !networks.is_empty() {
            let set = set(networks.iter().map(Network::to_string));
            for end in ["saddr", "daddr"] {
                let text = format!("{family} {end} {set} return");
                rules.push(Rule::new(text, "exempt from inspection"));
            }
        }
    }
    rules
}

/// Returns rules for the policies that match one end. A policy with devices at both ends covers
/// only part of the traffic, so DNS is inspected if that part is.
fn by_policy(inspection: &InspectionRules, device: &str, end: End, which: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    let numbered = (1..).zip(&inspection.policies);
    for (number, policy) in numbered.filter(|(_, policy)| !policy.is_void()) {
        let DevicePolicy { name, action, from, to } = policy;
        let (devices, other) = match end {
            End::Initiator => (from, to),
            End::Responder => (to, from),
        };
        if *action == Action::None && other.is_some() {
            continue;
        }
        let devices = devices.as_ref().map(|names| format!("{device} {} ", quoted(names)));
        let text = format!("{which} {}{}", devices.unwrap_or_default(), verdict(*action));
        let colon = if name.is_empty() { "" } else { ": " };
        rules.push(Rule::new(text, &format!("policy {number}{colon}{name}")));
    }
    let default = inspection.default;
    let text = format!("{which} {}", verdict(default));
    rules.push(Rule::new(text, &format!("no policy: {}", default.name())));
    rules
}

fn verdict(action: Action) -> String {
    match action {
        Action::None => "return".to_owned(),
        Action::Inspect | Action::Always => "goto names_source".to_owned(),
    }
}

/// Returns the rule of the gate. Its comment states all parameters, because the digest omits gates.
pub(super) fn gate(inspection: &InspectionRules) -> Rule {
    match inspection.gate {
        Gate::Queue => {
            let (flags, to, described) = numbers(inspection.queues, true);
            Rule::new(
                format!("counter name \"inspected\" queue {flags}to {to}"),
                &format!("to Suricata, {described}, fail open"),
            )
        }
        Gate::Open | Gate::Closed => Rule::new(
            "counter name \"uninspected\"",
            "the gate is not a queue: names pass uninspected",
        ),
    }
}
