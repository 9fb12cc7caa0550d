// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::sample::{draft, lab, named};
use ::uci::Setting;

fn undone(draft: &Draft, current: &Packages) -> Packages {
    let edits = inverse(draft, current).unwrap();
    Draft::new(current.clone(), &edits).unwrap().after
}

fn same(a: &Packages, b: &Packages) -> bool {
    a.len() == b.len() && a.iter().all(|(name, package)| package.says(&b[name]))
}

#[test]
fn undoes_each_kind_of_edit() {
    let vlan = named(&lab(), "network", "vlan", "10").name.clone();
    let draft = draft(json!([
        {"config": "network", "op": "set", "section": "wan",
            "values": {"password": "x", "mtu": "1400"}},
        {"config": "network", "op": "set", "section": vlan, "values": {"ports": null}},
        {"config": "network", "op": "delete", "section": "iot"},
        {"config": "network", "op": "rename", "section": "lan", "name": "home"},
        {"config": "firewall", "op": "add", "type": "zone", "id": "z", "values": {"name": "guest"}},
    ]));
    assert!(same(&undone(&draft, &draft.after), &draft.before));
}

#[test]
fn undo_keeps_later_changes_of_other_values() {
    let draft = draft(json!([{"config": "network", "op": "delete", "section": "lan"}]));
    let since = crate::sample::edits(json!([
        {"config": "network", "op": "add", "type": "interface", "section": "vpn"},
        {"config": "network", "op": "set", "section": "wan", "values": {"mtu": "1400"}},
    ]));
    let current = Draft::new(draft.after.clone(), &since).unwrap().after;
    let after = undone(&draft, &current);
    let names: Vec<&str> = after["network"].of("interface").map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["lan", "iot", "wan", "wan6", "vpn"]);
    assert_eq!(after["network"].section("wan").unwrap().text("mtu"), Some("1400"));
}

fn refused_after(change: Value, since: Value) -> ChangedSince {
    let draft = draft(change);
    let since = crate::sample::edits(since);
    let current = Draft::new(draft.after.clone(), &since).unwrap().after;
    inverse(&draft, &current).unwrap_err()
}

#[test]
fn a_change_is_undone_with_the_later_change_of_its_value() {
    let set = |mtu: &str| {
        let values = json!({"mtu": mtu});
        json!([{"config": "network", "op": "set", "section": "wan", "values": values}])
    };
    let first = draft(set("1400"));
    let second = Draft::new(first.after.clone(), &crate::sample::edits(set("1300"))).unwrap();
    assert!(inverse(&first, &second.after).is_err());
    let drafts = [second, first];
    let edits = all_undone(&drafts, &drafts[0].after).unwrap();
    assert_eq!(
        edits,
        crate::sample::edits(json!([
            {"config": "network", "op": "set", "section": "wan", "values": {"mtu": null}}
        ]))
    );
    let since = Draft::new(drafts[0].after.clone(), &crate::sample::edits(set("1200"))).unwrap();
    assert_eq!(all_undone(&drafts, &since.after).unwrap_err().option, "mtu");
}

fn all_undone(drafts: &[Draft], current: &Packages) -> Result<Vec<Edit>, ChangedSince> {
    let mut undo = Undo::new(current.clone());
    for draft in drafts {
        undo.add(draft)?;
    }
    undo.edits()
}

#[test]
fn refuses_to_undo_a_value_that_was_changed_again() {
    let set = |mtu: &str| {
        let values = json!({"mtu": mtu});
        json!([{"config": "network", "op": "set", "section": "wan", "values": values}])
    };
    let error = refused_after(set("1400"), set("1300"));
    assert_eq!((error.section.as_str(), error.option.as_str()), ("wan", "mtu"));
    let delete = json!([{"config": "network", "op": "delete", "section": "wan"}]);
    assert_eq!(refused_after(set("1400"), delete.clone()).section, "wan");
    let add = json!([{"config": "network", "op": "add", "type": "interface", "section": "wan"}]);
    assert_eq!(refused_after(delete, add).section, "wan");
    let add = json!([{"config": "network", "op": "add", "type": "interface", "section": "vpn"}]);
    let set = json!([{"config": "network", "op": "set", "section": "vpn", "values": {"a": "b"}}]);
    assert_eq!(refused_after(add, set).option, "a");
}

