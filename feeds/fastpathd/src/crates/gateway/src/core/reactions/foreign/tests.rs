// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use ctnetlink::Revision;
use ruleset::Applied;
use serde_json::json;

use super::*;
use crate::core::reactions::table::tests::plan_of;
use crate::fixture::{ask, established, running};
use crate::offload;
use crate::offload::flowtable::Job;

#[test]
fn nothing_is_offloaded_while_changed_rules_are_unknown() {
    let mut core = running();
    let rules = Revision { others: true, ..Revision::default() };
    let effects = core.rules_changed(rules);
    assert!(plan_of(&effects).unwrap().unread, "nothing is forwarded yet");
    assert!(effects.contains(&AnyEffect::Offload(offload::Effect::ReadRules)), "{effects:?}");
    // Another change precedes the answer, which may lack it.
    core.rules_changed(rules);
    core.applied(Ok(Applied::Replaced));
    let effects = core.rules_read(Ok(ruleset::ForeignRules::default()));
    assert_eq!(plan_of(&effects), None);
    core.now.mono += Duration::from_secs(2);
    let effects = core.flowtable_second();
    assert!(effects.contains(&AnyEffect::Offload(offload::Effect::ReadRules)), "{effects:?}");
    let effects = core.rules_read(Err("nft is killed".to_owned()));
    assert_eq!(plan_of(&effects), None);
    let engine = ask(&mut core, "status", json!({}))["engine"].take();
    assert_eq!(engine["cause"]["code"], "unread");
    core.now.mono += Duration::from_secs(31);
    core.flowtable_second();
    core.rules_read(Ok(ruleset::ForeignRules::default()));
    let effects = core.applied(Ok(Applied::Unchanged));
    assert!(!plan_of(&effects).unwrap().unread);
    core.applied(Ok(Applied::Replaced));
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["why"], "");
}

/// Returns rules of another program that rate-limit packets to these addresses.
fn limited(addresses: &[&str]) -> ruleset::ForeignRules {
    let address = json!({"payload": {"protocol": "ip", "field": "daddr"}});
    let right = json!({"set": addresses});
    ruleset::ForeignRules::parse(&json!({"nftables": [
        {"chain": {"family": "inet", "table": "qos", "name": "down", "type": "filter",
            "hook": "forward", "prio": 0, "policy": "accept"}},
        {"rule": {"family": "inet", "table": "qos", "chain": "down", "handle": 7, "comment": "slow",
            "expr": [{"match": {"op": "==", "left": address, "right": right}},
                {"limit": {"rate": 500, "per": "second", "inv": true}}, {"drop": null}]}},
    ]}))
}

#[test]
fn a_rule_that_acts_on_each_packet_keeps_its_flows_on_the_slow_path() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let source = established(1, false).orig.src.to_string();
    let effects = core.rules_changed(Revision { others: true, ..Revision::default() });
    assert!(effects.contains(&AnyEffect::Offload(offload::Effect::ReadRules)), "{effects:?}");
    core.applied(Ok(Applied::Replaced));
    let effects = core.rules_read(Ok(limited(&[&source])));
    let Some(AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))) = effects.first()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.packet_chains.len(), 1);
    core.applied(Ok(Applied::Replaced));
    core.entries_read(&[established(1, false)]);
    let rule = json!("inet qos down handle 7 (slow)");
    assert_eq!(ask(&mut core, "status", json!({}))["engine"]["packet_rules"], json!([rule]));
    let flow = ask(&mut core, "flow", json!({"id": 1}));
    assert_eq!((&flow["flow"]["reason"], &flow["rule"]), (&json!("rule-per-packet"), &rule));
    // The rule now limits another host.
    core.now.mono += Duration::from_secs(2);
    core.rules_changed(Revision { others: true, ..Revision::default() });
    core.applied(Ok(Applied::Replaced));
    core.rules_read(Ok(limited(&["192.0.2.200"])));
    core.applied(Ok(Applied::Replaced));
    core.entries_read(&[established(1, false)]);
    let flow = ask(&mut core, "flow", json!({"id": 1}));
    assert_ne!(flow["flow"]["reason"], "rule-per-packet");
    assert_eq!(flow["rule"], "");
}

#[test]
fn rules_are_read_at_most_every_two_seconds_and_again_after_a_failure() {
    let mut core = running();
    let changed = |core: &mut Core| {
        let effects = core.rules_changed(Revision { others: true, ..Revision::default() });
        effects.contains(&AnyEffect::Offload(offload::Effect::ReadRules))
    };
    let reads =
        |effects: Vec<AnyEffect>| effects.contains(&AnyEffect::Offload(offload::Effect::ReadRules));
    assert!(changed(&mut core));
    assert!(!changed(&mut core), "one at a time");
    assert!(!reads(core.rules_read(Ok(limited(&[])))));
    core.now.mono += Duration::from_secs(2);
    assert!(reads(core.flowtable_second()));
    assert!(!reads(core.rules_read(Err("nft".to_owned()))));
    core.now.mono += Duration::from_secs(31);
    assert!(reads(core.flowtable_second()));
    let elements = Revision { elements: true, ..Revision::default() };
    core.rules_read(Ok(limited(&["192.0.2.200"])));
    core.now.mono += Duration::from_secs(31);
    assert!(!reads(core.rules_changed(elements)), "no set is looked up");
}
