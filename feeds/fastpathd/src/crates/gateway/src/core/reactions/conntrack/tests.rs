// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use model::Engine;
use ruleset::Applied;
use serde_json::json;

use super::*;
use crate::fixture::{ask, established, running};
use crate::sys::kernel::Readings;

#[test]
fn flows_are_shown_with_zone_vlan_path_and_reason() {
    let mut core = running();
    assert_eq!(core.dump_if_due(), [AnyEffect::Conntrack(Effect::Dump)]);
    core.entries_read(&[established(7, true), established(8, false)]);
    core.dump_ended(true);
    let page = ask(&mut core, "flows", json!({"sort": "id", "desc": false}));
    assert_eq!(page["total"], 2);
    let cols: Vec<&str> =
        page["cols"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let cell = |row: usize, name: &str| {
        page["rows"][row][cols.iter().position(|c| *c == name).unwrap()].clone()
    };
    assert_eq!(cell(0, "in_zone"), "lan");
    assert_eq!(cell(0, "in_vlan"), 10);
    assert_eq!(cell(0, "out_zone"), "wan");
    assert_eq!(cell(0, "out_vlan"), 35);
    assert_eq!(cell(0, "path"), "flowtable");
    assert_eq!(cell(1, "path"), "slow");
    assert_ne!(cell(1, "reason"), "");
    core.command(Engine::Off);
    core.applied(Ok(Applied::Removed));
    let page = ask(&mut core, "flows", json!({"filter": {"reason": ["engine-off"]}}));
    assert_eq!(page["matched"], 1, "conntrack still has the other as offloaded: {page}");
}

#[test]
fn young_flows_are_looked_up_while_the_table_is_expensive_to_read() {
    let mut core = running();
    core.dump_if_due();
    core.entries_read(&[established(8, false)]);
    core.dump_ended(true);
    let asked = |effects: Vec<AnyEffect>| {
        effects.into_iter().find_map(|effect| match effect {
            AnyEffect::Conntrack(Effect::LookUp(wanted, _)) => Some(wanted),
            _ => None,
        })
    };
    assert_eq!(asked(core.second(&Readings::default())), None, "read every second anyway");
    core.now.mono += Duration::from_secs(2);
    core.dump_if_due();
    core.cpu_time += Duration::from_secs(1);
    core.entries_read(&[established(8, false)]);
    core.dump_ended(true);
    let wanted = asked(core.second(&Readings::default())).unwrap();
    assert_eq!(wanted, [(0, established(8, false).orig)]);
    core.looked_up(&[established(8, true)], core.conntrack.flows().reading_start());
    let page = ask(&mut core, "flows", json!({"filter": {"path": ["flowtable"]}}));
    assert_eq!(page["matched"], 1);
    assert_eq!(asked(core.second(&Readings::default())), None);
}

#[test]
fn lost_events_are_followed_by_a_dump() {
    let mut core = running();
    assert_eq!(core.dump_if_due(), [AnyEffect::Conntrack(Effect::Dump)]);
    core.dump_ended(true);
    assert!(core.dump_if_due().is_empty(), "not due yet");
    assert_eq!(core.events_lost(), [AnyEffect::Conntrack(Effect::Dump)]);
    assert_eq!(ask(&mut core, "status", json!({}))["conntrack"]["resyncs"], 1);
}

/// Batches leave room for calls and other events.
#[test]
fn flows_missing_from_a_dump_are_removed_in_batches() {
    let mut core = running();
    let entries: Vec<Entry> = (0..3000)
        .map(|id| {
            let mut entry = established(id, false);
            let port = 10_000 + u16::try_from(id).unwrap();
            (entry.orig.sport, entry.reply.dport) = (port, port);
            entry
        })
        .collect();
    core.dump_if_due();
    core.entries_read(&entries);
    let sweep = AnyEffect::Conntrack(Effect::Sweep);
    let mut parts = 0;
    let mut effects = core.dump_ended(true);
    while effects.contains(&sweep) {
        parts += 1;
        effects = core.conntrack_event(Event::Sweep);
    }
    assert_eq!((parts, core.conntrack.flows().len()), (2, 3000), "all are in the dump");
    core.events_lost();
    assert_eq!(core.dump_ended(true).last(), Some(&sweep));
    assert_eq!(core.conntrack.flows().len(), 3000 - 1024);
    core.now.mono += Duration::from_secs(60);
    assert!(core.dump_if_due().is_empty(), "the previous dump has not ended");
    while core.conntrack_event(Event::Sweep).contains(&sweep) {}
    assert_eq!(core.conntrack.flows().len(), 0);
    assert_eq!(core.dump_if_due(), [AnyEffect::Conntrack(Effect::Dump)]);
}

fn health_codes(core: &mut Core) -> Vec<String> {
    let status = ask(core, "status", json!({}));
    let name = |finding: &serde_json::Value| finding["code"].as_str().unwrap().to_owned();
    status["health"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn the_finding_about_lost_events_ends_after_a_minute() {
    let mut core = running();
    core.events_lost();
    core.dump_ended(true);
    assert_eq!(health_codes(&mut core), ["resync"]);
    core.now.mono += Duration::from_secs(60);
    assert!(health_codes(&mut core).is_empty());
    assert_eq!(ask(&mut core, "status", json!({}))["conntrack"]["resyncs"], 1);
}

/// The flow table may lack connections after losses or when full, so the kernel's count decides.
#[test]
fn a_full_conntrack_is_detected_by_the_kernels_count() {
    let mut core = running();
    let mut readings = Readings::default();
    readings.facts.conntrack_max = 65_536;
    readings.facts.conntrack_count = Some(65_536);
    readings.facts.refused = 33_143;
    readings.facts.accounting = Some(true);
    readings.facts.forwarding = Some(true);
    core.second(&readings);
    assert_eq!(health_codes(&mut core), ["conntrack-full"]);
    let conntrack = ask(&mut core, "status", json!({}))["conntrack"].take();
    assert_eq!((&conntrack["count"], &conntrack["total"]), (&json!(0), &json!(65_536)));
    assert_eq!((&conntrack["refused"], &conntrack["unlisted"]), (&json!(33_143), &json!(0)));
}
