// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the table after dumps and events.

use crate::support::{
    self, Net, START_MS, TCP, UDP, at, counted, dump, dump_in, entry, flowtable, named, offloaded,
    only, rows, tuple, uncounted, verdict, watching, web, with_status,
};
use ctnetlink::{Entry, Event, Status, TcpState};
use flows::{EngineState, FlowTable};
use serde_json::{Value, json};

fn event(table: &mut FlowTable, seconds: f64, event: &Event) {
    table.event(event, at(seconds), &Net::default());
}

#[test]
fn computes_rates_between_two_dumps() {
    let mut table = watching();
    dump(&mut table, 1.0, &[counted(web(1), 1000, 2000)]);
    dump(&mut table, 3.0, &[counted(web(1), 6000, 502_000)]);
    let row = only(&table, 3.0);
    assert_eq!((&row["up_bps"], &row["down_bps"]), (&json!(20_000), &json!(2_000_000)));
    assert_eq!((&row["up_bytes"], &row["down_bytes"]), (&json!(6000), &json!(502_000)));
    assert_eq!((&row["up_packets"], &row["down_packets"]), (&json!(6), &json!(502)));
    assert_eq!(table.totals().paths.slow.bps, 2_020_000);
    assert_eq!(table.totals().paths.slow.pps, 253, "rounded from 252.5");
}

#[test]
fn the_rate_of_a_quiet_flow_decays_to_zero() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1)]);
    dump(&mut table, 2.0, &[counted(web(1), 0, 1_000_000)]);
    let mut before = 8_000_000;
    for second in 3..=6 {
        dump(&mut table, f64::from(second), &[counted(web(1), 0, 1_000_000)]);
        let rate = only(&table, f64::from(second))["down_bps"].as_i64().expect("a rate");
        assert!(rate > 0 && rate < before / 2, "{rate} after {before}");
        before = rate;
    }
    dump(&mut table, 8.0, &[counted(web(1), 0, 1_000_000)]);
    let row = only(&table, 8.0);
    assert_eq!((&row["down_bps"], &row["idle_s"]), (&json!(0), &json!(6)));
    assert_eq!(table.totals().paths.slow.bps, 0, "totals do not decay");
}

#[test]
fn counts_an_entry_repeated_in_a_dump_once() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1)]);
    let grown = counted(web(1), 0, 125_000);
    dump(&mut table, 2.0, &[grown, grown]);
    assert_eq!(only(&table, 2.0)["down_bps"], 1_000_000);
    assert_eq!(table.totals().paths.slow.bytes, 125_000);
    // A repeated reading must not shorten the interval of the next rate.
    table.merge(&counted(web(1), 0, 150_000), at(2.05), &Net::default());
    dump(&mut table, 3.0, &[counted(web(1), 0, 250_000)]);
    assert_eq!(only(&table, 3.0)["down_bps"], 1_000_000);
}

#[test]
fn totals_exclude_bytes_from_before_the_daemon() {
    let mut table = FlowTable::new();
    table.engine(flowtable(), at(0.0));
    event(&mut table, 0.5, &Event::Update(uncounted(web(2))));
    dump(&mut table, 1.0, &[counted(web(1), 0, 9_000_000), counted(web(2), 0, 9_000_000)]);
    assert_eq!(table.totals().paths.slow.bytes, 0);
    assert_eq!(table.totals().ratio.total, None, "no traffic");
    dump(&mut table, 2.0, &[counted(web(1), 0, 9_001_000), counted(web(2), 0, 9_000_000)]);
    assert_eq!(table.totals().paths.slow.bytes, 1000);
    // A flow missing in the first dump is new.
    let new = counted(web(3), 0, 500);
    let old = [counted(web(1), 0, 9_001_000), counted(web(2), 0, 9_000_000), new];
    dump(&mut table, 3.0, &old);
    assert_eq!(table.totals().paths.slow.bytes, 1500);
}

#[test]
fn the_destroy_event_adds_the_last_bytes() {
    let mut table = watching();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    assert_eq!(table.len(), 1);
    event(&mut table, 1.05, &Event::Destroy(counted(web(1), 1000, 4000)));
    assert_eq!(table.len(), 0);
    let slow = table.totals().paths.slow;
    assert_eq!((slow.flows, slow.bytes, slow.packets), (0, 5000, 5));
    dump(&mut table, 2.0, &[counted(web(2), 0, 1000)]);
    event(&mut table, 2.05, &Event::Destroy(counted(web(2), 0, 2500)));
    assert_eq!(table.totals().paths.slow.bytes, 7500, "right after a reading");
    event(&mut table, 3.0, &Event::Destroy(counted(web(9), 1000, 4000)));
    assert_eq!(table.totals().paths.slow.bytes, 7500, "unknown flow");
}

