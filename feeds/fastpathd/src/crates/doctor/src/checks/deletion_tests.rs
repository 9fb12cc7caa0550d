// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that no check advises to delete the firewall's table or our own.

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::{Facts, flowtable, rules, uci};
use crate::finding::{Finding, Fix, Step};
use crate::machine::fake::Fake;
use crate::texts::Texts;

/// Tables that must never be deleted. In the test they have the faults for which the doctor advises
/// to delete other tables.
const PROTECTED: [&str; 2] = ["fw4", "fastpath"];

/// Returns a table with a flowtable on upper devices and without counters.
fn flowtables(table: &str) -> String {
    format!(
        "table inet {table} {{\n\tflowtable ft {{\n\t\thook ingress priority filter\n\
         \t\tdevices = {{ br-lan.10, br-lan.20, pppoe-wan, wan.35 }}\n\t}}\n}}\n"
    )
}

fn long_and_idle(table: &str) -> Vec<Value> {
    let base = json!({"family": "inet", "table": table, "name": "forward", "type": "filter",
        "hook": "forward", "policy": "accept"});
    let counting = json!({"family": "inet", "table": table, "chain": "forward",
        "expr": [{"counter": {"packets": 1000, "bytes": 1}}]});
    let established = json!({"family": "inet", "table": table, "chain": "forward", "expr": [
        {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established"]}},
        {"accept": null},
    ]});
    let mut objects = vec![json!({"chain": base})];
    objects.extend((0..20).map(|_| json!({"rule": counting})));
    objects.push(json!({"rule": established}));
    objects
}

fn router(tables: &[&str]) -> Facts {
    let link = |name: &str, kind: &str| json!({"name": name, "kind": kind});
    let links = [
        link("br-lan.10", "vlan"),
        link("br-lan.20", "vlan"),
        link("pppoe-wan", "ppp"),
        link("wan.35", "vlan"),
    ];
    let each = |of: fn(&str) -> Vec<Value>| tables.iter().copied().flat_map(of).collect();
    let objects: Vec<Value> = each(long_and_idle);
    let listed: String = tables.iter().map(|table| flowtables(table)).collect();
    let fake = Fake::new()
        .prints("nft list flowtables", &listed)
        .prints("nft -j list ruleset", &json!({"nftables": objects}).to_string())
        .answers("fastpath topology", json!({"links": links}))
        .answers(
            "fastpath status",
            json!({"engine": {"wanted": "flowtable", "active": "flowtable", "why": ""}}),
        )
        .file("/etc/config/firewall", "config defaults\n\toption flow_offloading '1'\n");
    Facts {
        flowtable: flowtable::read(&fake),
        rules: rules::read(&fake),
        uci: uci::read(&fake),
        ..Facts::default()
    }
}

fn found(facts: &Facts) -> Vec<(&'static str, &'static str, Finding)> {
    let all = CHECKS.iter().flat_map(|group| *group);
    all.filter_map(|check| Some((check.group, check.id, (check.run)(facts).ok()??))).collect()
}

fn deletes(finding: &Finding) -> Vec<String> {
    let Some(Fix::Steps(steps)) = &finding.fix else { return Vec::new() };
    let of = |step: &Step| match step {
        Step::Run { args, .. } if args.iter().any(|arg| arg == "delete" || arg == "flush") => {
            Some(args.join(" "))
        }
        Step::Run { .. } | Step::Write { .. } | Step::Feature { .. } | Step::Call { .. } => None,
    };
    steps.iter().filter_map(of).collect()
}

/// Returns whether remedy or fix of a finding mention deletion.
fn advises_deletion(group: &str, id: &str, finding: &Finding) -> bool {
    let texts = Texts::english();
    let keys: &[&str] = if finding.fix.is_some() { &["remedy", "fix"] } else { &["remedy"] };
    keys.iter().any(|key| texts.finding(group, id, finding, key).to_lowercase().contains("delete"))
}

fn names(finding: &Finding, table: &str) -> bool {
    let of = finding.evidence.iter().map(|seen| format!("{} {}", seen.of, seen.value));
    let params = finding.params.values().map(ToString::to_string);
    of.chain(params).any(|text| text.contains(&format!("inet {table}")))
}

#[test]
fn no_finding_advises_to_delete_the_firewalls_table_or_ours() {
    let facts = router(&PROTECTED);
    let all = found(&facts);
    assert!(all.iter().any(|(_, id, _)| *id == "flowtable-fw4"), "{all:?}");
    for (group, id, finding) in all {
        for table in PROTECTED {
            let table_deleted = deletes(&finding).into_iter().find(|step| step.contains(table));
            assert_eq!(table_deleted, None, "{id}");
            let advised = advises_deletion(group, id, &finding) && names(&finding, table);
            assert!(!advised, "{id} advises to delete inet {table}");
        }
    }
}

#[test]
fn advises_to_delete_another_programs_table() {
    let all = found(&router(&["own"]));
    let advised = |wanted: &str| {
        all.iter().any(|(group, id, finding)| {
            *id == wanted && advises_deletion(group, id, finding) && names(finding, "own")
        })
    };
    assert!(advised("flowtable-upper") && advised("forward-deep"), "{all:?}");
    let deep = all.iter().find(|(_, id, _)| *id == "forward-deep").unwrap();
    assert!(deletes(&deep.2).contains(&"delete table inet own".to_owned()));
}

#[test]
fn findings_about_flowtables_do_not_call_them_tables() {
    let facts = router(&["own"]);
    for (group, id, finding) in found(&facts) {
        let about_flowtables = ["flowtable-upper", "flowtable-counters", "flowtable-fw4"];
        if !about_flowtables.contains(&id) {
            continue;
        }
        for key in ["title", "consequence", "remedy", "fix"] {
            let text = Texts::english().finding(group, id, &finding, key).to_lowercase();
            assert!(!text.replace("flowtable", "").contains("table"), "{id}: {text}");
        }
    }
}
