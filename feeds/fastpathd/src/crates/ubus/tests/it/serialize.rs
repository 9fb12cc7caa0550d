// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that a serde value and its JSON have the same encoding.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use ubus::{Blobmsg, EncodeError};

#[derive(Clone, Debug, Serialize)]
struct Unit;

#[derive(Clone, Debug, Serialize)]
struct Number(i64);

#[derive(Clone, Debug, Serialize)]
struct Pair(u8, String);

#[derive(Clone, Debug, Serialize)]
enum Shape {
    Unit,
    New(f64),
    Tuple(u16, bool),
    Struct { text: String, list: Vec<u32> },
}

#[derive(Clone, Debug, Serialize)]
struct More {
    extra: Option<i8>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Everything {
    unit: Unit,
    number: Number,
    pair: Pair,
    shapes: Vec<Shape>,
    by_name: BTreeMap<String, Shape>,
    by_number: BTreeMap<u32, bool>,
    wide: u64,
    single: f32,
    letter: char,
    nothing: (),
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
    #[serde(flatten)]
    more: More,
}

fn text() -> impl Strategy<Value = String> {
    "[^\u{0}]{0,9}"
}

fn shape() -> impl Strategy<Value = Shape> {
    let list = prop::collection::vec(any::<u32>(), 0..4);
    prop_oneof![
        Just(Shape::Unit),
        any::<f64>().prop_map(Shape::New),
        any::<(u16, bool)>().prop_map(|(number, truth)| Shape::Tuple(number, truth)),
        (text(), list).prop_map(|(text, list)| Shape::Struct { text, list }),
    ]
}

fn everything() -> impl Strategy<Value = Everything> {
    let maps = (
        prop::collection::vec(shape(), 0..4),
        prop::collection::btree_map(text(), shape(), 0..4),
        prop::collection::btree_map(any::<u32>(), any::<bool>(), 0..4),
    );
    let numbers = any::<(i64, u8, u64, f32, Option<i8>)>();
    let texts = (text(), any::<char>().prop_filter("NUL", |c| *c != '\0'));
    (maps, numbers, texts, prop::option::of(text())).prop_map(
        |((shapes, by_name, by_number), numbers, (pair, letter), absent)| Everything {
            unit: Unit,
            number: Number(numbers.0),
            pair: Pair(numbers.1, pair),
            shapes,
            by_name,
            by_number,
            wide: numbers.2,
            single: numbers.3,
            letter,
            nothing: (),
            absent,
            more: More { extra: numbers.4 },
        },
    )
}

proptest! {
    #[test]
    fn a_value_and_its_json_have_the_same_encoding(value in everything()) {
        let json = serde_json::to_value(&value).unwrap();
        prop_assert_eq!(Blobmsg::encode(&value).unwrap(), Blobmsg::encode(&json).unwrap());
    }
}

#[test]
fn encodes_numbers_in_the_smallest_type_that_fits() {
    let ids = |value: Value| Blobmsg::encode(&json!({ "n": value })).unwrap().as_bytes()[0] & 0x7f;
    assert_eq!(ids(json!(i32::MIN)), 5);
    assert_eq!(ids(json!(i64::from(i32::MAX) + 1)), 4);
    assert_eq!(ids(json!(u64::MAX)), 4);
    assert_eq!(ids(json!(1.0)), 8);
    assert_eq!(ids(json!(true)), 7);
    assert_eq!(ids(json!(null)), 0);
}

#[test]
fn refuses_a_message_that_is_not_a_table() {
    for value in [json!(1), json!([1]), json!("text"), json!(null)] {
        assert_eq!(Blobmsg::encode(&value), Err(EncodeError::NotTable));
    }
    assert_eq!(Blobmsg::encode(&Pair(1, String::new())), Err(EncodeError::NotTable));
    assert!(Blobmsg::encode(&More { extra: None }).is_ok());
    assert!(Blobmsg::encode(&Shape::Tuple(1, true)).is_ok());
}

#[test]
fn reports_why_a_value_cannot_be_serialized() {
    let keys: BTreeMap<Option<bool>, u8> = [(None, 1)].into();
    let error = Blobmsg::encode(&keys).unwrap_err();
    assert_eq!(error.to_string(), "a key must be a text");
}
