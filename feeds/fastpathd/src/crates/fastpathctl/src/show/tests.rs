// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use serde_json::json;

#[test]
fn shows_flows_in_columns() {
    let page = json!({
        "total": 3, "matched": 2,
        "cols": ["proto", "src", "sport", "dst", "dport", "in_dev", "in_vlan", "in_zone",
            "out_dev", "out_vlan", "out_zone", "path", "reason", "up_bps", "down_bps",
            "up_bytes", "down_bytes", "age_s"],
        "rows": [
            ["tcp", "10.10.10.10", 40000, "203.0.113.1", 80, "br-lan.10", 10, "lan",
                "pppoe-wan", 35, "wan", "flowtable", "", 1000, 250_000_000, 1000, 32_000_000, 61],
            ["icmpv6", "2001:db8::1", 0, "2001:db8::2", 128, "br-lan.10", 0, "",
                "", 0, "", "slow", "unsupported-protocol", 0, 0, 64, 64, 3],
        ],
    });
    let text = flows(&page);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("tcp     10.10.10.10:40000  203.0.113.1:80"), "{text}");
    assert!(lines[1].contains("lan/10"), "{text}");
    assert!(lines[1].contains("wan/35"), "{text}");
    assert!(lines[1].ends_with("250.0 Mbit/s  32.0 MB  1m01s"), "{text}");
    assert!(lines[2].contains("[2001:db8::2]:128  br-lan.10"), "{text}");
    assert_eq!(lines[3], "2 of 2 matching flows shown, 3 in total");
}

#[test]
fn shows_how_many_ports_support_hardware_offload() {
    let mut state = json!({"wanted": "flowtable-hw", "active": "flowtable-hw", "why": "",
        "devices": ["lan1", "wan"], "hardware_unused": false,
        "hardware_ports": {"able": ["lan1"], "present": 2}});
    let last = |state: &Value| engine(state).lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&state), "hardware           1 of 2 ports");
    state["hardware_unused"] = true.into();
    assert_eq!(last(&state), "hardware           1 of 2 ports, no flow in hardware");
    state["hardware_ports"] = Value::Null;
    assert_eq!(last(&state), "devices            lan1 wan");
    state["cause"] = json!({"code": "waiting", "params": {}});
    assert!(engine(&state).starts_with("engine             starting\n"));
}

#[test]
fn status_shows_why_another_engine_is_active() {
    let text = status(&json!({
        "engine": {"wanted": "flowtable", "active": "off", "why": "nft refused it", "devices": []},
        "ratio": {"total": 0.5},
        "conntrack": {"count": 9, "limit": 100, "refresh_ms": 1500},
        "local_flows": 2, "ended_flows": 3,
        "now_ms": 100_000,
        "wan": [
            {"name": "wan", "up": true, "up_since_ms": 40_000, "proto": "pppoe",
             "addresses": ["198.51.100.10/32"], "rx_bps": 5000, "tx_bps": 600},
            {"name": "lte", "up": false, "hindrance": "no-link", "proto": "dhcp"},
            {"name": "dsl", "up": false, "hindrance": "disconnected", "proto": "pppoe"},
        ],
        "ssids_off": [{"ssid": "Guests", "until_ms": 1_796_029_200_000_i64},
            {"ssid": "Home", "until_ms": 0}],
        "health": [{"code": "x", "level": "error", "text": "all is lost"}],
        "doctor": {"last": {"worst": [
            {"id": "x", "severity": "error", "title": "Lost"},
            {"id": "gro-off", "severity": "warning", "title": "GRO is off"},
        ]}},
        "paths": {"slow": {"flows": 7, "bps": 1, "pps": 2, "bytes": 3}},
    }));
    assert!(text.contains("engine             off (configured: flowtable)\n"), "{text}");
    assert!(text.contains("reason             nft refused it\n"), "{text}");
    assert!(text.contains("– now, 50.0 % since start"), "{text}");
    assert!(text.contains("wan                up 1m00s over pppoe, 198.51.100.10/32"), "{text}");
    assert!(text.contains("198.51.100.10/32  ↓ 5.0 kbit/s  ↑ 600 bit/s\n"), "{text}");
    assert!(text.contains("lte                down (dhcp, no link)"), "{text}");
    assert!(text.contains("dsl                disconnected (pppoe)"), "{text}");
    let until = "Wi-Fi off          Guests, by a schedule until 2026-11-30 09:00 UTC\n";
    assert!(text.contains(until), "{text}");
    assert!(text.contains("Wi-Fi off          Home, by a schedule\n"), "{text}");
    assert!(text.contains("error              all is lost\n"), "{text}");
    assert!(text.contains("slow           7"), "{text}");
    assert!(text.contains("flows              9 (2 local, 3 ended) of 100,"), "{text}");
}

