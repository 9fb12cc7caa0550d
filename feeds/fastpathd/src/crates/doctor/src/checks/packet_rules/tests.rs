// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::{Facts, rules};
use crate::finding::{Finding, Fix, Step};
use crate::machine::fake::Fake;
use crate::texts::tests::all_found;

fn chain(table: &str, name: &str, hook: &str) -> Value {
    let mut chain = json!({"family": "inet", "table": table, "name": name});
    if !hook.is_empty() {
        chain["type"] = "filter".into();
        chain["hook"] = hook.into();
        chain["policy"] = "accept".into();
    }
    json!({"chain": chain})
}

fn rule(table: &str, chain: &str, expr: &Value) -> Value {
    json!({"rule": {"family": "inet", "table": table, "chain": chain, "expr": expr}})
}

fn counter() -> Value {
    json!([{"counter": {"packets": 1000, "bytes": 1}}])
}

fn established() -> Value {
    let left = json!({"ct": {"key": "state"}});
    let right = json!(["established", "related"]);
    json!([{"match": {"op": "in", "left": left, "right": right}}, {"accept": null}])
}

/// Returns the start of firewall4's forward chain, and a chain of a zone.
fn fw4() -> Vec<Value> {
    let set = json!([["established", {"accept": null}], ["related", {"accept": null}]]);
    let vmap = json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": set}}}]);
    vec![
        chain("fw4", "forward", "forward"),
        rule("fw4", "forward", &vmap),
        rule("fw4", "forward", &json!([{"jump": {"target": "forward_lan"}}])),
        chain("fw4", "forward_lan", ""),
        rule("fw4", "forward_lan", &json!([{"drop": null}])),
    ]
}

/// Returns the five-chain rule set of docs/doctor.md, with `each` rules per chain.
fn five_chains(each: usize) -> Vec<Value> {
    let mut objects = vec![chain("five", "forward", "forward")];
    for name in ["alien", "tor", "ips", "ubios", "user"] {
        objects.push(rule("five", "forward", &json!([{"jump": {"target": name}}])));
        objects.push(chain("five", name, ""));
        objects.extend((0..each).map(|_| rule("five", name, &counter())));
    }
    objects
}

fn router(objects: &[Vec<Value>]) -> Fake {
    let text = json!({"nftables": objects.concat()}).to_string();
    Fake::new().prints("nft -j list ruleset", &text)
}

fn found(fake: &Fake) -> Vec<(&'static str, Finding)> {
    let mut facts = Facts { rules: rules::read(fake), ..Facts::default() };
    let status = json!({"paths": {"slow": {"pps": 500}}});
    facts.flowtable.status = status.into();
    all_found(CHECKS, &facts)
}

#[test]
fn firewall4_has_no_finding() {
    assert_eq!(found(&router(&[fw4()])), []);
}

#[test]
fn our_own_chains_are_not_counted() {
    let mut ours = five_chains(9);
    for object in &mut ours {
        for kind in ["chain", "rule"] {
            if object[kind].is_object() {
                object[kind]["table"] = "fastpath".into();
            }
        }
    }
    assert_eq!(found(&router(&[ours])), []);
}

#[test]
fn reports_the_cost_of_five_chains() {
    let (id, finding) = found(&router(&[fw4(), five_chains(3)])).remove(0);
    assert_eq!((id, finding.case), ("forward-deep", "idle"));
    assert_eq!((&finding.params["rules"], &finding.params["chains"]), (&json!(20), &json!(6)));
    assert_eq!(finding.evidence[0].value, "20 / 6, 1000 × 20 = 20000");
    assert_eq!(finding.evidence[1].value, "500 × 20 = 10000");
    // The rules have only counters, so the table may be deleted.
    let Some(Fix::Steps(steps)) = &finding.fix else { panic!("no steps") };
    let delete = ["delete", "table", "inet", "five"].map(str::to_owned).to_vec();
    assert_eq!(steps[1], Step::Run { program: "nft", args: delete });
}

#[test]
fn offers_no_deletion_of_a_table_with_effect() {
    for expr in [json!([{"drop": null}]), json!([{"mangle": {}}]), json!([{"queue": {}}])] {
        let mut objects = five_chains(3);
        objects.push(rule("five", "user", &expr));
        let (_, finding) = found(&router(&[objects])).remove(0);
        assert_eq!((finding.case, &finding.fix), ("", &None), "{expr}");
    }
    let mut closed = five_chains(3);
    closed[0]["chain"]["policy"] = "drop".into();
    assert_eq!(found(&router(&[closed])).remove(0).1.fix, None);
}

#[test]
fn reports_a_late_accept_with_the_rules_before_it() {
    let base = |before: usize| {
        let mut objects = vec![chain("own", "fwd", "forward")];
        objects.extend((0..before).map(|_| rule("own", "fwd", &counter())));
        objects.push(rule("own", "fwd", &established()));
        objects
    };
    assert_eq!(found(&router(&[base(3)])), []);
    let (id, finding) = found(&router(&[base(6)])).remove(0);
    assert_eq!((id, &finding.params["before"]), ("established-late", &json!(6)));
    assert!(finding.fix.is_some());
}

#[test]
fn only_chains_of_established_routed_packets_are_counted() {
    let mut bridged = five_chains(9);
    for object in &mut bridged {
        for kind in ["chain", "rule"] {
            if object[kind].is_object() {
                object[kind]["family"] = "bridge".into();
            }
        }
    }
    assert_eq!(found(&router(&[bridged])), []);
    let left = json!({"ct": {"key": "state"}});
    let state = |op: &str, name: &str| json!({"match": {"op": op, "left": left, "right": name}});
    let jumps = |condition: &Value| {
        let mut objects = five_chains(9);
        for object in &mut objects {
            if object["rule"]["chain"] == "forward" {
                object["rule"]["expr"].as_array_mut().unwrap().insert(0, condition.clone());
            }
        }
        found(&router(&[objects])).len()
    };
    assert_eq!(jumps(&state("in", "new")), 0);
    assert_eq!(jumps(&state("!=", "established")), 0);
    assert_eq!(jumps(&state("in", "established")), 1);
    assert_eq!(jumps(&state("!=", "invalid")), 1);
}

#[test]
fn a_loop_of_jumps_terminates() {
    let looped =
        vec![chain("l", "f", "forward"), rule("l", "f", &json!([{"jump": {"target": "f"}}]))];
    assert_eq!(found(&router(&[looped])).len(), 1);
}

#[test]
fn reports_legacy_tables_with_their_size_if_known() {
    let fake = router(&[]).file("/proc/net/ip_tables_names", "filter\nnat\n").prints(
        "iptables-legacy-save -t filter",
        "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j X\n-A X -j DROP\nCOMMIT\n",
    );
    let (id, finding) = found(&fake).remove(0);
    assert_eq!(id, "legacy-tables");
    let sizes: Vec<_> = finding.evidence.iter().map(|seen| seen.value.as_str()).collect();
    assert_eq!((sizes, &finding.params["tables"]), (vec!["2", "?"], &json!(2)));
}

#[test]
fn reports_the_reason_if_nft_lacks_json() {
    let fake = Fake::new().prints("nft -j list ruleset", "Error: JSON support not compiled-in");
    let facts = Facts { rules: rules::read(&fake), ..Facts::default() };
    let why = (CHECKS[1].run)(&facts).unwrap_err().to_string();
    assert!(why.contains("nftables-json"), "{why}");
}
