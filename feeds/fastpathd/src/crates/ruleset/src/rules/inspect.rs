// SPDX-License-Identifier: GPL-2.0-or-later
//! Chains that queue packets for Suricata and process the accepted ones.
//!
//! `ips` selects connections to inspect by the devices of initiator and responder, and sets the bit
//! "spent" on all other packets. Packets to inspect go to `ips_queue`, or beyond the limit of their
//! source to `ips_excess`. Accepted packets reach `fastpath` without that bit; there, `ips_seen`
//! stores Suricata's bypass mark in the connection and checks the budget. Dropped packets do not
//! spend the budget.

use std::collections::BTreeSet;
use std::fmt::Write;

use config::Network;
use model::{Action, DevicePolicy, Gate, Spread};

use crate::hosts::both_ways;
use crate::inspection::{InspectionRules, Queues};
use crate::marks::Marks;
use crate::plan::Plan;
use crate::rules::{Chain, EXCESS, GATE, Rule, SOURCE_SETS};

pub(super) fn chains(plan: &Plan, inspection: &InspectionRules) -> Vec<Chain> {
    let by_policy = inspection.policies.iter().any(|policy| !policy.is_void());
    let mut chains = vec![Chain {
        name: "ips",
        comment: "!fastpath: which connections are inspected, by initiator",
        hook: Some(("forward", "filter + 10")),
        rules: entry(plan, inspection, by_policy),
    }];
    if by_policy {
        chains.push(Chain {
            name: "ips_reply",
            comment: "!fastpath: the same policies for replies",
            hook: None,
            rules: policies(inspection, "reply"),
        });
    }
    chains.push(Chain {
        name: "ips_inspect",
        comment: "!fastpath: inspected until bypassed or until the budget is spent",
        hook: None,
        rules: inspect(inspection.marks),
    });
    chains.push(Chain {
        name: "ips_source",
        comment: "!fastpath: the limit of each source",
        hook: None,
        rules: source(GATE),
    });
    chains.push(Chain {
        name: GATE,
        comment: "!fastpath: the gate",
        hook: None,
        rules: vec![gate(inspection, inspection.queues)],
    });
    chains.push(Chain {
        name: EXCESS,
        comment: "!fastpath: the gate of sources beyond their limit",
        hook: None,
        rules: vec![gate(inspection, inspection.queues.excess())],
    });
    chains.push(Chain {
        name: "ips_seen",
        comment: "!fastpath: accepted by Suricata",
        hook: None,
        rules: seen(inspection),
    });
    chains
}

fn entry(plan: &Plan, inspection: &InspectionRules, by_policy: bool) -> Vec<Rule> {
    let marks = inspection.marks;
    let (ours, others, done) = (marks.mask(), !marks.mask(), marks.done());
    let mut rules = vec![
        Rule::new(
            format!(
                "meta mark & {ours:#010x} != 0x00000000 meta mark set meta mark & {others:#010x}"
            ),
            "clear our bits: they are set below",
        ),
        // The kernel copies the master's mark to an expected connection.
        Rule::new(
            format!(
                "ct state related ct status expected meta l4proto {{ tcp, udp }} \
                 ct mark & {done:#010x} != 0x00000000 ct mark set ct mark & {others:#010x}"
            ),
            "an expected connection is not done because its master is",
        ),
    ];
    for (action, whose) in [
        (Action::Always, "a host that is always inspected"),
        (Action::None, "a host that is never inspected"),
    ] {
        let sets = plan.inspected_sets(action).into_iter();
        rules.extend(sets.flat_map(|sets| both_ways(sets, &verdict(action, marks), whose)));
    }
    for (family, ipv4) in [("ip", true), ("ip6", false)] {
        let networks = inspection.exempt_of(ipv4);
        if !networks.is_empty() {
            for end in ["saddr", "daddr"] {
                let set = set(networks.iter().map(Network::to_string));
                let text = format!("{family} {end} {set} {}", free(marks));
                rules.push(Rule::new(text, "exempt from inspection"));
            }
        }
    }
    if by_policy {
        // Invalid and untracked packets have no direction and count as packets of the initiator.
        rules.push(Rule::new("ct direction reply goto ips_reply", "replies"));
    }
    rules.extend(policies(inspection, "original"));
    rules
}

fn policies(inspection: &InspectionRules, direction: &str) -> Vec<Rule> {
    let marks = inspection.marks;
    let numbered = (1..).zip(&inspection.policies);
    let mut rules: Vec<Rule> = numbered
        .filter(|(_, policy)| !policy.is_void())
        .map(|(number, policy)| {
            let name = if policy.name.is_empty() { "" } else { ": " };
            let text = format!("{}{}", devices(policy, direction), verdict(policy.action, marks));
            Rule::new(text, &format!("policy {number}{name}{}", policy.name))
        })
        .collect();
    let default = inspection.default;
    rules.push(Rule::new(verdict(default, marks), &format!("no policy: {}", default.name())));
    rules
}

/// Matches devices by name, so that a recreated device with another index still matches.
fn devices(policy: &DevicePolicy, direction: &str) -> String {
    let reply = direction == "reply";
    let (from, to) = if reply { ("oifname", "iifname") } else { ("iifname", "oifname") };
    let mut text = String::new();
    let mut ends = [(from, &policy.from), (to, &policy.to)];
    if reply {
        ends.reverse();
    }
    for (key, names) in ends {
        if let Some(names) = names {
            let _ = write!(text, "{key} {} ", quoted(names));
        }
    }
    text
}

pub(super) fn quoted(names: &BTreeSet<String>) -> String {
    set(names.iter().map(|name| format!("\"{name}\"")))
}

