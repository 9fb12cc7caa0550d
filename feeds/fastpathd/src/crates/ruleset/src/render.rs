// SPDX-License-Identifier: GPL-2.0-or-later
//! A plan in nft's language.
//!
//! Only device names of [`crate::settings::is_device_name`], checked names of excludes and
//! numbers get into the text, so nothing in the configuration can become a statement. nft has
//! no comment on a flowtable; every other object has one.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::exclude::Exclude;
use crate::plan::Plan;

/// Priority of the chain: behind fw4's forward chain (filter) and the IPS (filter + 10).
const PRIORITY: &str = "filter + 20";

const REMOVE: &str = "add table inet fastpath\ndelete table inet fastpath\n";

/// The whole table, replaced in one transaction. Without a table in the plan the same as
/// [`render_remove`].
#[must_use]
pub fn render(plan: &Plan) -> String {
    let mut text = render_remove();
    if !plan.has_table() {
        return text;
    }
    text.push_str("table inet fastpath {\n");
    text.push_str("\tcomment \"!fastpath: established flows leave the slow path here\"\n\n");
    text.push_str("\tflowtable ft {\n");
    text.push_str(&flowtable("\t\t", &plan.devices, plan.hardware));
    text.push_str("\t}\n\n\tchain fastpath {\n");
    text.push_str("\t\tcomment \"!fastpath: behind the firewall and the IPS\"\n");
    let _ = writeln!(text, "\t\ttype filter hook forward priority {PRIORITY}; policy accept;\n");
    for rule in rules(plan) {
        let _ = writeln!(text, "\t\t{} comment \"{}\"", rule.text, rule.comment);
    }
    text.push_str("\t}\n}\n");
    text
}

/// A script that removes our table, whether it is there or not.
#[must_use]
pub fn render_remove() -> String {
    REMOVE.to_owned()
}

/// Adds devices to and takes devices from the flowtable that is there, so that the flows over
/// the others stay offloaded. `flags` must repeat what the flowtable has: the kernel refuses
/// an update that differs.
pub(crate) fn render_devices(
    add: &BTreeSet<String>,
    take: &BTreeSet<String>,
    hardware: bool,
) -> String {
    let mut text = String::new();
    for (verb, devices) in [("add", add), ("delete", take)] {
        if !devices.is_empty() {
            let _ = writeln!(text, "{verb} flowtable inet fastpath ft {{");
            text.push_str(&flowtable("\t", devices, hardware));
            text.push_str("}\n");
        }
    }
    text
}

/// A table of another name with only this flowtable: checking it tells whether the kernel takes
/// the device.
pub(crate) fn render_probe(device: &str, hardware: bool) -> String {
    let device = BTreeSet::from([device.to_owned()]);
    let body = flowtable("\t\t", &device, hardware);
    format!("table inet fastpath_probe {{\n\tflowtable ft {{\n{body}\t}}\n}}\n")
}

fn flowtable(indent: &str, devices: &BTreeSet<String>, hardware: bool) -> String {
    let names: Vec<String> = devices.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!("{indent}hook ingress priority filter\n");
    let _ = writeln!(text, "{indent}devices = {{ {} }}", names.join(", "));
    // Without it, the byte counts of a flow stand still while it is offloaded.
    let _ = writeln!(text, "{indent}counter");
    if hardware {
        let _ = writeln!(text, "{indent}flags offload");
    }
    text
}

/// A rule without its comment, and the comment.
struct Rule {
    text: String,
    comment: String,
}

fn rules(plan: &Plan) -> Vec<Rule> {
    let mut rules: Vec<Rule> = (1..)
        .zip(&plan.excludes)
        .flat_map(|(number, exclude)| {
            let name = if exclude.name.is_empty() { "" } else { ": " };
            let comment = format!("!fastpath: exclude {number}{name}{}", exclude.name);
            ["original", "reply"].map(|direction| Rule {
                text: format!("ct direction {direction}{} return", matches(exclude, direction)),
                comment: comment.clone(),
            })
        })
        .collect();
    let (ours, others) = (plan.mark_mask, !plan.mark_mask);
    rules.push(Rule {
        text: format!(
            "meta mark & {ours:#010x} != 0x00000000 meta mark set meta mark & {others:#010x}"
        ),
        comment: format!("!fastpath: clear our bits {ours:#010x} before the reverse route look-up"),
    });
    let digest = digest(plan, &rules);
    rules.push(Rule {
        text: "meta l4proto { tcp, udp } ct state established flow add @ft".to_owned(),
        comment: format!("!fastpath: offload, rules {digest:08x}"),
    });
    rules
}

/// Comments of all rules, in order: what is compared with the kernel.
pub(crate) fn comments(plan: &Plan) -> Vec<String> {
    if plan.has_table() {
        rules(plan).into_iter().map(|rule| rule.comment).collect()
    } else {
        vec![]
    }
}

/// What a packet of the flow must look like in this direction. In the forward hook destination
/// NAT is done and source NAT is still to come, in both directions, so a reply has the same
/// addresses and ports the other way round.
fn matches(exclude: &Exclude, direction: &str) -> String {
    let reply = direction == "reply";
    let (from, to) = if reply { ("d", "s") } else { ("s", "d") };
    let mut text = String::new();
    for (side, network) in [(from, exclude.src), (to, exclude.dest)] {
        if let Some(network) = network {
            let family = if network.address.is_ipv4() { "ip" } else { "ip6" };
            let _ = write!(text, " {family} {side}addr {network}");
        }
    }
    let header = match exclude.proto {
        Some(6) => "tcp",
        Some(17) => "udp",
        _ => "th",
    };
    let ports = [(from, exclude.src_port), (to, exclude.dest_port)];
    if ports.iter().all(|(_, ports)| ports.is_none()) || header == "th" {
        let protocols = if header == "th" { "{ tcp, udp }" } else { header };
        let _ = write!(text, " meta l4proto {protocols}");
    }
    for (side, ports) in ports {
        if let Some(ports) = ports {
            let _ = write!(text, " {header} {side}port {ports}");
        }
    }
    text
}

/// FNV-1a over everything but the devices: the comment that carries it tells whether the rules
/// in the kernel are these, although nft prints them in its own words.
fn digest(plan: &Plan, rules: &[Rule]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut take = |text: &str| {
        for byte in text.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    };
    take(PRIORITY);
    take(plan.engine.name());
    for rule in rules {
        take(&rule.text);
        take(&rule.comment);
    }
    hash
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
