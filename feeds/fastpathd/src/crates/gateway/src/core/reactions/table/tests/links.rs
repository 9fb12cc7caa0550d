// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the table after new links.

use super::*;

#[test]
fn a_new_tunnel_that_adapts_its_mtu_renews_nothing() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let known = core.network.topology().link_named("br-lan.10").unwrap().clone();
    let kind = topology::LinkKind::Other("gre".into());
    let new = topology::Link { index: 99, name: "gre1".into(), kind, up: false, ..known };
    for link in [
        topology::Link { mtu: 1476, mtu6: u32::MAX, ..new.clone() },
        topology::Link { mtu: 1468, mtu6: u32::MAX, ..new.clone() },
        topology::Link { mtu: 1468, mtu6: u32::MAX, up: true, ..new.clone() },
        topology::Link { mtu: 1468, mtu6: 1468, up: true, ..new },
    ] {
        let effects = core.network_changed(vec![topology::Change::Link(link.clone())]);
        assert!(!renews(&effects), "{link:?}");
    }
}

#[test]
fn a_second_tag_below_pppoe_keeps_flows_on_the_slow_path_with_reason_encapsulated() {
    let mut core = running();
    core.entries_read(&[established(1, true)]);
    let inner = core.network.topology().link_named("wan.35").unwrap().clone();
    let outer = topology::Link {
        index: core.network.topology().links().map(|l| l.index).max().unwrap() + 1,
        name: "isp".into(),
        kind: topology::LinkKind::Vlan { id: 100, service: true },
        ..inner.clone()
    };
    let inner = topology::Link { lower: Some(outer.index), ..inner };
    let effects =
        core.network_changed(vec![topology::Change::Link(outer), topology::Change::Link(inner)]);
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(plan.encapsulated.iter().collect::<Vec<_>>(), ["pppoe-wan"]);
    core.applied(Ok(Applied::Replaced));
    core.now.mono += Duration::from_secs(1);
    core.entries_read(&[established(1, false)]);
    let flows = ask(&mut core, "flows", json!({}));
    let column = flows["cols"].as_array().unwrap().iter().position(|c| c == "reason").unwrap();
    assert_eq!(flows["rows"][0][column], "encapsulated");
    let status = ask(&mut core, "status", json!({}));
    let wan = &status["wan"][0];
    assert_eq!((&wan["vlan"], &wan["inner_vlan"]), (&json!(100), &json!(35)));
    let topology = ask(&mut core, "topology", json!({}));
    let links = topology["links"].as_array().unwrap();
    let session = links.iter().find(|link| link["name"] == "pppoe-wan").unwrap();
    assert_eq!(session["cause"]["code"], "encapsulated");
}