#[test]
fn removes_flows_missing_in_a_dump_unless_it_was_interrupted() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1), web(2), web(3)]);
    table.dump_begin(at(2.0));
    table.dump_end(at(2.0), false);
    assert_eq!(table.len(), 3, "the interrupted dump may be incomplete");
    table.dump_begin(at(3.0));
    table.merge(&web(2), at(3.0), &Net::default());
    event(&mut table, 3.0, &Event::New(uncounted(web(4))));
    table.dump_end(at(3.1), true);
    let mut ids: Vec<_> = rows(&table, 3.1, &json!({})).iter().map(|r| r["id"].clone()).collect();
    ids.sort_by_key(serde_json::Value::as_u64);
    assert_eq!(ids, [2, 4], "flows that began during the dump stay");
    assert_eq!(table.totals().paths.slow.flows, 2);
}

#[test]
fn ignores_an_entry_read_before_its_destroy_event() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1)]);
    table.dump_begin(at(2.0));
    event(&mut table, 2.0, &Event::Destroy(counted(web(1), 0, 1000)));
    table.merge(&counted(web(1), 0, 1000), at(2.0), &Net::default());
    table.dump_end(at(2.0), true);
    assert_eq!((table.len(), table.totals().paths.slow.bytes), (0, 1000));
    dump(&mut table, 3.0, &[web(1)]);
    assert_eq!(table.len(), 1, "a later dump adds the flow");
}

#[test]
fn a_new_connection_with_a_reused_id_starts_from_zero() {
    let started = |ms: u64, entry| Entry { start_ns: Some(ms * 1_000_000), ..entry };
    let opening = |entry| Entry { tcp_state: Some(TcpState::SynRecv), ..entry };
    let unanswered = |entry| Entry { status: Status::CONFIRMED, ..entry };
    let first = counted(web(1), 0, 80_000);
    let second = counted(web(1), 0, 3000);
    for (first, second) in [
        (started(START_MS, first), started(START_MS + 9000, second)),
        (first, opening(second)),
        (first, unanswered(second)),
    ] {
        let mut table = watching();
        dump(&mut table, 1.0, &[counted(first, 0, 50_000)]);
        dump(&mut table, 10.0, &[first]);
        dump(&mut table, 11.0, &[second]);
        let row = only(&table, 11.0);
        assert_eq!(row["down_bytes"], 3000);
        assert!(row["age_s"].as_u64().expect("an age") < 5);
        assert_eq!(table.totals().paths.slow.bytes, 83_000);
        assert_eq!(table.totals().paths.slow.flows, 1);
    }
}

#[test]
fn distinguishes_two_flows_with_the_same_kernel_id() {
    let mut table = watching();
    let other = Entry { orig: tuple(UDP, "10.20.0.5", 5, "192.0.2.1", 53), ..web(1) };
    let both = [counted(web(1), 0, 1000), counted(other, 0, 7000)];
    dump(&mut table, 1.0, &both);
    dump(&mut table, 2.0, &both);
    let rows = rows(&table, 2.0, &json!({ "sort": "bytes" }));
    assert_eq!((&rows[0]["down_bytes"], &rows[1]["down_bytes"]), (&json!(7000), &json!(1000)));
    let ids: Vec<u64> = rows.iter().map(|row| row["id"].as_u64().expect("an id")).collect();
    assert_ne!(ids[0], ids[1]);
    for (id, row) in ids.iter().zip(&rows) {
        let detail = table.flow(*id, at(2.0)).expect("known");
        assert_eq!(named(&detail)["src"], row["src"]);
    }
    dump(&mut table, 3.0, &both[..1]);
    assert_eq!(only(&table, 3.0)["down_bytes"], 1000);
    let zoned = Entry { zone: 7, ..web(1) };
    dump(&mut table, 4.0, &[both[0], zoned]);
    assert_eq!(table.len(), 2, "another conntrack zone");
}