#[test]
fn an_anonymous_section_is_found_under_its_new_name() {
    let rule = named(&lab(), "firewall", "name", "Allow-Ping").name.clone();
    let draft = draft(json!([
        {"config": "firewall", "op": "set", "section": rule, "values": {"enabled": "0"}},
    ]));
    let mut current = draft.after.clone();
    let sections = &mut current.get_mut("firewall").unwrap().sections;
    for section in sections.iter_mut() {
        section.name = format!("x{}", section.name);
    }
    let after = undone(&draft, &current);
    assert_eq!(named(&after, "firewall", "name", "Allow-Ping").text("enabled"), None);
}

/// Generates small packages, some with equal sections.
fn package() -> impl Strategy<Value = Package> {
    let options = prop::collection::btree_map("[ab]", "[xy]".prop_map(Setting::Text), 0..3);
    let section = (prop::option::of("[a-d]|undo[01]|undo0_1"), "[st]", options);
    prop::collection::vec(section, 0..7).prop_map(|list| {
        let mut package = Package::default();
        for (index, (name, kind, options)) in list.into_iter().enumerate() {
            let anonymous = name.as_ref().is_none_or(|name| package.section(name).is_some());
            let name = name.filter(|_| !anonymous).unwrap_or_else(|| format!("cfg{index}"));
            package.sections.push(Section { name, anonymous, kind, options });
        }
        package
    })
}

/// Returns a draft with edits of existing sections. `steps` select sections and values.
fn changed(package: Package, steps: &[(u8, usize, String, String)]) -> Draft {
    let before = Packages::from([("network".to_owned(), package)]);
    let mut edits: Vec<Edit> = Vec::new();
    for (index, (what, place, name, value)) in steps.iter().enumerate() {
        let now = Draft::new(before.clone(), &edits).unwrap().after;
        let sections = &now["network"].sections;
        let section = sections.get(place % sections.len().max(1)).map(|of| of.name.clone());
        let setting = Some(Setting::Text(value.clone()));
        let op = match (what % 6, section) {
            (0 | 1, Some(section)) => {
                Op::Set { section, values: Values::from([(name.clone(), setting)]) }
            }
            (2, Some(section)) => Op::Set { section, values: Values::from([(name.clone(), None)]) },
            (3, Some(section)) => Op::Delete { section },
            (4, Some(section)) => Op::Order { sections: vec![section] },
            (5, Some(section)) if now["network"].section(name).is_none() => {
                Op::Rename { section, name: name.clone() }
            }
            _ => {
                let id = Some(format!("new{index}"));
                Op::Add { kind: value.clone(), name: None, id, options: Options::new() }
            }
        };
        edits.push(Edit { config: "network".to_owned(), op });
    }
    Draft::new(before, &edits).unwrap()
}

use ::uci::Options;

proptest! {
    #[test]
    fn undoing_several_changes_restores_the_first_configuration(
        package in package(),
        steps in prop::collection::vec(
            prop::collection::vec((any::<u8>(), 0..9usize, "[a-f]", "[stxy]"), 0..5), 0..4),
    ) {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut now = package.clone();
        for (number, steps) in steps.iter().enumerate() {
            let next = changed(now.clone(), steps);
            // uci generates other names for added sections than the draft.
            let mut written = next.clone();
            written.name_added(|index| format!("cfg{number}_{index}"));
            now = written.after["network"].clone();
            drafts.insert(0, next);
        }
        let current = Packages::from([("network".to_owned(), now)]);
        let edits = all_undone(&drafts, &current).unwrap();
        let back = Draft::new(current, &edits).unwrap();
        prop_assert!(back.after["network"].says(&package), "{edits:?}");
    }

    #[test]
    fn inverting_twice_restores_the_change(
        package in package(),
        steps in prop::collection::vec((any::<u8>(), 0..9usize, "[a-f]", "[stxy]"), 0..8),
    ) {
        let there = changed(package, &steps);
        let edits = inverse(&there, &there.after).unwrap();
        let back = Draft::new(there.after.clone(), &edits).unwrap();
        prop_assert!(same(&back.after, &there.before), "{:?}", inverse(&there, &there.after));
        let again = undone(&back, &back.after);
        prop_assert!(same(&again, &there.after), "{:?}", inverse(&back, &back.after));
    }
}
