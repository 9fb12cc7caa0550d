// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::json;

use super::CHECKS;
use crate::facts::{Facts, conntrack, rules, uci};
use crate::finding::{Finding, Fix, Step};
use crate::machine::fake::Fake;
use crate::texts::tests::all_found;

fn router(change: &[(&str, &str)]) -> Fake {
    let mut fake = Fake::new()
        .prints("nft -j list ruleset", r#"{"nftables": []}"#)
        .file("/etc/config/firewall", "config defaults 'd'\n")
        .file(
            "/proc/modules",
            "nf_conntrack 1 0 - Live 0x0\nnf_conntrack_netlink 1 0 - Live 0x0\n",
        );
    let healthy =
        [("count", "100"), ("max", "65536"), ("buckets", "65536"), ("acct", "1")].into_iter();
    for (name, value) in healthy.chain([("tcp_timeout_established", "7440")]) {
        let value = change.iter().find(|(of, _)| *of == name).map_or(value, |(_, value)| *value);
        fake = fake.file(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"), value);
    }
    fake
}

/// Returns the facts of a router with this engine in force.
fn facts(fake: &Fake, engine: &str) -> Facts {
    let mut facts = Facts {
        conntrack: conntrack::read(fake),
        rules: rules::read(fake),
        uci: uci::read(fake),
        ..Facts::default()
    };
    facts.flowtable.status = json!({"engine": {"active": engine}}).into();
    facts
}

fn found(fake: &Fake) -> Vec<(&'static str, Finding)> {
    all_found(CHECKS, &facts(fake, "flowtable"))
}

#[test]
fn a_healthy_router_has_no_finding() {
    assert_eq!(found(&router(&[])), []);
}

#[test]
fn names_readers_of_conntrack_counters_under_ebpf() {
    let rule = |table: &str, key: &str| {
        let compared = json!({"op": ">", "left": {"ct": {"key": key}}, "right": 1});
        json!({"rule": {"family": "inet", "table": table, "chain": "f",
            "expr": [{"match": compared}]}})
    };
    let chain = |table: &str, hook: &str| {
        json!({"chain": {"family": "inet", "table": table, "name": "f", "hook": hook,
            "type": "filter"}})
    };
    let with_hook = |engine: &str, rules: &[serde_json::Value], hook: &str| {
        let chains = [chain("limits", hook), chain("fastpath", hook)];
        let objects = [rules, &chains].concat();
        let listing = json!({"nftables": objects}).to_string();
        facts(&router(&[]).prints("nft -j list ruleset", &listing), engine)
    };
    let with = |engine: &str, rules: &[serde_json::Value]| with_hook(engine, rules, "forward");
    for key in ["bytes", "packets", "avgpkt"] {
        let rules = [rule("limits", key), rule("limits", key), rule("fastpath", key)];
        let (id, finding) = all_found(CHECKS, &with("ebpf", &rules)).remove(0);
        assert_eq!(
            (id, &finding.params["readers"]),
            ("conntrack-uncounted", &json!("inet limits f"))
        );
        assert_eq!(all_found(CHECKS, &with("flowtable", &rules)), []);
    }
    // Local connections are not offloaded.
    let own = with_hook("ebpf", &[rule("limits", "bytes")], "input");
    assert_eq!(all_found(CHECKS, &own), []);
    let other = [rule("limits", "mark"), rule("fastpath", "bytes")];
    assert_eq!(all_found(CHECKS, &with("ebpf", &other)), []);
    let mut facts = with("ebpf", &[]);
    facts.others.counting = ["nlbwmon", "collectd"].into();
    assert_eq!(all_found(CHECKS, &facts)[0].1.params["readers"], "nlbwmon");
}

#[test]
fn fixes_each_setting_by_writing_it() {
    let sysctl = |name: &str| format!("/proc/sys/net/netfilter/nf_conntrack_{name}");
    let hash = "/sys/module/nf_conntrack/parameters/hashsize".to_owned();
    for (id, name, value, path, text) in [
        ("accounting-off", "acct", "0", sysctl("acct"), "1"),
        ("conntrack-full", "count", "60000", sysctl("max"), "131072"),
        (
            "conntrack-timeout",
            "tcp_timeout_established",
            "432000",
            sysctl("tcp_timeout_established"),
            "7440",
        ),
        ("conntrack-hash", "buckets", "4096", hash, "32768"),
    ] {
        let mut found = found(&router(&[(name, value)]));
        let (found_id, finding) = found.remove(0);
        assert_eq!((found_id, found.len()), (id, 0));
        let step = Step::Write { path, text: text.into() };
        assert_eq!(finding.fix, Some(Fix::Steps(vec![step])));
    }
}

#[test]
fn a_loaded_helper_without_a_rule_has_no_finding() {
    let fake = router(&[]).file("/proc/modules", "nf_conntrack_ftp 1 0 - Live 0x0\n");
    assert_eq!(found(&fake), []);
}

fn attached_in(table: &str, chain: &str) -> Fake {
    let rule = json!({
        "family": "inet", "table": table, "chain": chain, "expr": [{"ct helper": "ftp-std"}],
    });
    let rules = json!({"nftables": [{"rule": rule}]}).to_string();
    router(&[])
        .file("/proc/modules", "nf_conntrack_ftp 1 0 - Live 0x0\n")
        .prints("nft -j list ruleset", &rules)
}

#[test]
fn a_helper_attached_by_an_administrators_rule_has_no_finding() {
    assert_eq!(found(&attached_in("own", "prerouting")), []);
}

#[test]
fn reports_helpers_that_firewall4_attaches_to_zones_by_default() {
    let with =
        |text: &str| found(&attached_in("fw4", "helper_lan").file("/etc/config/firewall", text));
    let (id, finding) = found(&attached_in("fw4", "helper_lan")).remove(0);
    assert_eq!((id, &finding.params["helpers"]), ("helpers-global", &json!("ftp")));
    let Some(Fix::Change(edits)) = finding.fix else { panic!("no change") };
    assert_eq!(
        (&edits[0]["section"], &edits[0]["values"]),
        (&json!("d"), &json!({"auto_helper": "0"}))
    );
    assert_eq!(with("config defaults\n\toption auto_helper '0'\n"), []);
    let zone = |name: &str| {
        with(&format!(
            "config defaults\nconfig zone\n\toption name '{name}'\n\tlist helper 'ftp'\n"
        ))
    };
    assert_eq!(zone("lan"), [], "chosen by the zone");
    assert_eq!(zone("guest").len(), 1, "chosen by another zone");
}
