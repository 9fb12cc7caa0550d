// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the program with an empty environment, as under ujail.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The program must find download programs in the default `PATH`. Port 9 is closed.
#[test]
fn finds_download_programs_without_an_environment() {
    let known = ["uclient-fetch", "curl", "wget"];
    let there = |name: &&str| {
        launch::PATH.split(':').any(|folder| std::path::Path::new(folder).join(name).is_file())
    };
    if !known.iter().any(there) {
        eprintln!("skipped: no program to download with");
        return;
    }
    let store = std::env::temp_dir().join(format!("rules-path-{}", std::process::id()));
    let request = json!({
        "store": store,
        "sources": [{"name": "one", "url": "http://127.0.0.1:9/x.tar.gz", "sha256": "0".repeat(64)}],
        "limit_bytes": 1000,
        "test": ["true", "{rules}"],
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_fastpath-rules"))
        .arg("update")
        .env_clear()
        .env("container", "ujail")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().unwrap().write_all(request.to_string().as_bytes()).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let result: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let error = result["sources"][0]["message"].as_str().unwrap_or_default();
    assert!(error.starts_with("download of http://127.0.0.1:9"), "{result}");
    std::fs::remove_dir_all(&store).unwrap();
}
