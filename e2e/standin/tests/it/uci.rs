// SPDX-License-Identifier: GPL-2.0-or-later
//! UCI files, delta files, and calls of `uci` that the recordings do not cover.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use standin::session::{Grants, Sessions};
use standin::uci::{Command, Delta, Package, Store, Uci, Value};
use ubus::{Map, Status};

fn value() -> impl Strategy<Value = String> {
    // Characters that need quoting.
    "[a-z'\"\\\\#; \t\n=.é]{1,12}"
}

fn package() -> impl Strategy<Value = Package> {
    let option = ("[a-z_]{1,8}", prop::collection::vec(value(), 1..4), any::<bool>());
    let section =
        ("[a-z-]{1,8}", prop::option::of("[a-z0-9_]{1,8}"), prop::collection::vec(option, 0..5));
    prop::collection::vec(section, 0..6).prop_map(|sections| {
        let mut package = Package::parse("test", "").unwrap();
        for (kind, name, options) in sections {
            if name.as_ref().is_some_and(|name| package.section(name).is_some()) {
                continue;
            }
            let name = package.push(&kind, name.as_deref());
            let section = package.sections.iter_mut().find(|s| s.name == name).unwrap();
            for (option, values, list) in options {
                if section.option(&option).is_some() {
                    continue;
                }
                for value in &values {
                    if list { section.add(&option, value) } else { section.set(&option, value) }
                }
            }
        }
        package
    })
}

fn delta() -> impl Strategy<Value = Delta> {
    let command = prop_oneof![
        Just(Command::Add),
        Just(Command::Remove),
        Just(Command::Set),
        Just(Command::Rename),
        Just(Command::Order),
        Just(Command::ListAdd),
        Just(Command::ListDel),
    ];
    (command, "[a-z0-9_]{1,8}", prop::option::of("[a-z_]{1,8}"), value()).prop_map(
        |(command, section, option, value)| {
            let value = (command != Command::Remove).then_some(value);
            Delta::new(command, &section, option.as_deref(), value.as_deref())
        },
    )
}

proptest! {
    #[test]
    fn an_exported_file_parses_to_the_same_package(package in package()) {
        let text = package.export();
        prop_assert_eq!(Package::parse("test", &text).unwrap(), package);
    }

    #[test]
    fn a_delta_file_parses_to_the_same_changes(deltas in prop::collection::vec(delta(), 0..8)) {
        let lines: String = deltas.iter().map(|delta| delta.line("test")).collect();
        prop_assert_eq!(Delta::parse_all("test", &lines), deltas);
    }

    #[test]
    fn any_change_applies_without_a_panic(
        mut package in package(),
        deltas in prop::collection::vec(delta(), 0..8),
    ) {
        for delta in deltas {
            delta.apply(&mut package);
        }
        let _ = package.export();
    }

    #[test]
    fn any_text_is_parsed_or_rejected(
        text in "(?s)[a-z'\"\\\\#; \t\n]{0,40}",
        word in "config|option|list|package",
    ) {
        let _ = Package::parse("test", &format!("{word} {text}"));
        let _ = Package::parse("test", &text);
        let _ = Delta::parse_all("test", &text);
    }
}

#[test]
fn every_uci_notation_is_parsed() {
    let text = "# a comment\npackage x\nconfig a one; option b c\n\
        \toption d \"e \\\"f\\\"\" # why\n\
        config a\n\tlist g h\n\tlist g 'i j'\n\toption empty ''\n\toption long 'two\nlines'\n\
        config a one\n\toption b again\n";
    let package = Package::parse("x", text).unwrap();
    assert_eq!(package.sections.len(), 2, "a name that is there already is opened again");
    let one = package.section("one").unwrap();
    assert_eq!(one.option("b").unwrap().text(), Some("again"));
    assert_eq!(one.option("d").unwrap().text(), Some("e \"f\""));
    let other = &package.sections[1];
    assert!(other.anonymous);
    assert_eq!(other.option("g").unwrap().list(), ["h", "i j"]);
    assert_eq!(other.option("empty"), None);
    assert_eq!(other.option("long").unwrap().text(), Some("two\nlines"));
}