pub(super) fn set(elements: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", elements.collect::<Vec<_>>().join(", "))
}

fn verdict(action: Action, marks: Marks) -> String {
    match action {
        Action::None => free(marks),
        Action::Inspect => "goto ips_inspect".to_owned(),
        Action::Always => "goto ips_source".to_owned(),
    }
}

/// Passes packets without inspection, so that they can be offloaded.
fn free(marks: Marks) -> String {
    format!("meta mark set meta mark | {:#010x} return", marks.spent())
}

fn inspect(marks: Marks) -> Vec<Rule> {
    let done = format!("ct mark & {:#010x} != 0x00000000 {}", marks.done(), free(marks));
    vec![Rule::new(done, "inspection is over"), Rule::new("goto ips_source", "inspection goes on")]
}

/// Limit of unanswered packets per source in the shared queues: far above a web page with 100
/// connections, and below half a queue. A separate thread inspects the excess. If a set is full,
/// further sources have no limit.
const SOURCE_LIMIT: &str = "limit rate over 250/second burst 2000 packets";

/// Returns the rules before a gate. They limit LAN stations by MAC, because a station chooses its
/// IP addresses, and other IPv6 sources by /64, because hosts choose addresses within it.
pub(super) fn source(gate: &str) -> Vec<Rule> {
    let [(stations, _), (v4, _), (v6, _)] = SOURCE_SETS;
    let excess = |set: &str, key: &str| {
        let ethernet = if set == stations { "meta iiftype ether " } else { "" };
        let text = format!("{ethernet}update @{set} {{ {key} {SOURCE_LIMIT} }} goto {EXCESS}");
        Rule::new(text, "beyond the limit of its source")
    };
    vec![
        Rule::new(format!("ct state established goto {gate}"), "answered: no limit"),
        excess(stations, "ether saddr"),
        excess(v4, "ip saddr"),
        excess(v6, "ip6 saddr & ffff:ffff:ffff:ffff::"),
        Rule::new(format!("goto {gate}"), "within the limit of its source"),
    ]
}

/// Returns the rule of a gate. Its comment states all parameters, because the digest omits gates.
pub(super) fn gate(inspection: &InspectionRules, queues: Queues) -> Rule {
    match inspection.gate {
        Gate::Queue => {
            let (flags, to, described) = numbers(queues, inspection.fail_open);
            let fail = if inspection.fail_open { "open" } else { "closed" };
            Rule::new(
                format!("counter name \"inspected\" queue {flags}to {to}"),
                &format!("to Suricata, {described}, fail {fail}"),
            )
        }
        Gate::Open => Rule::new(
            format!(
                "counter name \"uninspected\" meta mark set meta mark | {:#010x}",
                inspection.marks.done()
            ),
            "the gate is open: passes uninspected",
        ),
        Gate::Closed => {
            Rule::new("counter name \"refused\" drop", "the gate is closed: nothing passes")
        }
    }
}

/// Returns the flags and the numbers of a queue statement, and a description of both.
pub(super) fn numbers(queues: Queues, fail_open: bool) -> (String, String, String) {
    let (first, last) = (queues.first, queues.last());
    let to = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let bypass = fail_open.then_some("bypass");
    // A single queue needs no distribution.
    let fanout = (queues.spread == Spread::Fanout && first != last).then_some("fanout");
    let flags: Vec<&str> = bypass.into_iter().chain(fanout).collect();
    let described = match fanout {
        _ if first == last => format!("queue {to}"),
        None => format!("queues {to} by hash"),
        Some(_) => format!("queues {to} by fanout"),
    };
    let flags =
        if flags.is_empty() { String::new() } else { format!("flags {} ", flags.join(",")) };
    (flags, to, described)
}

/// Returns the rules of the chain `fastpath` for packets from Suricata or an open gate.
pub(super) fn passed(marks: Marks) -> [Rule; 2] {
    let (spent, done, others) = (marks.spent(), marks.done(), !marks.mask());
    [
        Rule::new(
            format!("meta mark & {spent:#010x} == 0x00000000 goto ips_seen"),
            "accepted by Suricata",
        ),
        Rule::new(
            format!(
                "meta mark & {done:#010x} == {done:#010x} \
                 meta mark set meta mark & {others:#010x} return"
            ),
            "uninspected: stays on the slow path",
        ),
    ]
}

fn seen(inspection: &InspectionRules) -> Vec<Rule> {
    let marks = inspection.marks;
    let (bypass, spent, done) = (marks.bypass(), marks.spent(), marks.done());
    let (ours, others) = (marks.mask(), !marks.mask());
    let mut rules = vec![
        // Store the mark now: only one packet of the connection has it.
        Rule::new(
            format!(
                "meta mark & {bypass:#010x} != 0x00000000 \
                 ct mark set ct mark | {bypass:#010x} counter name \"bypassed\""
            ),
            "bypassed by Suricata",
        ),
        Rule::new(
            format!(
                "meta mark & {ours:#010x} != 0x00000000 meta mark set meta mark & {others:#010x}"
            ),
            "clear our bits",
        ),
    ];
    let budgets = [("bytes", inspection.budget_bytes), ("packets", inspection.budget_packets)];
    for (unit, budget) in budgets.into_iter().filter(|(_, budget)| *budget != 0) {
        rules.push(Rule::new(
            format!(
                "ct mark & {done:#010x} == 0x00000000 ct {unit} >= {budget} \
                 ct mark set ct mark | {spent:#010x} counter name \"spent\""
            ),
            &format!("its budget of {budget} {unit} is spent"),
        ));
    }
    rules
}