#[test]
fn topology_shows_vlans_of_ports() {
    let text = topology(&json!({
        "links": [
            {"name": "lan1", "kind": "ethernet", "carrier": true, "master": "br-lan",
             "in_flowtable": true},
            {"name": "br-lan.10", "kind": "vlan", "carrier": true, "lower": "br-lan", "vlan": 10,
             "addresses": ["10.10.10.1/24"], "why": "stands on br-lan"},
        ],
        "bridges": [{"name": "br-lan", "ports": [
            {"name": "lan1", "vlans": [{"vid": 10, "tagged": false, "pvid": true},
                {"vid": 20, "tagged": true, "pvid": false}]}]}],
        "pppoe": [{"session": 7, "lower": "wan.35", "device": "pppoe-wan", "peer": "02::1"}],
    }));
    assert!(text.contains("lan1       ethernet  up    br-lan  10u* 20t"), "{text}");
    assert!(text.contains("stands on br-lan"), "{text}");
    assert!(text.ends_with("PPPoE session 7 on wan.35: pppoe-wan with 02::1\n"), "{text}");
}

#[test]
fn devices_show_when_they_were_seen() {
    let device = |name: &str, seen_ms: u64| {
        json!({
            "mac": "00:00:5e:00:00:01", "name": name, "addresses": ["10.10.10.11", "2001:db8::1"],
            "port": "lan1", "vlan": 10, "seen_ms": seen_ms, "up_bps": 5000, "down_bytes": 2000,
        })
    };
    let text = devices(&json!({
        "now_ms": 70_000, "devices": [device("desk", 10_000), device("", 0)],
        "others": {"up_bytes": 0, "down_bytes": 3000},
    }));
    assert!(text.contains("desk  10.10.10.11 2001:db8::1  lan1    10    1m00s"), "{text}");
    assert!(text.contains("lan1    10  not yet"), "{text}");
    assert!(text.ends_with("others: 0 B sent, 3.0 kB received\n"), "{text}");
}

#[test]
fn devices_show_why_and_how_long_they_are_paused() {
    let shown = |paused: &str, until_ms: u64| {
        devices(&json!({"now_ms": 70_000, "devices": [{"paused": paused, "until_ms": until_ms}]}))
    };
    assert!(shown("always", 0).contains("  always  "), "{}", shown("always", 0));
    let bedtime = shown("schedule", 130_000);
    assert!(bedtime.contains("  schedule, 1m00s left  "), "{bedtime}");
}

#[test]
fn devices_show_their_vendor_and_who_tells_their_kind() {
    let shown = |source: &str| {
        let device = json!({"kind": "tv", "kind_source": source, "vendor": "Example Ltd"});
        devices(&json!({"devices": [device]}))
    };
    assert!(shown("mdns").contains("tv (mdns)  Example Ltd\n"), "{}", shown("mdns"));
    assert!(shown("owner").contains("  tv    Example Ltd\n"), "{}", shown("owner"));
}

#[test]
fn formats_an_empty_answer_without_a_panic() {
    for show in [status, flows, flow, top, devices, topology, engine] {
        show(&json!({}));
        show(&json!([1]));
    }
}

/// DHCP clients and PPPoE peers choose their own names.
#[test]
fn escapes_control_characters_of_all_answers() {
    use crate::export::exports;
    use crate::protection::{alerts, blocks, ips, plain_answer};
    use crate::usage::{journal, usage};

    let evil = "evil\u{1b}[2J\u{202e}\nforged";
    let row = json!({
        "key": evil, "name": evil, "kind": evil, "why": evil, "lower": evil, "device": evil,
        "about": evil, "mac": evil, "vendor": evil,
        "peer": evil, "addresses": [evil], "address": evil, "reason": evil, "text": evil,
        "src": evil, "in_zone": evil, "signature": evil, "state": evil, "proto": evil,
    });
    let answer = plain_answer(json!({
        "rows": [row], "links": [row], "pppoe": [row], "wan": [row], "health": [row],
        "alerts": [row], "blocks": [row], "devices": [row], "exports": [row], "flow": row,
        "events": [row], "ports": [evil], "engine": row, "ips": row, "state": evil, "why": evil,
        "storage": row,
        evil: evil,
    }));
    for show in [
        top, devices, topology, status, flows, flow, engine, flushed, alerts, blocks, ips, exports,
        usage, journal,
    ] {
        let said = show(&answer);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
        assert!(!said.lines().any(|line| line.starts_with("forged")), "{said:?}");
    }
    assert!(top(&answer).contains(r"evil\u{1b}[2J\u{202e}\nforged"));
}
