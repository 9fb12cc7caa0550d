// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// As `uci get` answers it.
fn parsed(text: &str) -> Result<Value, ParseError> {
    parse(text).map(|package| package.values())
}

fn fails(text: &str) -> String {
    parsed(text).expect_err(text).to_string()
}

#[test]
fn an_export_becomes_what_get_answers() {
    // Recorded of `uci export` and `ubus call uci get`, but for the names of sections.
    let text = r#"package fastpath

config fastpath 'main'
	option enabled '1'
	option engine 'ebpf'
	list device 'lan1'
	list device 'lan2'

config rule
	option name 'first'
	option note 'it'\''s "quoted"'

config rule
	option name 'second'
"#;
    let section = |kind: &str, name: &str, anonymous: bool, index: usize| {
        json!({
            ".type": kind,
            ".name": name,
            ".anonymous": anonymous,
            ".index": index
        })
    };
    let mut main = section("fastpath", "main", false, 0);
    main["enabled"] = json!("1");
    main["engine"] = json!("ebpf");
    main["device"] = json!(["lan1", "lan2"]);
    let mut first = section("rule", "cfg02", true, 1);
    first["name"] = json!("first");
    first["note"] = json!("it's \"quoted\"");
    let mut second = section("rule", "cfg03", true, 2);
    second["name"] = json!("second");
    assert_eq!(parsed(text), Ok(json!({ "main": main, "cfg02": first, "cfg03": second })));
}

#[test]
fn every_kind_of_quoting() {
    let text = "config a b # comment\noption bare x-1.2/3:4@5 # more\noption single '# \"\\'\n\
        option double \"a\\\"b'\\\\\"\noption joined a'b c'\"d\"\noption empty ''\n\
        option lines 'one\ntwo'\noption after y";
    let values = parsed(text).unwrap();
    let section = &values["b"];
    for (option, value) in [
        ("bare", "x-1.2/3:4@5"),
        ("single", "# \"\\"),
        ("double", "a\"b'\\"),
        ("joined", "ab cd"),
        ("empty", ""),
        ("lines", "one\ntwo"),
        ("after", "y"),
    ] {
        assert_eq!(section[option], json!(value), "{option}");
    }
}

#[test]
fn lists_and_repeats_as_in_libuci() {
    let text = "config a b\noption x 1\noption x 2\nlist y 1\nlist y 2\noption z 1\nlist z 2\n\
        config a b\noption w 1\n";
    let values = parsed(text).unwrap();
    let section = &values["b"];
    assert_eq!(section["x"], json!("2"));
    assert_eq!(section["y"], json!(["1", "2"]));
    assert_eq!(section["z"], json!(["1", "2"]));
    assert_eq!(section["w"], json!("1"), "sections of one name are one");
}

#[test]
fn nothing_is_no_error() {
    for text in ["", "\n\n", "# only a comment", "  \t # x\n", "package fastpath\n"] {
        assert_eq!(parsed(text), Ok(json!({})), "{text:?}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, error) in [
        ("config a\n\noption x 'y", "line 3: the quote ' is never closed"),
        ("config a\noption x \"y\n\n", "line 2: the quote \" is never closed"),
        ("option x y", "line 1: option 'x' before any section"),
        ("config a\noption x", "line 2: 'option' with 1 arguments"),
        ("config a\noption x y z", "line 2: 'option' with 3 arguments"),
        ("config", "line 1: 'config' with 0 arguments"),
        ("\nconfig a b c", "line 2: 'config' with 3 arguments"),
        ("conf a", "line 1: 'conf' is not one of package, config, option, list"),
        ("config a;option x y", "line 1: a semicolon outside of quotes"),
        ("config a\noption x y\\", "line 2: a backslash with nothing after it"),
        ("config a\noption x.y z", "line 2: 'x.y' cannot be the name of an option"),
        ("config a\noption .type z", "line 2: '.type' cannot be the name of an option"),
        ("config 'a b'", "line 1: 'a b' cannot be the type of a section"),
        ("config a 'b.c'", "line 1: 'b.c' cannot be the name of a section"),
        ("config a b\nconfig c b", "line 2: section 'b' was of another type before"),
    ] {
        assert_eq!(fails(text), error, "{text:?}");
    }
}

/// As `uci export` quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

proptest! {
    #[test]
    fn any_text_is_taken(text: String) {
        let _ = parsed(&text);
    }

    #[test]
    fn any_statements_are_taken(
        text in "((config|option|list|package|#)[ a'\"\\\\;\n]{0,6}){0,12}",
    ) {
        let _ = parsed(&text);
    }

    #[test]
    fn every_value_is_read_back(value: String, list: Vec<String>) {
        let mut text = format!("config a b\noption value {}\n", quoted(&value));
        for entry in &list {
            text.extend(["list list ", &quoted(entry), "\n"]);
        }
        let values = parsed(&text).unwrap();
        prop_assert_eq!(&values["b"]["value"], &json!(value));
        if !list.is_empty() {
            prop_assert_eq!(&values["b"]["list"], &json!(list));
        }
    }
}
