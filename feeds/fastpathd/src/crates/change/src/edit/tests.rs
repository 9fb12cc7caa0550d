// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

fn read(edit: Value) -> Result<Edit, EditError> {
    read_edits(&[edit]).map(|mut edits| edits.remove(0))
}

#[test]
fn reads_each_kind_of_edit() {
    let edit = read(json!({"config": "network", "op": "set", "section": "lan",
        "values": {"ipaddr": ["10.0.0.1/24"], "mtu": null, "metric": 5, "auto": false, "dns": [],
            "password": MASK, "otp_seed": MASK, "otp_seeds": [MASK, MASK], "gateway": ""}}));
    let values = Values::from([
        ("auto".to_owned(), Some(Setting::Text("0".into()))),
        ("dns".to_owned(), None),
        ("gateway".to_owned(), None),
        ("ipaddr".to_owned(), Some(Setting::List(vec!["10.0.0.1/24".into()]))),
        ("metric".to_owned(), Some(Setting::Text("5".into()))),
        ("mtu".to_owned(), None),
    ]);
    let op = Op::Set { section: "lan".into(), values };
    assert_eq!(edit, Ok(Edit { config: "network".into(), op }));
    for edit in [
        json!({"config": "network", "op": "delete", "section": "lan"}),
        json!({"config": "network", "op": "rename", "section": "lan", "name": "home"}),
        json!({"config": "network", "op": "order", "sections": ["lan", "cfg0193d4"]}),
        json!({"config": "firewall", "op": "add", "type": "rule", "section": null, "id": "new1",
            "values": {"name": "x"}}),
    ] {
        assert_eq!(read(edit.clone()).unwrap().value(&|_, setting| json!(setting)), edit);
    }
}

#[test]
fn an_invalid_edit_is_reported_with_its_number() {
    let long = "x".repeat(MAX_VALUE_LEN + 1);
    for (edit, field) in [
        (json!(7), ""),
        (json!({"config": "shadow", "op": "delete", "section": "a"}), "config"),
        (json!({"config": "../shadow", "op": "delete", "section": "a"}), "config"),
        (json!({"config": "network", "op": "drop", "section": "a"}), "op"),
        (json!({"config": "network", "op": "delete"}), "section"),
        (json!({"config": "network", "op": "delete", "section": "@rule[0]"}), "section"),
        (json!({"config": "network", "op": "delete", "section": "a\nb"}), "section"),
        (json!({"config": "network", "op": "add", "type": "a b"}), "type"),
        (json!({"config": "network", "op": "rename", "section": "a", "name": ""}), "name"),
        (json!({"config": "network", "op": "order", "sections": [7]}), "sections"),
        (json!({"config": "network", "op": "order", "sections": ["a", "b", "a"]}), "sections"),
        (json!({"config": "network", "op": "set", "section": "a", "values": []}), "values"),
        (json!({"config": "network", "op": "set", "section": "a", "values": {"a.b": ""}}), "a.b"),
        (json!({"config": "network", "op": "set", "section": "a", "values": {"a": {}}}), "a"),
        (json!({"config": "network", "op": "set", "section": "a", "values": {"a": "\0"}}), "a"),
        (json!({"config": "network", "op": "set", "section": "a", "values": {"a": long}}), "a"),
        (json!({"config": "dhcp", "op": "set", "section": "a", "values": {"a": [MASK, "x"]}}), "a"),
        (json!({"config": "dhcp", "op": "add", "type": "a", "values": {"a": ["x", MASK]}}), "a"),
        (json!({"config": "dhcp", "op": "set", "section": "a", "values": {"a": "x •••"}}), "a"),
        (json!({"config": "dhcp", "op": "set", "section": "a", "values": {"a": ["•••7"]}}), "a"),
    ] {
        let error = read(edit.clone()).unwrap_err();
        assert_eq!((error.number, error.field.as_str()), (1, field), "{edit}");
    }
    let many = vec![json!({"config": "network", "op": "delete", "section": "a"}); MAX_EDITS + 1];
    assert_eq!(read_edits(&many).unwrap_err().number, 0);
}