#[test]
fn finds_flows_by_id_after_removal_of_other_flows() {
    let mut table = watching();
    let all: Vec<Entry> = (1..=100).map(web).collect();
    dump(&mut table, 1.0, &all);
    for id in (1..=100).filter(|id| id % 3 != 0) {
        event(&mut table, 2.0, &Event::Destroy(web(id)));
    }
    for id in 1..=100_u32 {
        let found = table.flow(u64::from(id), at(2.0));
        assert_eq!(found.is_some(), id % 3 == 0, "{id}");
        if let Some(detail) = found {
            assert_eq!(named(&detail)["sport"], web(id).orig.sport);
        }
    }
    let left: Vec<Entry> = all.into_iter().filter(|entry| entry.id % 3 == 0).collect();
    dump(&mut table, 3.0, &left);
    assert_eq!(table.len(), 33);
}

#[test]
fn credits_bytes_to_the_path_that_forwarded_them() {
    let mut table = watching();
    event(&mut table, 1.0, &Event::New(uncounted(web(1))));
    dump(&mut table, 2.0, &[offloaded(counted(web(1), 0, 900_000))]);
    let paths = table.totals().paths;
    assert_eq!((paths.slow.bytes, paths.flowtable.bytes), (0, 900_000), "offloaded");
    let fin = Entry { tcp_state: Some(TcpState::TimeWait), ..uncounted(web(1)) };
    event(&mut table, 2.5, &Event::Update(fin));
    event(&mut table, 3.0, &Event::Destroy(counted(web(1), 0, 1_000_000)));
    let totals = table.totals();
    assert_eq!(totals.paths.flowtable.bytes, 1_000_000, "offloaded until the end");
    event(&mut table, 4.0, &Event::New(uncounted(web(2))));
    dump(&mut table, 5.0, &[counted(web(2), 0, 250_000)]);
    let totals = table.totals();
    assert_eq!(totals.paths.slow.bytes, 250_000);
    assert_eq!(totals.ratio.total, Some(0.8));
    let json = serde_json::to_value(totals.ratio).expect("JSON");
    assert_eq!(json["total"], 0.8);
}

#[test]
fn credits_bytes_before_a_tear_down_to_the_flowtable() {
    let mut table = watching();
    dump(&mut table, 1.0, &[offloaded(counted(web(1), 0, 1000))]);
    dump(&mut table, 2.0, &[counted(web(1), 0, 2000)]);
    assert_eq!(table.totals().paths.flowtable.bytes, 2000, "offloaded until the tear-down");
    dump(&mut table, 3.0, &[counted(web(1), 0, 3000)]);
    assert_eq!(table.totals().paths.slow.bytes, 1000);
}

#[test]
fn the_current_ratio_covers_ten_seconds() {
    let mut table = watching();
    let mut slow = 0;
    for second in 1..=20 {
        slow += 1000;
        dump(&mut table, f64::from(second), &[counted(web(1), 0, slow)]);
    }
    assert_eq!(table.totals().ratio.now, Some(0.0));
    let mut fast = 0;
    for second in 21..=25 {
        fast += 3000;
        let entries = [counted(web(1), 0, slow), offloaded(counted(web(2), 0, fast))];
        dump(&mut table, f64::from(second), &entries);
    }
    let ratio = table.totals().ratio;
    assert_eq!(ratio.now, Some(0.75), "five seconds each, at rates of 1 to 3");
    assert_eq!(ratio.total, Some(15_000.0 / 35_000.0));
    for second in 26..=40 {
        let entries = [counted(web(1), 0, slow), offloaded(counted(web(2), 0, fast))];
        dump(&mut table, f64::from(second), &entries);
    }
    assert_eq!(table.totals().ratio.now, None, "no traffic");
    for second in 41..=60 {
        fast += 900;
        let entries = [counted(web(1), 0, slow), offloaded(counted(web(2), 0, fast))];
        dump(&mut table, f64::from(second), &entries);
    }
    assert_eq!(table.totals().ratio.now, None, "too little traffic");
}

#[test]
fn local_and_multicast_flows_are_not_forwarded() {
    let mut table = watching();
    let own = entry(1, tuple(UDP, "10.10.0.2", 5, "10.0.0.1", 53));
    let masqueraded = {
        let mut entry = entry(2, tuple(TCP, "10.10.0.2", 6, "192.0.2.1", 443));
        entry.reply.dst = support::address("100.64.0.1");
        with_status(entry, Status::SRC_NAT)
    };
    let cast = entry(3, tuple(UDP, "10.10.0.2", 5353, "224.0.0.251", 5353));
    let wide = entry(4, tuple(UDP, "10.10.0.2", 68, "255.255.255.255", 67));
    let all = [own, masqueraded, cast, wide].map(|entry| counted(entry, 0, 1000));
    dump(&mut table, 1.0, &all);
    let rows = rows(&table, 1.0, &json!({ "sort": "id", "desc": false }));
    let reasons: Vec<&str> = rows.iter().map(|row| verdict(row).1).collect();
    assert_eq!(reasons, ["local", "pending", "multicast", "multicast"]);
    let totals = table.totals();
    let slow = totals.paths.slow;
    assert_eq!(totals.local_flows, 3);
    assert_eq!((slow.flows, slow.bytes), (1, 1000));
}

