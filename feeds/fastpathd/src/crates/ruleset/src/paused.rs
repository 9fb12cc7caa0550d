// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets and rules that drop packets of paused hosts. The MAC address covers whatever a host sends;
//! the IP addresses cover packets to it, whose MAC address is unknown at the forward hook.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use serde_json::Value;

use crate::plan::Plan;
use crate::rules::{Chain, Rule};

const SETS: [(&str, &str); 3] =
    [("paused", "ether_addr"), ("paused4", "ipv4_addr"), ("paused6", "ipv6_addr")];

/// Set and element, as nft prints it.
pub(crate) type Element = (&'static str, String);

pub(crate) fn elements(plan: &Plan) -> BTreeSet<Element> {
    let Some(paused) = &plan.paused else { return BTreeSet::new() };
    let macs = paused.macs.iter().map(|mac| (SETS[0].0, mac.clone()));
    let address = |of: &IpAddr| (SETS[1 + usize::from(of.is_ipv6())].0, of.to_string());
    macs.chain(paused.addresses.iter().map(address)).into_set()
}

/// Renders the sets with their elements.
pub(crate) fn sets(plan: &Plan) -> String {
    let mut text = String::new();
    let all = elements(plan);
    for (name, kind) in SETS.iter().filter(|_| plan.paused.is_some()) {
        let _ = write!(
            text,
            "\tset {name} {{\n\t\ttype {kind}\n\t\tcomment \"!fastpath: not forwarded\"\n"
        );
        if let Some(elements) = listed(&all, name) {
            let _ = writeln!(text, "\t\telements = {{ {elements} }}");
        }
        text.push_str("\t}\n\n");
    }
    text
}

/// Renders commands that add or delete elements.
pub(crate) fn change(text: &mut String, verb: &str, changed: &BTreeSet<Element>) {
    for (name, _) in SETS {
        if let Some(elements) = listed(changed, name) {
            let _ = writeln!(text, "{verb} element inet fastpath {name} {{ {elements} }}");
        }
    }
}

fn listed(elements: &BTreeSet<Element>, set: &str) -> Option<String> {
    let of = elements.iter().filter(|(name, _)| *name == set);
    let of: Vec<&str> = of.map(|(_, element)| element.as_str()).collect();
    (!of.is_empty()).then(|| of.join(", "))
}

/// Parses a set of `nft -j list table`. Returns nothing for other sets.
pub(crate) fn parse(set: &Value) -> Vec<Element> {
    let name = set.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some((name, _)) = SETS.iter().find(|(ours, _)| *ours == name) else { return Vec::new() };
    let elements = set.get("elem").and_then(Value::as_array).into_iter().flatten();
    let texts = elements.map(|element| element.as_str().unwrap_or_default());
    // nft may format an IPv6 address in another way.
    let element = |text: &str| text.parse().map_or(text.to_owned(), |ip: IpAddr| ip.to_string());
    texts.map(|text| (*name, element(text))).collect()
}

pub(crate) fn chain() -> Chain {
    let [mac, v4, v6] = SETS.map(|(name, _)| name);
    let rules = [
        ("ether", "saddr", mac),
        ("ip", "saddr", v4),
        ("ip", "daddr", v4),
        ("ip6", "saddr", v6),
        ("ip6", "daddr", v6),
    ];
    let drop = |(header, end, set): (&str, &str, &str)| {
        let what = if end == "saddr" { "from" } else { "to" };
        Rule::new(format!("{header} {end} @{set} drop"), &format!("{what} a paused host"))
    };
    Chain {
        name: "paused",
        comment: "!fastpath: before the firewall, which may accept or offload",
        hook: Some(("forward", "filter - 5")),
        rules: rules.map(drop).into(),
    }
}
