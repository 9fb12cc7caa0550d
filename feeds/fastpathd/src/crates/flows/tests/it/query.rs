// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests queries.

use crate::support::{
    self, TCP, UDP, address, at, cells, counted, dump, entry, offloaded, rows, tuple, watching,
    with_status,
};
use ctnetlink::{Entry, Status, TcpState};
use flows::{FlowTable, FlowsQuery, QueryError, Sort, TopQuery};
use serde_json::{Value, json};

fn some() -> FlowTable {
    let web = {
        let mut entry = entry(1, tuple(TCP, "10.10.0.2", 40_001, "192.0.2.80", 443));
        entry.reply.dst = address("100.64.0.1");
        entry.reply.dport = 61_000;
        offloaded(with_status(entry, Status::SRC_NAT))
    };
    let forwarded = {
        let mut entry = entry(2, tuple(TCP, "198.51.100.9", 50_000, "100.64.0.1", 8443));
        entry.reply.src = address("10.20.0.80");
        entry.reply.sport = 443;
        with_status(entry, Status::DST_NAT)
    };
    let dns = entry(3, tuple(UDP, "10.10.0.3", 5353, "9.9.9.9", 53));
    let v6 = offloaded(entry(4, tuple(UDP, "fd00:10::4", 40_004, "2001:db8::1", 443)));
    let mut ping = entry(5, tuple(1, "10.10.0.2", 0x1234, "9.9.9.9", 8 << 8));
    ping.reply.sport = 0x1234;
    ping.reply.dport = 0;
    let vlans = entry(6, tuple(TCP, "10.10.0.2", 40_006, "10.20.0.5", 22));
    let closing = Entry { tcp_state: Some(TcpState::FinWait), ..vlans };
    let all = [web, forwarded, dns, v6, ping, closing];
    let mut table = watching();
    dump(&mut table, 1.0, &all);
    let grown = [(0, 10_000_u64), (2000, 4000), (100, 100), (0, 50_000), (64, 64), (7000, 0)];
    let grown: Vec<Entry> =
        all.iter().zip(grown).map(|(entry, (up, down))| counted(*entry, up, down)).collect();
    dump(&mut table, 2.0, &grown);
    table
}

fn ids(query: &Value) -> Vec<u64> {
    rows(&some(), 2.0, query).iter().map(|row| row["id"].as_u64().expect("an id")).collect()
}

fn found(filter: &Value) -> Vec<u64> {
    ids(&json!({ "filter": filter, "sort": "id", "desc": false }))
}

