// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of hosts with their elements, and rules that drop packets of paused hosts. The MAC address
//! covers whatever a host sends; the IP addresses cover packets to it, whose MAC address is unknown
//! at the forward hook.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use model::Action;
use serde_json::Value;

use crate::hosts::{self, ALWAYS, KEPT, LIMITS, NEVER, Sets};
use crate::plan::Plan;
use crate::rules::Chain;

const PAUSED: Sets = ["paused", "paused4", "paused6"];
const TYPES: [&str; 3] = ["ether_addr", "ipv4_addr", "ipv6_addr"];

/// Set and element, as nft prints it.
pub(crate) type Element = (&'static str, String);

pub(crate) fn elements(plan: &Plan) -> BTreeSet<Element> {
    let mut all = hosts::elements(plan).into_iter().into_set();
    let Some(paused) = &plan.paused else { return all };
    let macs = paused.macs.iter().map(|mac| (PAUSED[0], mac.clone()));
    let address = |of: &IpAddr| (PAUSED[1 + usize::from(of.is_ipv6())], of.to_string());
    all.extend(macs.chain(paused.addresses.iter().map(address)));
    all
}

/// Renders the sets and maps with their elements, and the limits.
pub(crate) fn sets(plan: &Plan) -> String {
    let all = elements(plan);
    let mut text = hosts::limits(plan);
    let mut declare = |names: &[&'static str], comment: &str| {
        let (keyword, target) = if names == LIMITS { ("map", " : limit") } else { ("set", "") };
        for (name, kind) in names.iter().zip(TYPES) {
            let _ = write!(
                text,
                "\t{keyword} {name} {{\n\t\ttype {kind}{target}\n\
                 \t\tcomment \"!fastpath: {comment}\"\n"
            );
            if let Some(elements) = listed(&all, name) {
                let _ = writeln!(text, "\t\telements = {{ {elements} }}");
            }
            text.push_str("\t}\n\n");
        }
    };
    if plan.can_pause() {
        declare(&PAUSED, "not forwarded");
    }
    if plan.has_limits() {
        declare(&LIMITS, "limited");
    }
    for (action, comment) in [(Action::Always, "always inspected"), (Action::None, "not inspected")]
    {
        if let Some(sets) = plan.inspected_sets(action) {
            declare(&sets, comment);
        }
    }
    if plan.keeps_hosts() {
        declare(&[KEPT], "flows stay on the slow path");
    }
    text
}

/// Renders commands that add or delete elements.
pub(crate) fn change(text: &mut String, verb: &str, changed: &BTreeSet<Element>) {
    for name in names() {
        if let Some(elements) = listed(changed, name) {
            let _ = writeln!(text, "{verb} element inet fastpath {name} {{ {elements} }}");
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    [PAUSED, ALWAYS, NEVER, LIMITS].into_iter().flatten().chain([KEPT])
}

fn listed(elements: &BTreeSet<Element>, set: &str) -> Option<String> {
    let of = elements.iter().filter(|(name, _)| *name == set);
    let of: Vec<&str> = of.map(|(_, element)| element.as_str()).collect();
    (!of.is_empty()).then(|| of.join(", "))
}

/// Parses a set or map of `nft -j list table`. Returns nothing for those of others.
pub(crate) fn parse(set: &Value) -> Vec<Element> {
    let name = set.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(name) = names().find(|ours| *ours == name) else { return Vec::new() };
    let elements = set.get("elem").and_then(Value::as_array).into_iter().flatten();
    // nft may format an IPv6 address in another way.
    let key = |text: &str| text.parse().map_or(text.to_owned(), |ip: IpAddr| ip.to_string());
    let element = |element: &Value| match element.as_array().map(Vec::as_slice) {
        Some([of, limit]) => {
            hosts::entry(&key(of.as_str().unwrap_or_default()), limit.as_str().unwrap_or_default())
        }
        _ => key(element.as_str().unwrap_or_default()),
    };
    elements.map(|each| (name, element(each))).collect()
}

pub(crate) fn chain() -> Chain {
    Chain {
        name: "paused",
        comment: "!fastpath: before the firewall, which may accept or offload",
        hook: Some(("forward", "filter - 5")),
        rules: hosts::both_ways(PAUSED, "drop", "a paused host").into(),
    }
}
