// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::json;

use super::*;
use crate::plan::{Candidate, Protection, plan};
use crate::settings::Settings;

/// Output of `nft -j list table inet fastpath`, nft 1.1.3 on Linux 6.12, without expressions.
fn recorded() -> Value {
    json!({ "nftables": [
        { "metainfo": { "version": "1.1.3", "json_schema_version": 1 } },
        { "table": { "family": "inet", "name": "fastpath", "handle": 24 } },
        { "chain": { "family": "inet", "table": "fastpath", "name": "fastpath", "handle": 1,
            "type": "filter", "hook": "forward", "prio": 20, "policy": "accept" } },
        { "flowtable": { "family": "inet", "name": "ft", "table": "fastpath", "handle": 2,
            "hook": "ingress", "prio": 0, "dev": ["lan1", "lan2"] } },
        { "rule": { "chain": "fastpath", "handle": 3, "comment": "!fastpath: one", "expr": [] } },
        { "rule": { "chain": "fastpath", "handle": 5, "expr": [] } },
        { "rule": { "chain": "other", "handle": 6, "comment": "not ours", "expr": [] } },
        { "rule": { "chain": "fastpath", "handle": 8, "comment": "!fastpath: two", "expr": [] } }
    ] })
}

#[test]
fn parses_the_output_of_nft() {
    let found = InForce::parse(&recorded());
    assert_eq!(found.devices, ["lan1", "lan2"].map(str::to_owned).into());
    assert_eq!(found.hardware, None);
    assert_eq!(found.table, 24);
    assert_eq!(
        found.rules["fastpath"],
        ["!fastpath: one", "", "!fastpath: two"],
        "a foreign rule is included"
    );
}

#[test]
fn parses_a_single_device_without_a_list() {
    let one = json!({ "nftables": [{ "flowtable": { "dev": "wan", "flags": "offload" } }] });
    let found = InForce::parse(&one);
    assert_eq!(found.devices, ["wan".to_owned()].into());
    assert_eq!(found.hardware, Some(true));
    let many = json!({ "nftables": [{ "flowtable": { "flags": ["counter"] } }] });
    assert_eq!(InForce::parse(&many).hardware, Some(false));
}

#[test]
fn malformed_listings_match_no_plan() {
    let candidate =
        Candidate { device: "wan".into(), eligible: true, why: config::Cause::default() };
    let plan = plan(&[candidate], &Settings::default(), &Protection::default());
    for listing in [json!(null), json!({}), json!({ "nftables": 7 }), json!({ "nftables": [null] })]
    {
        let found = InForce::parse(&listing);
        assert_eq!(found, InForce::default());
        assert!(!found.matches(&plan));
    }
}

/// Objects for inspection and blocks, from nft 1.0.6 on Linux 6.18.
#[test]
fn parses_counters_and_blocks() {
    let found = InForce::parse(&json!({ "nftables": [
        { "counter": { "family": "inet", "name": "inspected", "table": "fastpath", "handle": 6,
            "comment": "!fastpath: packets handed to Suricata", "packets": 12, "bytes": 3456 } },
        { "set": { "family": "inet", "name": "blocked4", "table": "fastpath", "type": "ipv4_addr",
            "handle": 8, "comment": "!fastpath: x", "size": 3, "flags": ["timeout"], "elem": [
            { "elem": { "val": "192.0.2.1", "timeout": 600, "expires": 320, "comment": "sid 5" } },
            { "elem": { "val": "192.0.2.2", "timeout": 600, "expires": 600 } },
            "192.0.2.3", { "elem": { "val": { "prefix": {} } } }, 7 ] } },
        { "set": { "name": "blocked6", "type": "ipv6_addr", "flags": ["interval", "timeout"],
            "elem": [
            { "elem": { "val": { "prefix": { "addr": "2001:db8:1::", "len": 64 } },
                "timeout": 9, "expires": 8 } },
            { "elem": { "val": "2001:db8:9::1", "timeout": 9, "expires": 8 } },
            { "elem": { "val": { "prefix": { "addr": "2001:db8::", "len": 300 } },
                "timeout": 9, "expires": 8 } } ] } },
        { "set": { "name": "other", "elem": [{ "elem": { "val": "192.0.2.9" } }] } }
    ] }));
    assert_eq!(found.counters["inspected"], Counter { packets: 12, bytes: 3456 });
    let block = |source: &str, (left, seconds), comment: &str| BlockElement {
        source: source.parse().unwrap(),
        seconds,
        left,
        comment: comment.to_owned(),
    };
    let expected = [
        block("192.0.2.1", (320, 600), "sid 5"),
        block("192.0.2.2", (600, 600), ""),
        block("2001:db8:1::/64", (8, 9), ""),
        block("2001:db8:9::1", (8, 9), ""),
    ];
    assert_eq!(found.blocks, Some(expected.into()));
}