#[test]
fn columns_match_the_schema() {
    let schema = include_str!("../../../../schema/flow.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let flow = &schema["properties"]["reply"]["properties"]["flow"];
    let table = some();
    let page = table.query(&FlowsQuery::default(), at(2.0)).expect("a page");
    assert_eq!(json!(page.cols), flow["required"]);
    for row in &cells(&page) {
        for (name, value) in page.cols.iter().zip(row) {
            let property = &flow["properties"][name];
            let fits = match property["type"].as_str() {
                Some("integer") => value.is_u64(),
                Some("string") => value.is_string(),
                _ => value.is_string() || value.is_u64(),
            };
            assert!(fits, "{name}: {value}");
        }
    }
    let sorts = Sort::ALL.iter().map(|sort| sort.name()).collect::<Vec<_>>();
    assert!(page.cols.iter().all(|col| sorts.contains(col)), "every column sorts");
}

#[test]
fn a_row_has_addresses_and_ports_before_and_after_nat() {
    let rows = rows(&some(), 4.5, &json!({ "sort": "id", "desc": false }));
    let web = &rows[0];
    let wanted = json!({
        "id": 1, "proto": "tcp", "family": 4,
        "src": "10.10.0.2", "sport": 40_001, "dst": "192.0.2.80", "dport": 443,
        "nat_src": "100.64.0.1", "nat_sport": 61_000, "nat_dst": "192.0.2.80", "nat_dport": 443,
        "in_dev": "br-lan.10", "in_vlan": 10, "in_zone": "lan",
        "out_dev": "pppoe-wan", "out_vlan": 35, "out_zone": "wan",
        "path": "flowtable", "reason": "", "state": "",
        "up_bytes": 0, "down_bytes": 10_000, "up_packets": 0, "down_packets": 10,
        "up_bps": 0, "down_bps": 80_000, "age_s": 3, "idle_s": 2,
        "src_name": "desk", "dst_name": "", "inspection": "none",
    });
    assert_eq!(web, &wanted);
    let forwarded = &rows[1];
    assert_eq!(forwarded["dst"], "100.64.0.1");
    assert_eq!(
        (&forwarded["nat_dst"], &forwarded["nat_dport"]),
        (&json!("10.20.0.80"), &json!(443))
    );
    assert_eq!(forwarded["out_dev"], "br-lan.20", "device of the real responder");
    let ping = &rows[4];
    assert_eq!(
        (&ping["proto"], &ping["sport"], &ping["dport"]),
        (&json!("icmp"), &json!(4660), &json!(8))
    );
    assert_eq!((&ping["nat_sport"], &ping["nat_dport"]), (&json!(4660), &json!(8)));
    assert_eq!(rows[3]["family"], 6);
}

#[test]
fn filters_by_each_condition() {
    assert_eq!(found(&json!({})), [1, 2, 3, 4, 5, 6]);
    assert_eq!(found(&json!({ "path": ["flowtable", "hardware"] })), [1, 4]);
    assert_eq!(found(&json!({ "path": [] })), [1, 2, 3, 4, 5, 6]);
    assert_eq!(found(&json!({ "reason": ["closing"] })), [6]);
    assert_eq!(found(&json!({ "reason": ["", "unsupported-protocol"] })), [1, 4, 5]);
    assert_eq!(found(&json!({ "proto": ["UDP", "1"] })), [3, 4, 5]);
    assert_eq!(found(&json!({ "vlan": 20 })), [2, 6]);
    assert_eq!(found(&json!({ "zone": "guest" })), [2, 6]);
    assert_eq!(found(&json!({ "zone": "gue" })), [0_u64; 0]);
    assert_eq!(found(&json!({ "device": "pppoe-wan" })), [1, 2, 3, 4, 5]);
    assert_eq!(found(&json!({ "device": "pppoe" })), [0_u64; 0]);
    assert_eq!(found(&json!({ "device": "br-lan.20", "vlan": 10 })), [0_u64; 0], "one side");
    assert_eq!(found(&json!({ "host": "100.64.0.1" })), [1, 2], "before or after NAT");
    assert_eq!(found(&json!({ "host": "::ffff:100.64.0.1" })), [1, 2], "mapped to IPv6");
    let either = "192.0.2.77,100.64.0.1";
    assert_eq!(found(&json!({ "host": either })), [1, 2], "one of several");
    assert_eq!(found(&json!({ "family": 6 })), [4]);
    assert_eq!(found(&json!({ "family": 4, "vlan": 10, "proto": ["tcp"] })), [1, 6]);
}

#[test]
fn filters_by_search_terms() {
    assert_eq!(found(&json!({ "text": "" })), [1, 2, 3, 4, 5, 6]);
    assert_eq!(found(&json!({ "text": "desk" })), [1, 5, 6], "names");
    assert_eq!(found(&json!({ "text": "DESK Tcp" })), [1, 6], "case");
    assert_eq!(found(&json!({ "text": "pppoe" })), [1, 2, 3, 4, 5], "devices");
    assert_eq!(found(&json!({ "text": "guest" })), [2, 6], "zones");
    assert_eq!(found(&json!({ "text": "lan2" })), [2, 6], "lowest devices");
    assert_eq!(found(&json!({ "text": "icmp" })), [5], "protocols");
    assert_eq!(found(&json!({ "text": "443" })), [1, 2, 4], "8443, translated 443");
    assert_eq!(found(&json!({ "text": ":8443" })), [2]);
    assert_eq!(found(&json!({ "text": "61000" })), [1], "after translation");
    assert_eq!(found(&json!({ "text": "9.9" })), [3, 5]);
    assert_eq!(found(&json!({ "text": "10.20.0.0/16" })), [2, 6]);
    assert_eq!(found(&json!({ "text": "db8::" })), [4]);
    assert_eq!(found(&json!({ "text": "desk nothing" })), [0_u64; 0]);
}

#[test]
fn every_column_sorts_in_both_directions() {
    let table = some();
    for sort in Sort::ALL {
        let query = |desc| FlowsQuery { sort, desc, ..FlowsQuery::default() };
        let Ok(up) = table.query(&query(false), at(2.0)) else {
            assert!(["key", "name", "flows", "offloaded", "ratio"].contains(&sort.name()));
            continue;
        };
        let down = table.query(&query(true), at(2.0)).expect("a page");
        let column = up.cols.iter().position(|col| *col == sort.name());
        let Some(column) = column else { continue };
        let values =
            |page| -> Vec<Value> { cells(page).iter().map(|row| row[column].clone()).collect() };
        let (up, mut down) = (values(&up), values(&down));
        down.reverse();
        assert_eq!(up, down, "{}", sort.name());
        let ordered = match up[0] {
            Value::Number(_) => up.is_sorted_by_key(Value::as_u64),
            // Addresses, paths, reasons and states have their own order.
            _ => {
                ["src", "dst", "nat_src", "nat_dst", "path", "reason", "state"]
                    .contains(&sort.name())
                    || up.is_sorted_by_key(|value| value.as_str().map(str::to_owned))
            }
        };
        assert!(ordered, "{}: {up:?}", sort.name());
    }
}

#[test]
fn addresses_sort_numerically() {
    let sources: Vec<String> = rows(&some(), 2.0, &json!({ "sort": "src", "desc": false }))
        .iter()
        .map(|row| row["src"].as_str().expect("an address").to_owned())
        .collect();
    let wanted = ["10.10.0.2", "10.10.0.2", "10.10.0.2", "10.10.0.3", "198.51.100.9", "fd00:10::4"];
    assert_eq!(sources, wanted);
}

#[test]
fn pages_contain_every_row_once() {
    assert_eq!(ids(&json!({})), [4, 1, 6, 2, 3, 5], "busiest first");
    let page = |offset: usize| ids(&json!({ "offset": offset, "limit": 2 }));
    assert_eq!([page(0), page(2), page(4), page(6)].concat(), [4, 1, 6, 2, 3, 5]);
    let query = FlowsQuery::parse(&json!({ "filter": { "vlan": 20 }, "limit": 1 }));
    let table = some();
    let page = table.query(&query.expect("a query"), at(2.0)).expect("a page");
    assert_eq!((page.total, page.matched, cells(&page).len()), (6, 2, 1));
    assert_eq!(page.now_ms, support::START_MS + 2000);
    let json = serde_json::to_value(&page).expect("JSON");
    assert_eq!(json["rows"][0].as_array().map(Vec::len), Some(page.cols.len()));
}

#[test]
fn grouping_by_host_counts_a_flow_for_both_hosts() {
    let hosts = rows(&some(), 2.0, &json!({ "group": "host", "sort": "key", "desc": false }));
    let keys: Vec<&str> = hosts.iter().map(|row| row["key"].as_str().expect("a key")).collect();
    assert_eq!(keys, ["10.10.0.2", "10.10.0.3", "10.20.0.5", "10.20.0.80", "fd00:10::4"]);
    let desk = json!({
        "key": "10.10.0.2", "name": "desk", "flows": 3, "offloaded": 1, "bytes": 17_128,
        "up_bps": 56_512, "down_bps": 80_512, "ratio": 0.5838,
    });
    assert_eq!(hosts[0], desk);
    assert_eq!((&hosts[2]["up_bps"], &hosts[2]["down_bps"]), (&json!(0), &json!(56_000)), "reply");
    assert_eq!((&hosts[3]["up_bps"], &hosts[3]["down_bps"]), (&json!(32_000), &json!(16_000)));
}

#[test]
fn groups_by_service_vlan_and_path() {
    let key_and_flows = |by: &str| -> Vec<(String, u64)> {
        rows(&some(), 2.0, &json!({ "group": by, "sort": "key", "desc": false }))
            .iter()
            .map(|row| (row["key"].as_str().expect("a key").to_owned(), row["flows"].as_u64()))
            .map(|(key, flows)| (key, flows.expect("a number")))
            .collect()
    };
    let want = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
        list.iter().map(|(key, flows)| ((*key).to_owned(), *flows)).collect()
    };
    let services = [("icmp", 1), ("tcp/22", 1), ("tcp/443", 2), ("udp/53", 1), ("udp/443", 1)];
    assert_eq!(key_and_flows("service"), want(&services));
    assert_eq!(key_and_flows("vlan"), want(&[("10", 5), ("20", 2), ("35", 5)]));
    assert_eq!(key_and_flows("path"), want(&[("slow", 4), ("flowtable", 2)]));
    let names: Vec<Value> = rows(&some(), 2.0, &json!({ "group": "vlan", "sort": "name" }))
        .iter()
        .map(|row| row["name"].clone())
        .collect();
    assert_eq!(names, ["wan", "lan", "guest"]);
}

