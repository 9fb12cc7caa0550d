// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn parsed(text: &str) -> Result<Value, ParseError> {
    parse(text).map(|package| package.values())
}

#[test]
fn parsing_an_export_gives_the_answer_of_uci_get() {
    // Recorded from `uci export` and `ubus call uci get`.
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
    let mut first = section("rule", "cfg0292bd", true, 1);
    first["name"] = json!("first");
    first["note"] = json!("it's \"quoted\"");
    let mut second = section("rule", "cfg0392bd", true, 2);
    second["name"] = json!("second");
    assert_eq!(parsed(text), Ok(json!({ "main": main, "cfg0292bd": first, "cfg0392bd": second })));
}

#[test]
fn parses_quotes_and_escapes() {
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
        ("lines", "one\ntwo"),
        ("after", "y"),
    ] {
        assert_eq!(section[option], json!(value), "{option}");
    }
}

#[test]
fn merges_lists_and_repeated_options_like_libuci() {
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
fn accepts_a_file_without_sections() {
    for text in ["", "\n\n", "# only a comment", "  \t # x\n", "package fastpath\n"] {
        assert_eq!(parsed(text), Ok(json!({})), "{text:?}");
    }
}

/// Converts a text with one character per byte to its bytes.
fn bytes(text: &Value) -> Vec<u8> {
    let code = |c: char| u8::try_from(u32::from(c)).unwrap();
    text.as_str().unwrap().chars().map(code).collect()
}

/// Decodes all texts of a recorded value as UTF-8.
fn text(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(String::from_utf8_lossy(&bytes(value))),
        Value::Array(list) => list.iter().map(text).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), text(value))).collect::<Value>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns libuci's messages for a fault.
fn reason(fault: ParseFault) -> &'static [&'static str] {
    match fault {
        ParseFault::Command => &["invalid command"],
        ParseFault::Few => &[
            "insufficient arguments",
            "package without name",
            "config without name",
            "option without name",
        ],
        ParseFault::Many => &["too many arguments"],
        ParseFault::Name => &["invalid character in name field"],
        ParseFault::Type => &["invalid character in type field"],
        ParseFault::First => &["option/list command found before the first section"],
        ParseFault::Retyped => {
            &["section of different type overwrites prior section with same name"]
        }
        ParseFault::Quote => &["EOF with unterminated '", "EOF with unterminated \""],
    }
}

// The recording of libuci (66127cd7) has two lines per case: a file, and its sections (type, name,
// anonymous, options) or libuci's error message.
#[test]
fn parses_files_like_libuci() {
    let recorded = include_str!("../../tests/libuci.txt");
    let lines: Vec<Value> =
        recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut seen = Vec::new();
    for case in lines.chunks_exact(2) {
        let file = bytes(&case[0]);
        match parse(&file) {
            Ok(package) => {
                let sections = package.sections.iter();
                let shown = |of: &Section| json!([of.kind, of.name, of.anonymous, of.options]);
                assert_eq!(sections.map(shown).collect::<Value>(), text(&case[1]), "{case:?}");
            }
            Err(error) => {
                let said = case[1].as_str().unwrap_or_else(|| panic!("{case:?}: {error}"));
                assert!(reason(error.fault).contains(&said), "{case:?}: {error}");
                seen.push(error.fault);
            }
        }
    }
    for fault in ParseFault::ALL {
        assert!(seen.contains(&fault), "{fault:?}");
    }
    assert!(lines.len() > 200);
}

#[test]
fn an_error_reports_the_first_line_of_its_statement() {
    for (text, line) in [
        ("config a\n\noption x 'y", 3),
        ("config a\noption x \"y\n\n", 2),
        ("option x y", 1),
        ("config a\n# one\n\noption x y z\n", 4),
        ("config a\noption x 'y\nz'\noption x.y z", 4),
        ("config a\noption x 'y\noption z 'w'\noption v 1\n", 2),
        ("config a 'b' ; option x.y z", 1),
    ] {
        assert_eq!(parse(text).map_err(|error| error.line), Err(line), "{text:?}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

proptest! {
    #[test]
    fn accepts_any_bytes_without_a_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn accepts_any_statements_without_a_panic(
        text in "((config|option|list|package|#)[ a'\"\\\\;\n]{0,6}){0,12}",
    ) {
        let _ = parsed(&text);
    }

    #[test]
    fn parsing_a_quoted_value_returns_it_unchanged(
        value in "[^\0]{1,40}",
        list in prop::collection::vec("[^\0]{0,20}", 0..4),
    ) {
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