#[test]
fn an_error_names_file_and_line() {
    for (text, line) in [
        ("config a\n\noptin b c\n", 3),
        ("option b c\n", 1),
        ("config a\n\toption b 'c\n", 2),
        ("config a 'b' c\n", 1),
        ("config a 'b-c'\n", 1),
        ("config a\n\toption 'b c' d\n", 2),
        ("config\n", 1),
    ] {
        let error = Package::parse("network", text).unwrap_err();
        assert_eq!(
            (error.package.as_str(), error.error.line),
            ("network", line),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn anonymous_sections_get_the_names_of_libuci() {
    let text = "config fastpath main\nconfig rule\nconfig rule\nconfig interface\n";
    let package = Package::parse("x", text).unwrap();
    let names: Vec<&str> = package.sections.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names[..3], ["main", "cfg0292bd", "cfg0392bd"]);
    assert!(names[3].starts_with("cfg04"));
}

/// The object on temporary files, called without a session like by local programs.
struct Bench {
    folder: PathBuf,
    uci: Uci,
    sessions: Sessions,
    now: Duration,
}

const TEXT: &str = "\nconfig rule\n\toption name 'one'\n\toption on '1'\n\nconfig rule 'two'\n\
    \toption name 'two'\n\tlist port 'a'\n\tlist port 'b'\n\nconfig other 'three'\n\n";

impl Bench {
    fn new(name: &str) -> Bench {
        let folder =
            std::env::temp_dir().join(format!("standin-uci-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("config")).unwrap();
        std::fs::write(folder.join("config/test"), TEXT).unwrap();
        let store = Store {
            config: folder.join("config"),
            run: folder.join("run"),
            staged: folder.join("staged"),
        };
        let mut grants = Grants::default();
        grants.grant("uci", "test", "read");
        grants.grant("uci", "test", "write");
        let sessions = Sessions::new(grants);
        Bench { folder, uci: Uci::new(store), sessions, now: Duration::ZERO }
    }

    fn call(&mut self, method: &str, args: Json) -> Result<Json, Status> {
        let Json::Object(args) = args else { panic!("arguments are a table") };
        let answer = self.uci.answer(&mut self.sessions, (method, &args), self.now);
        answer.map(Json::Object)
    }

    /// Calls with the default session, which may write the file here.
    fn web(&mut self, method: &str, mut args: Json) -> Result<Json, Status> {
        args["ubus_rpc_session"] = json!(standin::session::NOBODY);
        self.call(method, args)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.join("config/test")).unwrap()
    }

    fn names(&mut self) -> Vec<String> {
        let all = self.call("get", json!({"config": "test"})).unwrap();
        all["values"].as_object().unwrap().keys().cloned().collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn an_invalid_file_does_not_affect_others() {
    let mut bench = Bench::new("broken");
    for broken in ["config rule 'x\n", "config rule\noption a b c\n", "<html>\n", "option a b\n"] {
        std::fs::write(bench.folder.join("config/broken"), broken).unwrap();
        for (method, args) in [
            ("get", json!({"config": "broken"})),
            ("add", json!({"config": "broken", "type": "rule"})),
            ("changes", json!({"config": "broken"})),
        ] {
            let answer = bench.call(method, args);
            assert_eq!(answer, Err(Status::UnknownError), "{method} of {broken:?}");
        }
        assert_eq!(bench.names().len(), 3);
        bench
            .web("set", json!({"config": "test", "section": "two", "values": {"name": "x"}}))
            .unwrap();
        assert!(bench.web("changes", empty()).unwrap()["changes"].get("test").is_some());
    }
}

fn empty() -> Json {
    Json::Object(Map::new())
}

#[test]
fn changes_take_effect_only_on_apply() {
    let mut bench = Bench::new("apply");
    let on = json!({"config": "test", "section": "two", "values": {"on": true, "n": 5}});
    assert_eq!(bench.web("set", on), Ok(empty()));
    bench.web("delete", json!({"config": "test", "section": "two", "option": "port"})).unwrap();
    bench.web("rename", json!({"config": "test", "section": "two", "name": "second"})).unwrap();
    bench.web("order", json!({"config": "test", "sections": ["three", "second"]})).unwrap();
    assert_eq!(bench.text(), TEXT);
    let changes = bench.web("changes", json!({"config": "test"})).unwrap();
    for change in [json!(["order", "three", 0]), json!(["order", "second", 1])] {
        assert!(changes["changes"].as_array().unwrap().contains(&change), "{changes}");
    }
    bench.web("delete", json!({"config": "test", "section": "three"})).unwrap();
    assert_eq!(bench.web("apply", json!({"rollback": false})), Ok(empty()));
    assert_eq!(bench.uci.take_changed(), ["test"]);
    let expected = "\nconfig rule 'second'\n\toption name 'two'\n\toption on '1'\n\
        \toption n '5'\n\nconfig rule\n\toption name 'one'\n\toption on '1'\n\n";
    assert_eq!(bench.text(), expected);
    assert_eq!(bench.web("changes", json!({})).unwrap(), json!({"changes": {}}));
}

#[test]
fn setting_an_equal_value_records_no_change() {
    let mut bench = Bench::new("same");
    let same = json!({"config": "test", "section": "two", "values": {"name": "two"}});
    assert_eq!(bench.call("set", same), Ok(empty()));
    assert_eq!(bench.call("changes", json!({"config": "test"})).unwrap(), json!({"changes": []}));
}

#[test]
fn invalid_calls_are_rejected() {
    let mut bench = Bench::new("refuse");
    for (method, args, status) in [
        ("get", json!({}), Status::InvalidArgument),
        ("get", json!({"config": "nosuch"}), Status::NotFound),
        ("get", json!({"config": "../config/test"}), Status::InvalidArgument),
        ("set", json!({"config": "test", "values": {}}), Status::InvalidArgument),
        ("set", json!({"config": "test", "section": "two"}), Status::InvalidArgument),
        ("set", json!({"config": "test", "section": "x", "values": {"a": "b"}}), Status::NotFound),
        (
            "set",
            json!({"config": "test", "section": "two", "values": {"a-b": "c"}}),
            Status::InvalidArgument,
        ),
        (
            "set",
            json!({"config": "test", "section": "two", "values": {"a": {}}}),
            Status::InvalidArgument,
        ),
        ("add", json!({"config": "test", "type": "a b"}), Status::InvalidArgument),
        ("add", json!({"config": "test", "type": "a", "name": "b-c"}), Status::InvalidArgument),
        ("delete", json!({"config": "test", "section": "two", "option": "x"}), Status::NotFound),
        ("delete", json!({"config": "test", "section": "x"}), Status::NotFound),
        (
            "rename",
            json!({"config": "test", "section": "two", "name": "a b"}),
            Status::InvalidArgument,
        ),
        ("order", json!({"config": "test", "sections": ["x"]}), Status::NotFound),
        ("revert", json!({"config": "nosuch"}), Status::NotFound),
        ("apply", json!({"rollback": true}), Status::InvalidArgument),
        ("commit", json!({"config": "test"}), Status::NotSupported),
    ] {
        assert_eq!(bench.call(method, args.clone()), Err(status), "{method} {args}");
    }
    assert_eq!(bench.call("changes", json!({"config": "test"})).unwrap(), json!({"changes": []}));
    assert_eq!(bench.web("get", json!({"config": "other"})), Err(Status::PermissionDenied));
}

#[test]
fn sessions_do_not_see_each_others_changes() {
    let mut bench = Bench::new("private");
    let set = json!({"config": "test", "section": "two", "values": {"name": "mine"}});
    bench.web("set", set).unwrap();
    let get = json!({"config": "test", "section": "two", "option": "name"});
    assert_eq!(bench.web("get", get.clone()).unwrap(), json!({"value": "mine"}));
    assert_eq!(bench.call("get", get).unwrap(), json!({"value": "two"}));
}

#[test]
fn changes_of_a_shell_are_visible_only_without_a_session() {
    let mut bench = Bench::new("shell");
    std::fs::create_dir_all(bench.folder.join("staged")).unwrap();
    std::fs::write(bench.folder.join("staged/test"), "test.two.name='shell'\n").unwrap();
    let get = json!({"config": "test", "section": "two", "option": "name"});
    assert_eq!(bench.call("get", get.clone()).unwrap(), json!({"value": "shell"}));
    assert_eq!(bench.web("get", get).unwrap(), json!({"value": "two"}));
    assert!(!bench.text().contains("shell"));
}

#[test]
fn an_apply_is_rolled_back_at_its_timeout_or_on_request() {
    let mut bench = Bench::new("undo");
    let set = || json!({"config": "test", "section": "two", "values": {"name": "new"}});
    let apply = || json!({"rollback": true, "timeout": 10});
    assert_eq!(bench.web("apply", apply()), Err(Status::NoData), "nothing has changed");
    bench.web("set", set()).unwrap();
    bench.web("apply", apply()).unwrap();
    assert!(bench.text().contains("'new'"));
    assert_eq!(bench.web("revert", json!({"config": "test"})), Err(Status::PermissionDenied));
    bench.now = Duration::from_secs(9);
    bench.uci.expire(&mut bench.sessions, bench.now);
    assert!(bench.text().contains("'new'"), "too early");
    bench.now = Duration::from_secs(10);
    bench.uci.expire(&mut bench.sessions, bench.now);
    assert_eq!(bench.text(), TEXT);
    assert_eq!(bench.uci.take_changed(), ["test", "test"], "of the change and of its end");

    // The session keeps the change after the rollback.
    bench.web("apply", apply()).unwrap();
    assert!(bench.text().contains("'new'"));
    bench.web("rollback", json!({})).unwrap();
    assert_eq!(bench.text(), TEXT);
    assert_eq!(bench.web("rollback", json!({})), Err(Status::NoData));
    bench.web("apply", json!({"rollback": false})).unwrap();
    bench.now = Duration::from_secs(1000);
    bench.uci.expire(&mut bench.sessions, bench.now);
    assert!(bench.text().contains("'new'"), "without roll-back it stays");
}

#[test]
fn changes_are_not_restored_to_a_session_without_the_right() {
    let mut bench = Bench::new("ended");
    let set = json!({"config": "test", "section": "two", "values": {"name": "new"}});
    bench.web("set", set).unwrap();
    bench.web("apply", json!({"rollback": true, "timeout": 1})).unwrap();
    bench.sessions = Sessions::new(Grants::default());
    bench.now = Duration::from_secs(1);
    bench.uci.expire(&mut bench.sessions, bench.now);
    assert_eq!(bench.text(), TEXT);
    let kept = bench.folder.join("run").join(format!("uci-{}", standin::session::NOBODY));
    assert!(!kept.join("test").exists());
}

#[test]
fn a_missing_delta_folder_means_no_changes() {
    let bench = Bench::new("nowhere");
    let folder = &bench.folder;
    let store = Store {
        config: folder.join("config"),
        run: folder.join("run"),
        staged: folder.join("staged"),
    };
    for nowhere in ["/dev/null", "/nonexistent"] {
        let package = store.load("test", Path::new(nowhere)).unwrap();
        assert_eq!(
            package.section("two").unwrap().option("port"),
            Some(&Value::List(vec!["a".into(), "b".into()]))
        );
    }
}
