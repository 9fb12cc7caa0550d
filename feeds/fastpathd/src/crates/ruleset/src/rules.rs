// SPDX-License-Identifier: GPL-2.0-or-later
//! Chains of `table inet fastpath` with their priorities, the rules for blocks, exclusions,
//! `passed` marks and `flow add`, and the digest in the last comment.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use model::{Exclude, TrafficType};

use crate::block::SETS;
use crate::hosts::{self, KEPT};
use crate::inspection::InspectionRules;
use crate::paused;
use crate::plan::Plan;

mod ended;
mod guard;
mod inspect;
mod names;
mod reached;

/// Hook and priority of the offloading chain: after fw4's forward chain (filter) and the IPS.
const HOOK: (&str, &str) = ("forward", "filter + 20");
/// Priority of the offloading chain, as nft lists it.
pub(crate) const OFFLOAD_PRIORITY: i64 = 20;

pub(crate) const GATE: &str = "ips_queue";

/// Chain of the gate for the router's own DNS.
pub(crate) const NAMES: &str = "ips_names";

/// Chain of the gate for connections beyond the limit of their source.
pub(crate) const EXCESS: &str = "ips_excess";

/// Sets of sources of new connections, with a limit per source.
pub(crate) const SOURCE_SETS: [(&str, &str); 3] =
    [("ips_stations", "ether_addr"), ("ips_sources4", "ipv4_addr"), ("ips_sources6", "ipv6_addr")];

/// Sets of connections (`ct id`, Linux 5.2) with a packet that passed all rules, by direction.
pub(crate) const PASSED_SETS: [&str; 2] = ["passed_original", "passed_reply"];

/// Sets of offloaded connections (`ct id`) with counters of packets that the stack still receives,
/// by direction.
pub const MISSED_SETS: [&str; 2] = ["missed_original", "missed_reply"];

/// `IPS_OFFLOAD`; nft has no name for it.
const OFFLOADED: u32 = 1 << 14;

/// Set of connections (`ct id`) with a packet that the kernel has decrypted or will encrypt.
pub const IPSEC_SET: &str = "encrypted";

pub(crate) use ended::{SETS as ENDED_SETS, tuple as ended_tuple};
pub use guard::BY_CPU;
pub(crate) use guard::{CHAINS as GUARDS, FLOWTABLE, FLOWTABLE_PRIORITY, OWN};

pub(crate) fn is_gate(chain: &str) -> bool {
    matches!(chain, GATE | NAMES | EXCESS)
}

#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) comment: String,
}

impl Rule {
    pub(crate) fn new(text: impl Into<String>, comment: &str) -> Self {
        Self { text: text.into(), comment: format!("!fastpath: {comment}") }
    }
}

pub(crate) struct Chain {
    pub(crate) name: &'static str,
    pub(crate) comment: &'static str,
    /// Hook and priority; `None` for the target of jumps.
    pub(crate) hook: Option<(&'static str, &'static str)>,
    pub(crate) rules: Vec<Rule>,
}

pub(crate) fn counters(plan: &Plan) -> Vec<(&'static str, &'static str)> {
    let mut counters = Vec::new();
    if plan.protection.inspection.is_some() {
        counters.extend([
            ("inspected", "packets handed to Suricata"),
            ("uninspected", "packets that passed the open gate"),
            ("refused", "packets that the closed gate dropped"),
            ("bypassed", "packets with a bypass verdict of Suricata"),
            ("spent", "packets that spent the budget of their connection"),
        ]);
    }
    if plan.protection.blocks.is_some() {
        counters.push(("blocked", "packets of blocked sources, dropped"));
    }
    counters
}

/// Returns all chains in the order in which packets pass them.
pub(crate) fn chains(plan: &Plan) -> Vec<Chain> {
    let mut chains = guard::chains(plan);
    if plan.can_pause() {
        chains.push(paused::chain());
    }
    if plan.protection.blocks.is_some() {
        chains.push(blocks());
    }
    if plan.has_limits() {
        chains.push(hosts::chain());
    }
    if let Some(inspection) = &plan.protection.inspection {
        chains.extend(inspect::chains(plan, inspection));
        chains.extend(names::chains(inspection));
    }
    let mut last = Chain {
        name: "fastpath",
        comment: "!fastpath: behind the firewall and the IPS",
        hook: Some(HOOK),
        rules: offload(plan, &mut chains),
    };
    sign(plan, &chains, &mut last);
    chains.push(last);
    chains
}

/// Returns the comments of the rules by chain, for comparison with the kernel.
pub(crate) fn comments(plan: &Plan) -> BTreeMap<&'static str, Vec<String>> {
    if !plan.has_table() {
        return BTreeMap::new();
    }
    let comments = |chain: Chain| chain.rules.into_iter().map(|rule| rule.comment).collect();
    chains(plan).into_iter().map(|chain| (chain.name, comments(chain))).into_map()
}

