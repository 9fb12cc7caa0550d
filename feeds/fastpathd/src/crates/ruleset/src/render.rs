// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders a plan as nft scripts: the whole table, only gates or devices, removal, probes.
//! `rules.rs` defines the chains and rules.
//!
//! Scripts contain only validated names, addresses and numbers, so the configuration cannot inject
//! statements.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt::Write;

use crate::block::{BlockElement, SETS, element};
use crate::in_force::InForce;
use crate::inspection::InspectionRules;
use crate::paused;
use crate::plan::Plan;
use crate::rules::{
    BY_CPU, Chain, ENDED_SETS, FLOWTABLE, GUARDS, IPSEC_SET, MISSED_SETS, OWN, PASSED_SETS,
    SOURCE_SETS, chains, counters, ended_tuple, gates,
};

const REMOVE: &str = "add table inet fastpath\ndelete table inet fastpath\n";

/// Renders a script that replaces the whole table in one transaction, with the blocks that last
/// longest up to the plan's limit. Equals [`render_remove`] if the plan needs no table.
#[must_use]
pub fn render(plan: &Plan, blocks: &[BlockElement]) -> String {
    let mut text = render_remove();
    if !plan.has_table() {
        return text;
    }
    text.push_str("table inet fastpath {\n");
    text.push_str("\tcomment \"!fastpath: established flows leave the slow path here\"\n\n");
    for (name, what) in counters(plan) {
        let _ = write!(text, "\tcounter {name} {{\n\t\tcomment \"!fastpath: {what}\"\n\t}}\n\n");
    }
    if let Some(limit) = plan.protection.blocks {
        for (name, kind) in SETS {
            let ipv6 = kind == "ipv6_addr";
            let blocks = blocks.iter().filter(|block| block.source.address.is_ipv6() == ipv6);
            set(&mut text, name, kind, limit, blocks.collect());
        }
    }
    text.push_str(&paused::sets(plan));
    if plan.protection.inspection.is_some() {
        for (name, kind) in SOURCE_SETS {
            text.push_str(&source_set(name, kind));
        }
    }
    if plan.has_flowtable() {
        for name in PASSED_SETS {
            text.push_str(&passed_set(name));
        }
        for name in MISSED_SETS {
            text.push_str(&counted_set(name, "offloaded, but seen by the stack"));
        }
        for (name, header) in ENDED_SETS {
            text.push_str(&ended_set(name, header));
        }
        text.push_str(&own_set(plan));
        if plan.hardware && plan.guarded().next().is_some() {
            text.push_str(&by_cpu_set());
        }
        text.push_str("\tflowtable ft {\n");
        text.push_str(&flowtable(
            "\t\t",
            plan.devices.iter().map(String::as_str).collect(),
            plan.hardware,
        ));
        text.push_str("\t}\n\n");
    }
    if plan.has_ipsec_set() {
        text.push_str(&counted_set(IPSEC_SET, "encrypted by the kernel"));
    }
    let guarded = plan.guarded().map(|(device, _)| device);
    let ingress = devices(guarded);
    let chains: Vec<String> = chains(plan).iter().map(|each| chain(each, &ingress)).collect();
    text.push_str(&chains.join("\n"));
    text.push_str("}\n");
    text
}

#[must_use]
pub fn render_remove() -> String {
    REMOVE.to_owned()
}

pub(crate) fn render_gate(inspection: &InspectionRules) -> String {
    let replaced = gates(inspection).map(|(chain, rule)| {
        let (text, comment) = (rule.text, rule.comment);
        format!(
            "flush chain inet fastpath {chain}\n\
             add rule inet fastpath {chain} {text} comment \"{comment}\"\n"
        )
    });
    replaced.concat()
}