// A `delete` with an ignored `option` would remove the whole section.
#[test]
fn an_unknown_member_of_an_operation_is_refused() {
    let edits = [
        json!({"config": "firewall", "op": "add", "type": "rule"}),
        json!({"config": "network", "op": "set", "section": "lan", "values": {"mtu": "1500"}}),
        json!({"config": "network", "op": "delete", "section": "lan"}),
        json!({"config": "network", "op": "rename", "section": "lan", "name": "home"}),
        json!({"config": "network", "op": "order", "sections": ["lan"]}),
    ];
    for edit in edits {
        let op = edit["op"].as_str().unwrap();
        let own = MEMBERS.iter().find(|(known, _)| *known == op).unwrap().1;
        let all = MEMBERS.iter().flat_map(|(_, members)| *members);
        let misspelt = ["option", "value", "options", "Section", "sections ", ""];
        for member in all.chain(&misspelt).filter(|member| !own.contains(member)) {
            let mut wrong = edit.clone();
            wrong[*member] = json!("guest");
            let error = read(wrong.clone()).expect_err(&wrong.to_string());
            assert_eq!(error.field, *member, "{wrong}");
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "network|add|set|delete|rename|order|lan|•••".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let name = "config|op|section|type|values|name|id|sections|password|.{0,4}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_any_json_without_a_panic(list in prop::collection::vec(any_json(), 0..8)) {
        if let Ok(edits) = read_edits(&list) {
            let again: Vec<Value> =
                edits.iter().map(|edit| edit.value(&|_, setting| json!(setting))).collect();
            // Values that equal a mask are skipped, so only the number of edits is stable.
            prop_assert_eq!(read_edits(&again).unwrap().len(), edits.len());
        }
    }
}

#[test]
fn replaces_masks_of_an_undone_change() {
    let edit = |password: &str| {
        json!([{"config": "network", "op": "set", "section": "wan",
            "values": {"password": password, "mtu": "1400"}},
            {"config": "network", "op": "add", "type": "interface", "section": "lte",
            "values": {"password": password}}])
    };
    let read = |password: &str| read_edits(edit(password).as_array().unwrap()).unwrap();
    let known = read("geheim");
    let mut masked = read("•••7");
    let seven = Undone { id: 7, since: false };
    assert_eq!((masked[0].undone(), masked[1].undone()), (Some(seven), Some(seven)));
    assert!(masked.iter_mut().all(|edit| edit.fill(seven, &known)));
    assert_eq!(masked, known);
    assert_eq!(known[0].undone(), None);
    let mut other = read("•••7");
    assert!(!other[0].fill(seven, &known[1..]));
    let since = Undone { id: 7, since: true };
    let mut masked = read(&since.mask());
    assert_eq!((masked[0].undone(), masked[1].undone()), (Some(since), Some(since)));
    assert!(masked[0].fill(seven, &known), "there is no such mask");
    assert_eq!(masked[0].undone(), Some(since), "the other one stays");
    assert!(masked.iter_mut().all(|edit| edit.fill(since, &known)));
    assert_eq!(masked, known);
}

#[test]
fn a_url_with_a_masked_password_is_refused() {
    let url = |url: &str| {
        let values = serde_json::json!({"url": url});
        read_edits(&[serde_json::json!({"config": "fastpath", "op": "set", "section": "et",
            "values": values})])
    };
    let error = url("https://ann:•••@rules.example/x").unwrap_err().to_string();
    assert!(error.contains("'url'") && error.contains("password"), "{error}");
    // `undo` masks the whole URL, and `fill` restores it.
    let known = url("https://ann:geheim@rules.example/x").unwrap();
    let mut edits = url("•••17").unwrap();
    let undone = Undone { id: 17, since: false };
    assert_eq!(edits[0].undone(), Some(undone));
    assert!(edits[0].fill(undone, &known));
    assert_eq!(edits, known);
}