pub(crate) fn gates(inspection: &InspectionRules) -> [(&'static str, Rule); 3] {
    let (queues, excess) = (inspection.queues, inspection.queues.excess());
    [
        (GATE, inspect::gate(inspection, queues)),
        (EXCESS, inspect::gate(inspection, excess)),
        (NAMES, names::gate(inspection)),
    ]
}

fn blocks() -> Chain {
    let drop = |(set, _), header, end| {
        let what = if end == "saddr" { "from" } else { "to" };
        let text = format!("{header} {end} @{set} counter name \"blocked\" drop");
        Rule::new(text, &format!("{what} a blocked source"))
    };
    let [v4, v6] = SETS;
    Chain {
        name: "blocks",
        comment: "!fastpath: before the firewall, which may accept",
        hook: Some(("forward", "filter - 5")),
        rules: vec![
            drop(v4, "ip", "saddr"),
            drop(v4, "ip", "daddr"),
            drop(v6, "ip6", "saddr"),
            drop(v6, "ip6", "daddr"),
        ],
    }
}

/// Returns the rules of the offloading chain except the last, and adds the chains that they jump
/// to.
fn offload(plan: &Plan, chains: &mut Vec<Chain>) -> Vec<Rule> {
    let (ours, kept) = (plan.mark_mask, !plan.mark_mask);
    let clear = Rule::new(
        format!("meta mark & {ours:#010x} != 0x00000000 meta mark set meta mark & {kept:#010x}"),
        &format!("clear our bits {ours:#010x} before the reverse route look-up"),
    );
    let mut rules = Vec::new();
    let mut excludes = Vec::new();
    let (mut notes, mut waits) = (Vec::new(), Vec::new());
    if plan.has_flowtable() {
        let devices = tunnels(plan).chain(encapsulated(plan)).chain(shaped(plan));
        excludes.extend(left_out(plan).chain(devices).chain(roaming(plan)));
        excludes.extend(self::excludes(plan, Exclude::is_permanent));
        let (note, ended) = ended::note();
        rules.push(note);
        chains.push(ended);
        let [noting, wait] = both_directions(plan);
        let (before, further) = reached::before(plan, noting);
        chains.extend(further);
        (notes, waits) = (before, wait);
    }
    // The first packets also count as passed, so these rules follow the notes.
    let (mut others, mut first) = (Vec::new(), Vec::new());
    if offloads(plan) {
        others.push(Rule::new(
            "meta l4proto != { tcp, udp } return",
            "only TCP and UDP are offloaded",
        ));
        others.extend(encrypted(plan));
        first.extend(self::excludes(plan, |exclude| !exclude.is_permanent()));
        first.extend(first_packets(plan));
    }
    let missed = plan.has_flowtable().then(missed).into_iter().flatten();
    let kept = plan.keeps_hosts().then(|| {
        let mut rules = vec![clear.clone()];
        if let Some(inspection) = &plan.protection.inspection {
            rules.splice(..0, inspect::passed(inspection.marks));
        }
        let comment = "!fastpath: neither recorded nor offloaded";
        chains.push(Chain { name: KEPT, comment, hook: None, rules });
        Rule::new(format!("ether saddr @{KEPT} goto {KEPT}"), "its flows stay on the slow path")
    });
    match &plan.protection.inspection {
        None => {
            if plan.has_flowtable() && plan.passed().is_none() {
                // An encrypted connection is recorded with its first packet, before the rules that
                // wait.
                if plan.has_ipsec_set() {
                    rules.append(&mut others);
                }
                rules.push(waits.remove(0));
            }
            rules.extend(missed);
            rules.extend(kept);
            rules.extend(excludes);
            rules.push(clear);
            rules.extend(others);
            rules.extend(notes);
            rules.extend(first);
        }
        Some(inspection) => {
            rules.extend(missed);
            rules.extend(kept);
            rules.extend(notes);
            rules.extend(inspect::passed(inspection.marks));
            // Clear the bits on excluded packets, too.
            rules.push(clear);
            rules.extend(others);
            rules.extend(excludes);
            rules.extend(first);
        }
    }
    let mut marks = plan.passed().into_iter().flat_map(passed);
    // Keep this rule while rules are unread: it clears the mark of expected connections.
    rules.extend(marks.next());
    if plan.unread {
        rules
            .push(Rule::new("return".to_owned(), "changed rules of other programs are being read"));
    }
    rules.extend(marks);
    rules.extend(waits);
    rules
}

/// Returns rules that record packets by direction, and rules that wait for the opposite direction.
/// A flowtable adds both directions of a flow at once, so both must have passed all rules. UDP may
/// be answered only once, so each packet of the flow renews the record of the reply.
///
/// The rules match the state first, to reduce the cost of a connection's first packet (measured by
/// `e2e/bench/guest/daemon`).
fn both_directions(plan: &Plan) -> [Vec<Rule>; 2] {
    let clear = if plan.has_ipsec_set() { "meta ipsec missing rt ipsec missing " } else { "" };
    let [original, reply] = PASSED_SETS;
    let directions = [("original", original, reply), ("reply", reply, original)];
    let notes = directions.map(|(direction, set, other)| {
        let text = format!(
            "ct state established ct direction {direction} {clear}meta l4proto {{ tcp, udp }} \
             update @{set} {{ ct id }} meta l4proto udp ct id @{other} update @{other} {{ ct id }}"
        );
        Rule::new(text, &format!("has passed the rules, direction {direction}"))
    });
    let mut waits =
        vec![Rule::new("ct state != established return", "only established ones are offloaded")];
    let others =
        directions.map(|(direction, _, other)| (format!("ct direction {direction} "), other));
    // Packets that reach a per-packet rule are not recorded, so check both sets.
    let both = PASSED_SETS.map(|set| (String::new(), set));
    waits.extend((if plan.packet_chains.is_empty() { others } else { both }).map(|(of, set)| {
        let what = if of.is_empty() { "a" } else { "the other" };
        let comment = format!("{what} direction has not passed the rules");
        Rule::new(format!("{of}ct id != @{set} return"), &comment)
    }));
    waits.extend(ended::waits());
    [notes.into(), waits]
}

/// Returns rules that count packets of offloaded connections that missed their flowtable entry.
fn missed() -> [Rule; 2] {
    let [original, reply] = MISSED_SETS;
    [("original", original), ("reply", reply)].map(|(direction, set)| {
        let text = format!(
            "ct status & {OFFLOADED:#06x} == {OFFLOADED:#06x} ct direction {direction} \
             update @{set} {{ ct id }}"
        );
        Rule::new(text, &format!("offloaded, but seen here, direction {direction}"))
    })
}

/// Returns rules that keep encrypted and decrypted packets from adding a flow. A flowtable would
/// accept plain text with the tuple of an encrypted connection, and could send plain text.
fn encrypted(plan: &Plan) -> impl Iterator<Item = Rule> {
    let ends: &[_] = if plan.has_ipsec_set() { &["rt", "meta"] } else { &[] };
    ends.iter().map(|end| {
        let text = format!("{end} ipsec exists update @{IPSEC_SET} {{ ct id }} return");
        let what = if *end == "rt" { "to be encrypted" } else { "decrypted" };
        Rule::new(text, &format!("{what} by the kernel: stays on the slow path"))
    })
}

/// Excludes flows of roaming hosts, because each move renews the whole flowtable.
fn roaming(plan: &Plan) -> impl Iterator<Item = Rule> {
    let (v4, v6): (Vec<_>, Vec<_>) = plan.roaming.iter().partition(|address| address.is_ipv4());
    let families = [("ip", v4), ("ip6", v6)].into_iter().filter(|(_, found)| !found.is_empty());
    families.flat_map(|(family, found)| {
        let found: Vec<String> = found.into_iter().map(ToString::to_string).collect();
        ["saddr", "daddr"].map(|end| {
            let text = format!("{family} {end} {{ {} }} return", found.join(", "));
            Rule::new(text, "keeps moving: stays on the slow path")
        })
    })
}

/// Returns rules that mark the direction of a packet as passed, and clear inherited marks.
fn passed([original, reply]: [u32; 2]) -> [Rule; 3] {
    let both = original | reply;
    let note = |direction: &str, bit: u32| {
        let text = format!(
            "ct direction {direction} ct mark & {bit:#010x} == 0x00000000 \
             ct mark set ct mark | {bit:#010x}"
        );
        Rule::new(text, &format!("passed the rules, direction {direction}"))
    };
    [
        // The kernel copies the master's mark to an expected connection.
        Rule::new(
            format!(
                "ct state related ct status expected ct mark & {both:#010x} != 0x00000000 \
                 ct mark set ct mark & {:#010x}",
                !both
            ),
            "an expected connection has not passed because its master has",
        ),
        note("original", original),
        note("reply", reply),
    ]
}

/// Excludes IP versions, and device kinds at layer 3 including devices that appear later
/// (`meta iifkind`: Linux 5.1).
fn left_out(plan: &Plan) -> impl Iterator<Item = Rule> {
    plan.left_out.iter().flat_map(|traffic| {
        let (what, matches) = match (traffic, traffic.device_kind()) {
            (_, None) => (format!("{traffic} is"), vec![format!("nfproto {traffic}")]),
            (_, Some(kind)) => {
                let what = match traffic {
                    TrafficType::Vlan => "VLAN devices are".to_owned(),
                    TrafficType::Pppoe => "PPPoE sessions are".to_owned(),
                    _ => format!("{kind} tunnels are"),
                };
                (what, ["iifkind", "oifkind"].map(|end| format!("{end} \"{kind}\"")).into())
            }
        };
        let comment = format!("{what} switched off");
        matches.into_iter().map(move |one| Rule::new(format!("meta {one} return"), &comment))
    })
}

/// Excludes flows over shaped devices, in both directions.
fn shaped(plan: &Plan) -> impl Iterator<Item = Rule> {
    over(&plan.shaped, "shaped: stays on the slow path")
}

fn tunnels(plan: &Plan) -> impl Iterator<Item = Rule> {
    over(&plan.tunnels, "tunnel: stays on the slow path")
}

fn encapsulated(plan: &Plan) -> impl Iterator<Item = Rule> {
    over(&plan.encapsulated, "headers that a flowtable cannot read: stays on the slow path")
}

/// Excludes packets that enter or leave through these devices.
fn over(devices: &BTreeSet<String>, comment: &str) -> impl Iterator<Item = Rule> {
    let names: Vec<String> = devices.iter().map(|name| format!("\"{name}\"")).collect();
    let ends: &[&str] = if names.is_empty() { &[] } else { &["iifname", "oifname"] };
    ends.iter().map(move |end| {
        let text = format!("{end} {{ {} }} return", names.join(", "));
        Rule::new(text, comment)
    })
}

/// Returns rules for exclusions, numbered as configured. Permanent exclusions need no rule with
/// eBPF, which applies them itself. Only these rules know packet counts, so they withhold the
/// `passed` mark.
fn excludes(plan: &Plan, wanted: fn(&Exclude) -> bool) -> impl Iterator<Item = Rule> {
    let numbered = (1..).zip(&plan.excludes).filter(move |(_, exclude)| wanted(exclude));
    numbered.flat_map(|(number, exclude)| {
        let name = if exclude.name.is_empty() { "" } else { ": " };
        let comment = format!("exclude {number}{name}{}", exclude.name);
        let first = exclude.slow_packets.map_or_else(String::new, |n| format!(" {}", before(n)));
        ["original", "reply"].map(|direction| {
            let matches = matches(exclude, direction);
            Rule::new(format!("ct direction {direction}{matches}{first} return"), &comment)
        })
    })
}

fn first_packets(plan: &Plan) -> Option<Rule> {
    let packets = Some(plan.slow_packets).filter(|packets| *packets != 0)?;
    let text = format!("{} return", before(packets));
    Some(Rule::new(text, &format!("the first {packets} packets stay on the slow path")))
}

/// Matches packets below this number in their connection. Connections without accounting at their
/// start have a count of 0 and stay slow.
fn before(packets: u32) -> String {
    format!("ct packets < {packets}")
}

fn offloads(plan: &Plan) -> bool {
    plan.has_flowtable() || plan.passed().is_some()
}

/// Returns conditions for packets in this direction. The forward hook runs after destination NAT
/// and before source NAT, so a reply has the same addresses and ports, swapped.
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

/// Appends `flow add`, or a rule without effect if there is no flowtable. The comment contains the
/// digest.
fn sign(plan: &Plan, others: &[Chain], last: &mut Chain) {
    let digest = digest(plan, others, &last.rules);
    last.rules.push(if plan.has_flowtable() {
        Rule::new("flow add @ft", &format!("offload, rules {digest:08x}"))
    } else {
        Rule::new("return", &format!("nothing is offloaded, rules {digest:08x}"))
    });
}

/// Computes FNV-1a over everything except devices and gates. The digest identifies the rules in the
/// kernel, because nft prints them differently.
fn digest(plan: &Plan, others: &[Chain], last: &[Rule]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut take = |text: &str| {
        for byte in text.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    };
    take(HOOK.1);
    take(if plan.has_flowtable() { plan.engine.name() } else { "off" });
    for chain in others.iter().filter(|chain| !is_gate(chain.name)) {
        take(chain.name);
        let (hook, priority) = chain.hook.unwrap_or_default();
        take(hook);
        take(priority);
        for rule in &chain.rules {
            take(&rule.text);
            take(&rule.comment);
        }
    }
    for rule in last {
        take(&rule.text);
        take(&rule.comment);
    }
    if let Some(limit) = plan.protection.blocks {
        take(&limit.to_string());
    }
    take(&hosts::fixed(plan));
    hash
}

#[cfg(test)]
mod tests;