/// Renders a script that changes the devices of the existing flowtable, the router's addresses
/// behind them, and the sets of hosts; flows over other devices remain offloaded. The kernel
/// rejects flags that differ from the flowtable's.
pub(crate) fn render_devices(plan: &Plan, have: &InForce) -> String {
    let mut text = String::new();
    let guarded: BTreeSet<&str> = plan.guarded().map(|(device, _)| device).into_set();
    let (own, have_guarded) = (own(plan), have.guarded());
    let add = plan.devices.difference(&have.devices);
    let take = have.devices.difference(&plan.devices);
    let [add, take] = [add, take].map(|found| found.map(String::as_str).into_set());
    let hosts = paused::elements(plan);
    let changes = [
        ("add", add, &guarded - &have_guarded, &own - &have.own, &hosts - &have.hosts),
        ("delete", take, &have_guarded - &guarded, &have.own - &own, &have.hosts - &hosts),
    ];
    for (verb, listed, guarded, own, hosts) in changes {
        paused::change(&mut text, verb, &hosts);
        if !listed.is_empty() {
            let _ = writeln!(text, "{verb} flowtable inet fastpath ft {{");
            text.push_str(&flowtable("\t", listed, plan.hardware));
            text.push_str("}\n");
        }
        for (name, priority) in GUARDS.iter().filter(|_| !guarded.is_empty()) {
            let hook = base("ingress", priority, &devices(guarded.iter().copied()));
            let _ = writeln!(text, "{verb} chain inet fastpath {name} {{ {hook} }}");
        }
        if !own.is_empty() {
            let own = elements(&own);
            let _ = writeln!(text, "{verb} element inet fastpath {OWN} {{ {own} }}");
        }
    }
    text
}

/// Renders a separate table with only this flowtable, to check whether the kernel accepts the
/// device.
pub(crate) fn render_probe(device: &str, hardware: bool) -> String {
    let body = flowtable("\t\t", std::iter::once(device).into_set(), hardware);
    format!("table inet fastpath_probe {{\n\tflowtable ft {{\n{body}\t}}\n}}\n")
}

/// Renders a separate table of family bridge with only a flowtable, to check whether the kernel has
/// such flowtables.
pub(crate) fn render_bridge_probe() -> String {
    render_probe("lo", false).replacen("inet", "bridge", 1)
}

/// Renders a separate table with only a queue, to check whether the kernel supports queues.
pub(crate) fn render_queue_probe() -> String {
    "table inet fastpath_probe {\n\tchain c {\n\t\tqueue to 0\n\t}\n}\n".to_owned()
}

/// Renders a set of connections that have passed in one direction. A full set only delays
/// offloading; its listing has 0.5 MB.
fn passed_set(name: &str) -> String {
    format!(
        "\tset {name} {{\n\t\ttypeof ct id\n\t\tsize 8192\n\t\tflags dynamic,timeout\n\
         \t\ttimeout 2s\n\t\tcomment \"!fastpath: passed the rules in one direction\"\n\t}}\n\n"
    )
}

/// Renders a set of tuples of recently ended connections, kept longer than their flowtable entries.
/// If the set is full, a connection that reuses a tuple may stall.
fn ended_set(name: &str, header: &str) -> String {
    let tuple = ended_tuple(header);
    format!(
        "\tset {name} {{\n\t\ttypeof {tuple}\n\t\tsize 8192\n\t\tflags dynamic,timeout\n\
         \t\ttimeout 3s\n\t\tcomment \"!fastpath: ended, perhaps still in the flowtable\"\n\t}}\n\n"
    )
}

/// Renders a set of connections with packet counters. The timeout, renewed by each packet, exceeds
/// the usual interval of readings. A full set counts no further connections.
fn counted_set(name: &str, what: &str) -> String {
    format!(
        "\tset {name} {{\n\t\ttypeof ct id\n\t\tsize 8192\n\t\tflags dynamic,timeout\n\
         \t\ttimeout 40s\n\t\tcounter\n\t\tcomment \"!fastpath: {what}\"\n\t}}\n\n"
    )
}

pub(crate) fn own(plan: &Plan) -> BTreeSet<(String, String)> {
    let each = |(device, own): (&str, &BTreeSet<String>)| {
        own.iter().map(|mac| (device.to_owned(), mac.clone())).collect::<Vec<_>>()
    };
    plan.guarded().flat_map(each).into_set()
}

