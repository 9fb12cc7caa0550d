// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps flows on the slow path if packets reach another program's rule that acts on each packet.
//! The chains run before packets are recorded as passed, so one direction suffices.

use std::fmt::Write;

use model::{Condition, NatStage, Outcome, PacketChain, Step, Test};

use crate::plan::Plan;
use crate::rules::{Chain, Rule};

/// Chain names, one per base chain; further base chains share the last.
const CHAINS: [&str; 8] =
    ["rules_1", "rules_2", "rules_3", "rules_4", "rules_5", "rules_6", "rules_7", "rules_8"];

const NOTES: &str = "noted";

/// Limit of a comment in bytes; nft allows 128.
const MAX_COMMENT: usize = 100;

/// Returns the recording rules, and the chains that lead to them.
pub(super) fn before(plan: &Plan, notes: Vec<Rule>) -> (Vec<Rule>, Vec<Chain>) {
    let Some(last) = plan.packet_chains.len().min(CHAINS.len()).checked_sub(1) else {
        return (notes, Vec::new());
    };
    let (single, shared) = plan.packet_chains.split_at(last);
    let finished = |(number, chain): (usize, &PacketChain)| {
        let next = CHAINS[number + 1];
        finished(CHAINS[number], written(chain, next), next)
    };
    let mut chains: Vec<Chain> = single.iter().enumerate().map(finished).collect();
    // Omit leaving steps: they would skip the other base chains of the shared chain.
    let kept = |step: &&Step| shared.len() == 1 || step.outcome != Outcome::Leaves;
    let rules = shared.iter().flat_map(|chain| {
        let steps = chain.steps.iter().filter(kept).cloned().collect();
        written(&PacketChain { steps, stage: chain.stage }, NOTES)
    });
    chains.push(self::finished(CHAINS[last], rules.collect(), NOTES));
    chains.push(Chain {
        name: NOTES,
        comment: "!fastpath: notes packets behind all rules",
        hook: None,
        rules: notes,
    });
    let jump = Rule::new(
        format!("ct state established meta l4proto {{ tcp, udp }} jump {}", CHAINS[0]),
        "rules of other programs that act on each packet",
    );
    (vec![jump], chains)
}

fn finished(name: &'static str, mut rules: Vec<Rule>, next: &str) -> Chain {
    rules.push(Rule::new(format!("goto {next}"), "reaches no such rule"));
    let comment = "!fastpath: packets that reach a rule acting on each packet";
    Chain { name, comment, hook: None, rules }
}

fn written(chain: &PacketChain, next: &str) -> Vec<Rule> {
    let directed = |step: &Step| {
        chain.stage != NatStage::Between
            && step
                .conditions
                .iter()
                .any(|one| matches!(one.test, Test::Address { .. } | Test::Port { .. }))
    };
    let mut rules = Vec::new();
    for step in &chain.steps {
        let (verdict, comment) = match &step.outcome {
            Outcome::Leaves => (format!("goto {next}"), "leaves that chain before".to_owned()),
            Outcome::Reaches(rule) => {
                let clean = |c: char| c.is_ascii_alphanumeric() || " ._-".contains(c);
                let name = format!(
                    "reaches {} {} {} handle {}",
                    rule.family, rule.table, rule.chain, rule.handle
                );
                (
                    "return".to_owned(),
                    name.chars().filter(|c| clean(*c)).take(MAX_COMMENT).collect(),
                )
            }
        };
        let directions: &[Option<bool>] =
            if directed(step) { &[Some(false), Some(true)] } else { &[None] };
        for reply in directions {
            let text = conditions(step, chain.stage, *reply);
            rules.push(Rule::new(format!("{text}{verdict}"), &comment));
        }
    }
    rules
}

fn conditions(step: &Step, stage: NatStage, reply: Option<bool>) -> String {
    let mut text = match reply {
        None => String::new(),
        Some(reply) => format!("ct direction {} ", direction(reply)),
    };
    for condition in &step.conditions {
        let _ = write!(text, "{} ", matching(condition, stage, reply.unwrap_or(false)));
    }
    text
}

fn direction(reply: bool) -> &'static str {
    if reply { "reply" } else { "original" }
}

fn matching(condition: &Condition, stage: NatStage, reply: bool) -> String {
    let Condition { test, holds } = condition;
    let not = if *holds { "" } else { "!= " };
    match test {
        Test::Ipv6 => format!("meta nfproto {}", if *holds { "ipv6" } else { "ipv4" }),
        Test::Reply => format!("ct direction {}", direction(*holds)),
        Test::Proto(proto) => format!("meta l4proto {not}{proto}"),
        Test::Address { source, ranges } => {
            let family = if ranges.iter().all(|r| r.0.is_ipv4()) { "ip" } else { "ip6" };
            let key = match tuple(stage, *source, reply) {
                None => format!("{family} {}addr", end(*source)),
                Some((of, source)) => format!("ct {of} {family} {}addr", end(source)),
            };
            format!("{key} {not}{}", list(ranges))
        }
        Test::Port { source, ranges } => {
            let key = match tuple(stage, *source, reply) {
                None => format!("th {}port", end(*source)),
                Some((of, true)) => format!("ct {of} proto-src"),
                Some((of, false)) => format!("ct {of} proto-dst"),
            };
            format!("{key} {not}{}", list(ranges))
        }
        Test::Device { leaving, names } => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let side = if *leaving { "oifname" } else { "iifname" };
            let names = if names.len() == 1 {
                names.concat()
            } else {
                format!("{{ {} }}", names.join(", "))
            };
            format!("{side} {not}{names}")
        }
        Test::Mark { mask, value } => {
            let is = if *holds { "==" } else { "!=" };
            format!("ct mark & {mask:#010x} {is} {value:#010x}")
        }
        Test::FewerPackets(packets) => {
            format!("ct packets {} {packets}", if *holds { "<" } else { ">=" })
        }
    }
}

fn end(source: bool) -> &'static str {
    if source { "s" } else { "d" }
}

/// Returns the conntrack direction and end with the address that a chain at this stage sees; `None`
/// if the forward hook sees the same address.
fn tuple(stage: NatStage, source: bool, reply: bool) -> Option<(&'static str, bool)> {
    match stage {
        NatStage::Between => None,
        NatStage::Before => Some((direction(reply), source)),
        NatStage::After => Some((direction(!reply), !source)),
    }
}

fn list<T: ToString + PartialEq>(ranges: &[(T, T)]) -> String {
    let range = |(first, last): &(T, T)| {
        let first_text = first.to_string();
        if first == last { first_text } else { format!("{first_text}-{}", last.to_string()) }
    };
    let ranges: Vec<String> = ranges.iter().map(range).collect();
    if ranges.len() == 1 { ranges.concat() } else { format!("{{ {} }}", ranges.join(", ")) }
}
