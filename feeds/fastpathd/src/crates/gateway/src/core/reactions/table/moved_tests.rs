// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests ports that leave their bridge or a VLAN, and marks that change, with an offloaded flow.

use std::time::Duration;

use ctnetlink::Entry;
use ruleset::ForeignRules;
use serde_json::json;
use topology::{BridgeVlan, Change, Link, PortVlan};

use super::*;
use crate::conntrack::Event;
use crate::fixture::{established, running};
use crate::offload;
use crate::offload::flowtable::Job;

fn renews(effects: &[AnyEffect]) -> bool {
    let is_renewal = |effect: &AnyEffect| {
        matches!(effect, AnyEffect::Offload(offload::Effect::Run(Job::Renew(_))))
    };
    effects.iter().any(is_renewal)
}

/// Returns a core with an offloaded flow of a host behind lan1.
fn with_offloaded_flow() -> Core {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    core.now.mono += Duration::from_secs(10);
    core
}

#[test]
fn a_port_that_leaves_a_vlan_renews_the_flowtable() {
    let mut core = with_offloaded_flow();
    let member = |index, vid| BridgeVlan {
        index,
        vlans: vec![PortVlan { vid, tagged: index == 2, pvid: index == 1 }],
    };
    let same = Change::BridgeVlans(vec![member(1, 10), member(2, 20)]);
    assert!(!renews(&core.network_changed(vec![same])), "the same");
    let moved = Change::BridgeVlans(vec![member(1, 20), member(2, 20)]);
    assert!(renews(&core.network_changed(vec![moved])));
}

#[test]
fn a_port_that_leaves_its_bridge_renews_the_flowtable() {
    let mut core = with_offloaded_flow();
    let lan1 = core.network.topology().link_named("lan1").unwrap().clone();
    let alone = Change::Link(Link { master: None, ..lan1 });
    core.network_changed(vec![alone]);
    // The job that removes the port's addresses from the table comes first.
    assert!(renews(&core.applied(Ok(Applied::Replaced))));
}

#[test]
fn a_mark_that_now_matches_a_limit_renews_the_flowtable() {
    let mut core = running();
    let mark = json!({"ct": {"key": "mark"}});
    core.rules_read(Ok(ForeignRules::parse(&json!({"nftables": [
        {"chain": {"family": "inet", "table": "qos", "name": "down", "type": "filter",
            "hook": "forward", "prio": 0, "policy": "accept"}},
        {"rule": {"family": "inet", "table": "qos", "chain": "down", "handle": 7,
            "expr": [{"match": {"op": "==", "left": mark, "right": 5}},
                {"limit": {"rate": 500, "per": "second", "inv": true}}, {"drop": null}]}},
    ]}))));
    core.applied(Ok(Applied::Replaced));
    core.entries_read(&[established(1, true)]);
    let marked = |core: &mut Core, mark| {
        core.now.mono += Duration::from_secs(10);
        let entry = Entry { mark, ..established(1, true) };
        core.conntrack_event(Event::Changed(vec![ctnetlink::Event::Update(entry)]));
        renews(&core.flows_strayed().into_iter().collect::<Vec<_>>())
    };
    assert!(!marked(&mut core, 4), "no rule matches it");
    assert!(marked(&mut core, 5));
    core.applied(Ok(Applied::Replaced));
    assert!(!marked(&mut core, 5), "the same mark");
}