fn own_set(plan: &Plan) -> String {
    let own = own(plan);
    if own.is_empty() {
        return String::new();
    }
    format!(
        "\tset {OWN} {{\n\t\ttypeof iifname . ether daddr\n\
         \t\tcomment \"!fastpath: frames to the router\"\n\
         \t\telements = {{ {} }}\n\t}}\n\n",
        elements(&own)
    )
}

fn elements(own: &BTreeSet<(String, String)>) -> String {
    let each: Vec<String> =
        own.iter().map(|(device, mac)| format!("\"{device}\" . {mac}")).collect();
    each.join(", ")
}

/// Renders the set of packets that the CPU receives. Its timeout exceeds the polling interval.
fn by_cpu_set() -> String {
    format!(
        "\tset {BY_CPU} {{\n\t\ttype mark\n\t\tsize 16384\n\t\tflags dynamic,timeout\n\
         \t\ttimeout 3s\n\t\tcomment \"!fastpath: packets that reach the CPU\"\n\t}}\n\n"
    )
}

/// Renders a set of sources with a limit; the burst refills within the timeout.
fn source_set(name: &str, kind: &str) -> String {
    format!(
        "\tset {name} {{\n\t\ttype {kind}\n\t\tsize 4096\n\t\tflags dynamic,timeout\n\
         \t\ttimeout 10s\n\t\tcomment \"!fastpath: sources of new connections\"\n\t}}\n\n"
    )
}

fn set(text: &mut String, name: &str, kind: &str, limit: u32, mut blocks: Vec<&BlockElement>) {
    // The kernel rejects a table with too many blocks or with nested ones.
    let key = |block: &&BlockElement| (block.source.address, block.source.prefix);
    config::sort::by_key(&mut blocks, |block| (key(block), std::cmp::Reverse(block.left)));
    blocks.dedup_by(|block, before| before.source.contains(block.source.address));
    config::sort::by_key(&mut blocks, |block| std::cmp::Reverse(block.left));
    blocks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    // Up to Linux 6.13, both ends of an interval and the gap before the first one count as
    // elements.
    let (size, flags) = if kind == "ipv6_addr" {
        (limit.saturating_mul(2).saturating_add(2), "interval,timeout")
    } else {
        (limit, "timeout")
    };
    let _ = writeln!(text, "\tset {name} {{");
    let _ = writeln!(text, "\t\ttype {kind}\n\t\tsize {size}\n\t\tflags {flags}");
    let _ = writeln!(text, "\t\tcomment \"!fastpath: blocked for a time\"");
    if !blocks.is_empty() {
        let elements: Vec<String> = blocks.into_iter().map(element).collect();
        let _ = writeln!(text, "\t\telements = {{ {} }}", elements.join(",\n\t\t\t"));
    }
    text.push_str("\t}\n\n");
}

fn chain(chain: &Chain, ingress: &str) -> String {
    let Chain { name, comment, hook, rules } = chain;
    let mut text = format!("\tchain {name} {{\n\t\tcomment \"{comment}\"\n");
    if let Some((hook, priority)) = hook {
        let _ = writeln!(text, "\t\t{} policy accept;", base(hook, priority, ingress));
    }
    text.push('\n');
    for rule in rules {
        let _ = writeln!(text, "\t\t{} comment \"{}\"", rule.text, rule.comment);
    }
    text.push_str("\t}\n");
    text
}

/// Renders the hook of a base chain, with devices at ingress.
fn base(hook: &str, priority: &str, ingress: &str) -> String {
    let devices = if hook == "ingress" { format!(" devices = {ingress}") } else { String::new() };
    format!("type filter hook {hook}{devices} priority {priority};")
}

fn flowtable(indent: &str, listed: BTreeSet<&str>, hardware: bool) -> String {
    let mut text = format!("{indent}hook ingress priority {FLOWTABLE}\n");
    let _ = writeln!(text, "{indent}devices = {}", devices(listed));
    // Without `counter`, offloaded packets do not update a flow's counters.
    let _ = writeln!(text, "{indent}counter");
    if hardware {
        let _ = writeln!(text, "{indent}flags offload");
    }
    text
}

fn devices<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("{{ {} }}", names.join(", "))
}

#[cfg(test)]
mod tests;