#[test]
fn looks_up_sides_and_names_when_the_network_changes() {
    let mut table = watching();
    let mut net = Net::default();
    dump_in(&mut table, 1.0, &[web(1)], &net);
    assert_eq!(only(&table, 1.0)["src_name"], "desk");
    net.wan = support::side("wwan0", 0, "wan", "");
    net.wan.in_flowtable = false;
    net.desk = "renamed";
    dump_in(&mut table, 2.0, &[web(1)], &net);
    assert_eq!(only(&table, 2.0)["out_dev"], "pppoe-wan", "unchanged generation");
    net.generation += 1;
    dump_in(&mut table, 3.0, &[web(1)], &net);
    let row = only(&table, 3.0);
    assert_eq!((&row["out_dev"], &row["src_name"]), (&json!("wwan0"), &json!("renamed")));
    assert_eq!(verdict(&row), ("slow", "no-device"));
}

#[test]
fn looks_up_each_end_once_until_the_network_changes() {
    let mut table = watching();
    let mut net = Net::default();
    let devices = |table: &FlowTable, seconds: f64| -> Vec<Value> {
        let rows = rows(table, seconds, &json!({}));
        rows.iter().map(|row| row["out_dev"].clone()).collect()
    };
    dump_in(&mut table, 1.0, &[web(1)], &net);
    net.wan = support::side("wwan0", 0, "wan", "");
    dump_in(&mut table, 2.0, &[web(1), web(2)], &net);
    assert_eq!(devices(&table, 2.0), ["pppoe-wan", "pppoe-wan"], "unchanged generation");
    net.generation += 1;
    dump_in(&mut table, 3.0, &[web(1), web(2), web(3)], &net);
    assert_eq!(devices(&table, 3.0), ["wwan0"; 3]);
}

#[test]
fn flows_have_no_rates_without_accounting() {
    let mut table = watching();
    dump(&mut table, 1.0, &[uncounted(offloaded(web(1)))]);
    dump(&mut table, 2.0, &[uncounted(offloaded(web(1)))]);
    let row = only(&table, 2.0);
    assert_eq!((verdict(&row), &row["down_bps"]), (("flowtable", ""), &json!(0)));
}

#[test]
fn computes_the_age_from_the_kernels_timestamp() {
    let mut table = watching();
    let start = |before_s: u64| Some((support::START_MS - before_s * 1000) * 1_000_000);
    let old = Entry { start_ns: start(100), ..web(1) };
    let future = Entry { start_ns: Some(u64::MAX), ..web(2) };
    let unset = Entry { start_ns: Some(0), ..web(3) };
    dump(&mut table, 5.0, &[old, future, unset]);
    let rows = rows(&table, 7.0, &json!({ "sort": "id", "desc": false }));
    let ages: Vec<u64> = rows.iter().map(|row| row["age_s"].as_u64().expect("an age")).collect();
    assert_eq!(ages, [107, 2, 2], "ignores invalid timestamps");
}

#[test]
fn removes_all_flows_of_a_flood() {
    let mut table = watching();
    let flood: Vec<Entry> = (1..20_000).map(web).collect();
    dump(&mut table, 1.0, &flood);
    dump(&mut table, 2.0, &flood[..10]);
    assert_eq!(table.len(), 10);
    dump(&mut table, 3.0, &flood[..10]);
    assert_eq!(table.len(), 10, "finds the remaining flows");
    assert!(table.flow(7, at(3.0)).is_some());
    assert_eq!(table.totals().paths.slow.flows, 10);
    dump(&mut table, 4.0, &[entry(5, tuple(TCP, "10.10.0.2", 1, "192.0.2.1", 1))]);
    assert_eq!(table.len(), 1);
}