#[test]
fn matched_counts_groups_in_a_grouped_page() {
    let query = json!({ "group": "host", "filter": { "family": 4 }, "limit": 2, "sort": "bytes" });
    let query = FlowsQuery::parse(&query).expect("a query");
    let table = some();
    let page = table.query(&query, at(2.0)).expect("a page");
    assert_eq!((page.total, page.matched, cells(&page).len()), (6, 4, 2));
}

#[test]
fn top_lists_the_busiest_first() {
    let table = some();
    let top = |request: Value| table.top(&TopQuery::parse(&request).expect("a query"));
    let hosts = top(json!({}));
    assert_eq!(hosts.rows[0].key, "fd00:10::4");
    assert_eq!(hosts.rows[0].down_bps, 400_000);
    assert!((hosts.rows[0].ratio - 1.0).abs() < f64::EPSILON);
    assert_eq!(top(json!({ "limit": 2 })).rows.len(), 2);
    let services = top(json!({ "by": "service" }));
    assert_eq!((services.rows[0].key.as_str(), services.rows[0].name), ("udp/443", "quic"));
    let json = serde_json::to_value(&services).expect("JSON");
    assert_eq!(json["by"], "service");
}

fn refusal(request: &Value) -> String {
    match FlowsQuery::parse(request) {
        Ok(query) => match some().query(&query, at(2.0)) {
            Ok(_) => panic!("{request} is accepted"),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_field_and_value() {
    for (request, wanted) in [
        (json!([]), "request: expected an object, not []"),
        (json!({ "sort": "speed" }), "sort: expected a column, not \"speed\""),
        (json!({ "sort": 5 }), "sort: expected a column, not 5"),
        (json!({ "limit": 501 }), "limit: expected an integer from 1 to 500, not 501"),
        (json!({ "limit": 0 }), "limit: expected an integer from 1 to 500, not 0"),
        (json!({ "limit": "9" }), "limit: expected an integer from 1 to 500, not \"9\""),
        (json!({ "desc": 1 }), "desc: expected true or false, not 1"),
        (json!({ "filters": {} }), "filters: unknown field"),
        (json!({ "filter": "x" }), "filter: expected an object, not \"x\""),
        (json!({ "filter": { "paths": [] } }), "filter.paths: unknown field"),
        (json!({ "filter": { "path": "slow" } }), "filter.path: expected a list, not \"slow\""),
        (
            json!({ "filter": { "path": ["slow", "fast"] } }),
            "filter.path[1]: expected a path, not \"fast\"",
        ),
        (json!({ "filter": { "family": 5 } }), "filter.family: expected 4 or 6, not 5"),
        (json!({ "filter": { "host": "desk" } }), "filter.host: expected an address, not \"desk\""),
        (json!({ "filter": { "host": "::1," } }), "filter.host: expected an address, not \"::1,\""),
        (
            json!({ "filter": { "vlan": 4096 } }),
            "filter.vlan: expected an integer from 0 to 4095, not 4096",
        ),
        (
            json!({ "group": "zone" }),
            "group: expected host, service, vlan, path or traffic, not \"zone\"",
        ),
        (json!({ "sort": "flows" }), "sort: \"flows\" cannot be combined with single flows"),
        (
            json!({ "sort": "src", "group": "host" }),
            "sort: \"src\" cannot be combined with group host",
        ),
    ] {
        assert_eq!(refusal(&request), wanted);
    }
    let long = "x".repeat(201);
    let message = refusal(&json!({ "filter": { "text": long } }));
    let wanted = "filter.text: expected a string of at most 200 characters";
    assert!(message.starts_with(wanted), "{message}");
    assert!(message.len() < 140, "truncated value: {message}");
}

#[test]
fn an_empty_request_is_the_default() {
    for request in [json!(null), json!({}), json!({ "filter": null, "sort": null })] {
        assert_eq!(FlowsQuery::parse(&request), Ok(FlowsQuery::default()), "{request}");
    }
    let none = TopQuery::parse(&json!({ "by": "" }));
    assert!(matches!(none, Err(QueryError::Bad { .. })), "{none:?}");
    assert!(TopQuery::parse(&json!({ "limit": 101 })).is_err());
}

#[test]
fn a_period_holds_flows_with_traffic_in_it() {
    let mut table = watching();
    let old = entry(1, tuple(UDP, "10.10.0.3", 5353, "9.9.9.9", 53));
    let busy = entry(2, tuple(TCP, "10.10.0.2", 40_001, "192.0.2.80", 443));
    let new = entry(3, tuple(TCP, "10.10.0.2", 40_002, "192.0.2.80", 443));
    dump(&mut table, 10.0, &[counted(old, 1, 1), counted(busy, 1, 1)]);
    dump(&mut table, 50.0, &[counted(old, 1, 1), counted(busy, 9, 9), counted(new, 1, 1)]);
    let within = |from: u64, to: u64| {
        let unix = at(50.0).unix_ms - 50_000;
        let filter = json!({ "from_ms": unix + from * 1000, "to_ms": unix + to * 1000 });
        let query = json!({ "filter": filter, "sort": "id", "desc": false });
        rows(&table, 50.0, &query).iter().map(|row| row["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(within(0, 60), [1, 2, 3]);
    assert_eq!(within(0, 10), [] as [u64; 0], "before all");
    assert_eq!(within(5, 20), [1, 2], "before the last began");
    assert_eq!(within(20, 40), [2], "the first was idle by then");
    assert_eq!(within(40, 60), [2, 3]);
    assert_eq!(within(51, 60), [] as [u64; 0], "after the last traffic");
}
