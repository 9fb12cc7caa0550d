// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays the recordings of `contracts/jsonrpc` in order, because cases depend on earlier ones.
//! The server is the stand-in, or a real OpenWrt at `CONTRACT_ADDRESS` and `CONTRACT_UBUS_SOCKET`
//! (see `support/router.rs`).
//!
//! Compares status line, relevant headers and body, ignoring session ids and dates. Lists are
//! reduced to the product's objects: the recorded rpcd had the plug-ins `file` and `rc`; `system`
//! and `network.interface` come from procd and netifd.

use std::io::{BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::http::{Answer, connect, read, request, send};
use crate::support::{demo, router::Router};
use serde_json::Value;

const LISTED: [&str; 3] = ["fastpath.demo", "session", "uci"];
const NOBODY: &str = "00000000000000000000000000000000";

fn contracts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts")
}

/// Pairs of a recorded session id and ours.
#[derive(Default)]
struct Ids(Vec<(String, String)>);

impl Ids {
    fn learn(&mut self, recorded: &Value, ours: &Value) {
        let id = |answer: &Value| {
            let id = answer.pointer("/result/1/ubus_rpc_session").and_then(Value::as_str);
            id.map(str::to_owned)
        };
        self.0.extend(id(recorded).zip(id(ours)));
    }

    fn to_ours(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (recorded, ours)| text.replace(recorded, ours))
    }

    fn to_recorded(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (recorded, ours)| text.replace(ours, recorded))
    }
}

struct Contract {
    router: Router,
    ids: Ids,
}

fn compare_heads(recorded: &Answer, ours: &Answer) {
    assert_eq!(ours.status, recorded.status);
    let names = ["connection", "keep-alive", "content-type", "content-length", "transfer-encoding"];
    for name in names {
        assert_eq!(ours.header(name), recorded.header(name), "header {name}");
    }
    for name in ["etag", "last-modified", "date"] {
        let both = (ours.header(name).is_some(), recorded.header(name).is_some());
        assert_eq!(both.0, both.1, "presence of header {name}");
    }
}

/// Removes irrelevant objects from a list of objects.
fn listed(body: &Value) -> Value {
    let mut body = body.clone();
    let lists = |map: &serde_json::Map<String, Value>| map.contains_key("session");
    let in_result = body.get("result").is_some_and(Value::is_object);
    let objects = if in_result { body.get_mut("result") } else { Some(&mut body) };
    if let Some(Value::Object(objects)) = objects.filter(|o| o.as_object().is_some_and(lists)) {
        objects.retain(|name, _| LISTED.contains(&name.as_str()));
    }
    body
}

impl Contract {
    fn recorded(name: &str) -> Answer {
        let path = contracts().join("jsonrpc").join(format!("{name}.res"));
        Answer::recorded(&std::fs::read_to_string(path).unwrap())
    }

    fn compare(&mut self, name: &str, ours: &Answer) {
        let recorded = Self::recorded(name);
        compare_heads(&recorded, ours);
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
        let (Some(wanted), Some(got)) = (parse(&recorded.body), parse(&ours.body)) else {
            assert_eq!(ours.body.trim_end(), recorded.body.trim_end());
            return;
        };
        self.ids.learn(&wanted, &got);
        let got = parse(&self.ids.to_recorded(&got.to_string())).unwrap();
        assert_eq!(listed(&got), listed(&wanted));
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        send(&self.router.address, &request(method, path, headers, body))
    }

    fn post(&mut self, name: &str) {
        if name == "40-uci-get-after-timeout" {
            // The previous apply is rolled back after three seconds.
            std::thread::sleep(Duration::from_millis(3500));
        }
        let path = contracts().join("jsonrpc").join(format!("{name}.req"));
        let body = self.ids.to_ours(std::fs::read_to_string(path).unwrap().trim_end());
        let answer = self.send("POST", "/ubus", "Content-Type: application/json\r\n", &body);
        self.compare(name, &answer);
    }

    fn log_in(&self) -> String {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"call","params":["{NOBODY}","session","login",
                {{"username":"root","password":"fastpath"}}]}}"#
        );
        let answer = self.send("POST", "/ubus", "", &body);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        answer.pointer("/result/1/ubus_rpc_session").unwrap().as_str().unwrap().to_owned()
    }

    /// Replays a case without a recorded request body.
    fn other(&mut self, name: &str) {
        let bearer = format!("Authorization: Bearer {}\r\n", self.log_in());
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"empty","params":{}}"#;
        let answer = match name {
            "90-too-large" => {
                let body = format!(r#"{{"jsonrpc":"2.0","x":"{}"}}"#, "x".repeat(70_000));
                self.send("POST", "/ubus", "", &body)
            }
            "91-get" => self.send("GET", "/ubus", "", ""),
            "92-options" => self.send("OPTIONS", "/ubus", "", ""),
            "93-sse" => {
                let mut stream = connect(&self.router.address);
                let text = request("GET", "/ubus/subscribe/fastpath.demo", &bearer, "");
                stream.write_all(text.as_bytes()).unwrap();
                let recorded = Self::recorded(name).body.matches("event:").count();
                read(&mut BufReader::new(stream), recorded)
            }
            "94-sse-noauth" => self.send("GET", "/ubus/subscribe/fastpath.demo", "", ""),
            "95-static" => self.send("GET", "/", "", ""),
            "96-rest-list" => self.send("GET", "/ubus/list", "", ""),
            "97-rest-call" => self.send("POST", "/ubus/call/fastpath.demo", &bearer, call),
            other => panic!("no request is known for {other}"),
        };
        self.compare(name, &answer);
    }

    /// Compares the configuration file after all `uci` calls.
    fn file(&self) {
        let Some(folder) = &self.router.folder else { return };
        let recorded = std::fs::read_to_string(contracts().join("uci-export.txt")).unwrap();
        let recorded = recorded.strip_prefix("package fastpath\n").unwrap();
        let ours = std::fs::read_to_string(folder.join("config/fastpath")).unwrap();
        assert_eq!(ours.trim(), recorded.trim());
        // One reload for each apply and for the rollback.
        let reloaded = std::fs::read_to_string(folder.join("reloaded")).unwrap();
        assert_eq!(reloaded, "fastpath\n".repeat(3));
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(contracts().join("jsonrpc")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".res").map(str::to_owned)).collect();
    names.sort();
    names
}

#[test]
fn answers_recorded_cases_as_rpcd_and_uhttpd_did() {
    let mut contract = Contract { router: Router::from_environment(), ids: Ids::default() };
    let demo = demo::publish(contract.router.socket.clone(), false);
    let mut failed = Vec::new();
    let mut check = |name: &str, case: &mut dyn FnMut()| {
        if catch_unwind(AssertUnwindSafe(case)).is_err() {
            failed.push(name.to_owned());
        }
    };
    for name in &names() {
        let posted = contracts().join("jsonrpc").join(format!("{name}.req")).exists();
        check(name, &mut || if posted { contract.post(name) } else { contract.other(name) });
    }
    check("uci-export", &mut || contract.file());
    drop(contract);
    drop(demo);
    assert!(failed.is_empty(), "these cases differ: {failed:?}");
}