#[test]
fn merges_a_recorded_conntrack_table() {
    let mut entries = Vec::new();
    ctnetlink::entries(include_bytes!("../../../ctnetlink/tests/data/kinds.nl"), &mut entries);
    let mut table = watching();
    dump(&mut table, 1.0, &entries);
    dump(&mut table, 2.0, &entries);
    assert_eq!(table.len(), entries.len());
    let protos: Vec<String> = rows(&table, 2.0, &json!({ "group": "service", "sort": "key" }))
        .iter()
        .map(|row| row["key"].as_str().expect("a key").to_owned())
        .collect();
    for wanted in ["tcp/443", "udp/53", "icmp", "gre", "esp"] {
        assert!(protos.iter().any(|key| key == wanted), "{wanted} in {protos:?}");
    }
}

#[test]
fn packets_from_unlisted_devices_are_slow() {
    let mut table = watching();
    let mut net = Net::default();
    net.wan.in_flowtable = false;
    let taken = offloaded(counted(web(1), 3000, 9000));
    dump_in(&mut table, 1.0, &[taken], &net);
    assert_eq!(verdict(&only(&table, 1.0)), ("flowtable", ""), "one direction");
    let paths = table.totals().paths;
    assert_eq!((paths.flowtable.bytes, paths.slow.bytes), (3000, 9000));
    net.lan.in_flowtable = false;
    net.generation += 1;
    dump_in(&mut table, 2.0, &[offloaded(counted(web(1), 4000, 10_000))], &net);
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "no-device"), "neither direction");
    table.engine(EngineState::default(), at(3.0));
    assert_eq!(verdict(&only(&table, 3.0)), ("flowtable", ""), "foreign flowtable");
    let mut forgotten = Net { generation: 9, ..Net::default() };
    for side in [&mut forgotten.lan, &mut forgotten.wan] {
        (side.port, side.in_flowtable) = ("".into(), false);
    }
    table.engine(flowtable(), at(4.0));
    dump_in(&mut table, 4.0, &[offloaded(counted(web(1), 4000, 10_000))], &forgotten);
    assert_eq!(verdict(&only(&table, 4.0)), ("flowtable", ""), "an unknown port proves nothing");
}

#[test]
fn packets_redirected_to_an_ifb_by_sqm_are_slow() {
    let mut table = watching();
    let mut net = Net::default();
    net.wan.redirected = true;
    dump_in(&mut table, 1.0, &[offloaded(counted(web(1), 3000, 9000))], &net);
    assert_eq!(verdict(&only(&table, 1.0)), ("flowtable", ""), "the upload");
    let paths = table.totals().paths;
    assert_eq!((paths.flowtable.bytes, paths.slow.bytes), (3000, 9000));
    net.wan.redirected = false;
    net.generation += 1;
    dump_in(&mut table, 2.0, &[offloaded(counted(web(1), 3000, 19_000))], &net);
    dump_in(&mut table, 3.0, &[offloaded(counted(web(1), 3000, 29_000))], &net);
    assert!(table.totals().paths.flowtable.bytes >= 13_000, "without SQM");
}

#[test]
fn a_sweep_removes_missing_flows_in_steps_and_keeps_new_ones() {
    let mut table = watching();
    let all: Vec<Entry> = (1..=100).map(web).collect();
    dump(&mut table, 1.0, &all);
    table.dump_begin(at(2.0));
    table.merge(&web(3), at(2.0), &Net::default());
    table.dump_over(at(2.0), true);
    let mut parts = 0;
    while table.sweep(10) {
        parts += 1;
        event(&mut table, 2.0, &Event::Destroy(web(parts + 3)));
        event(&mut table, 2.0, &Event::New(uncounted(web(1000 + parts))));
    }
    assert!((8..=10).contains(&parts), "{parts}");
    let mut left: Vec<u64> = rows(&table, 2.0, &json!({"limit": 500}))
        .iter()
        .map(|row| row["id"].as_u64().expect("an id"))
        .collect();
    left.sort_unstable();
    let mut expected = vec![u64::from(web(3).id)];
    expected.extend((1..=parts).map(|part| u64::from(web(1000 + part).id)));
    expected.sort_unstable();
    assert_eq!(left, expected);
}

#[test]
fn a_new_dump_completes_the_previous_sweep() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1), web(2), web(3)]);
    table.dump_begin(at(2.0));
    table.dump_over(at(2.0), true);
    assert!(table.sweep(1));
    table.dump_begin(at(3.0));
    assert!(table.is_empty());
    table.dump_over(at(3.0), false);
    assert!(!table.sweep(1), "a failed dump removes no flows");
}
