// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use model::{Action, DevicePolicy, Engine, Gate, Spread};

use crate::fixture::inspection;
use crate::inspection::{InspectionRules, Queues};
use crate::plan::{Candidate, Protection};
use crate::settings::Settings;

fn judged(name: &str, action: Action, from: &[&str]) -> DevicePolicy {
    let from = Some(from.iter().map(|&name| name.to_owned()).collect());
    DevicePolicy { name: name.to_owned(), action, from, to: None }
}

fn of(inspection: InspectionRules, blocks: Option<u32>) -> Plan {
    let wan = Candidate { device: "wan".to_owned(), eligible: true, why: config::Cause::default() };
    let protection = Protection { inspection: Some(inspection), blocks };
    crate::plan(&[wan], &Settings::default(), &protection)
}

fn signature(plan: &Plan) -> String {
    comments(plan)["fastpath"].last().cloned().unwrap()
}

#[test]
fn the_digest_covers_all_rules_except_devices_and_gates() {
    let plain = signature(&of(inspection(), None));
    for gate in [Gate::Open, Gate::Closed] {
        assert_eq!(signature(&of(InspectionRules { gate, ..inspection() }, None)), plain);
    }
    let queues = Queues { first: 4, count: 4, spread: Spread::Fanout };
    let fail_open = false;
    assert_eq!(signature(&of(InspectionRules { fail_open, queues, ..inspection() }, None)), plain);

    let policies = vec![judged("x", Action::None, &["lan1"])];
    let first = InspectionRules { policies, ..inspection() };
    let policies = vec![judged("x", Action::None, &["lan2"])];
    let second = InspectionRules { policies, ..inspection() };
    let exempt = InspectionRules { exempt: vec!["10.0.0.0/8".parse().unwrap()], ..inspection() };
    let budget = InspectionRules { budget_bytes: 1, ..inspection() };
    let default = InspectionRules { default: Action::Always, ..inspection() };
    let mut all = vec![plain];
    all.extend([first, second, exempt, budget, default].map(|other| signature(&of(other, None))));
    all.extend([1, 2].map(|limit| signature(&of(inspection(), Some(limit)))));
    let off = Settings { engine: Engine::Off, ..Settings::default() };
    let protection = Protection { inspection: Some(inspection()), blocks: None };
    all.push(signature(&crate::plan(&[], &off, &protection)));
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
}

#[test]
fn every_goto_has_a_target() {
    let policies = vec![
        judged("always", Action::Always, &["lan1"]),
        judged("inspect", Action::Inspect, &["lan2"]),
        judged("none", Action::None, &["lan3"]),
    ];
    for default in [Action::None, Action::Inspect, Action::Always] {
        for policies in [vec![], policies.clone(), vec![judged("void", Action::Always, &[])]] {
            let chains =
                chains(&of(InspectionRules { default, policies, ..inspection() }, Some(1)));
            let names: Vec<_> = chains.iter().map(|chain| chain.name).collect();
            for rule in chains.iter().flat_map(|chain| &chain.rules) {
                let to = rule.text.split_once("goto ").map(|(_, to)| to);
                assert!(to.is_none_or(|to| names.contains(&to)), "{}", rule.text);
            }
        }
    }
}

#[test]
fn comments_fit_into_the_kernels_limit() {
    const MAX_LEN: usize = 127; // NFT_USERDATA_MAXLEN leaves nft 128 bytes with the final NUL.
    let policies = vec![judged(&"x".repeat(64), Action::None, &["lan1"]); 1000];
    let (budget_bytes, budget_packets) = (u64::MAX, u64::MAX);
    let all = InspectionRules { policies, budget_bytes, budget_packets, ..inspection() };
    for comment in comments(&of(all, Some(1))).values().flatten() {
        assert!(comment.len() <= MAX_LEN, "{comment}");
    }
}
