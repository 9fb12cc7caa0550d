// SPDX-License-Identifier: GPL-2.0-or-later
//! A gateway that runs updates, with a rule server and archives.

pub(crate) mod archives;
pub(crate) mod pcap;
pub(crate) mod protocols;
pub(crate) mod server;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

pub(crate) fn rule(sid: u32, rev: u32) -> String {
    format!("alert tcp any any -> any any (msg:\"rule {sid}\"; sid:{sid}; rev:{rev};)\n")
}

/// Fake Suricata: rejects lines that contain BROKEN, with Suricata's message.
const FAKE_SURICATA: &str = r#"
grep -n BROKEN "$0" | while IFS=: read -r n rest; do
    echo "E: detect-parse: unknown rule keyword 'BROKEN'." >&2
    echo "E: detect: error parsing signature \"$rest\" from file $0 at line $n" >&2
done
! grep -q BROKEN "$0""#;

/// A temporary folder with a store and fastpath's own rules.
pub(crate) struct Gateway {
    pub(crate) root: PathBuf,
    pub(crate) test: Value,
    pub(crate) limit: u64,
    /// Timeout of each download and of the test in seconds.
    pub(crate) seconds: u64,
    pub(crate) download: bool,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) result: Value,
    /// Progress as `SOURCE STEP`.
    pub(crate) steps: Vec<String>,
}

impl Answer {
    pub(crate) fn outcome(&self) -> &str {
        self.result["outcome"].as_str().expect("an outcome")
    }

    pub(crate) fn message(&self) -> &str {
        self.result["message"].as_str().expect("a message")
    }

    pub(crate) fn source(&self, name: &str) -> &Value {
        let sources = self.result["sources"].as_array().expect("sources");
        sources.iter().find(|of| of["name"] == name).expect("the source")
    }
}

impl Gateway {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fastpath-rules-{}-{count}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("a folder");
        fs::write(root.join("own.rules"), rule(8_100_001, 1)).expect("a file");
        Self {
            root,
            test: json!(["/bin/sh", "-c", FAKE_SURICATA, "{rules}"]),
            limit: 8 << 20,
            seconds: 20,
            download: true,
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    pub(crate) fn request(&self, sources: &[Value]) -> Value {
        json!({
            "sources": sources,
            "builtin": {"path": self.root.join("own.rules")},
            "store": self.store(),
            "limit_bytes": self.limit,
            "test": self.test,
            "test_seconds": self.seconds,
            "download_seconds": self.seconds,
            "download": self.download,
        })
    }

    pub(crate) fn update(&self, sources: &[Value]) -> Answer {
        run(&mut program(), &["update"], &self.request(sources).to_string())
    }

    pub(crate) fn run(&self, verb: &str) -> Answer {
        let store = self.store();
        run(&mut program(), &[verb, store.to_str().expect("text")], "")
    }

    pub(crate) fn current(&self) -> Vec<String> {
        lines(&self.store().join("current.rules"))
    }

    pub(crate) fn assert_tidy(&self) {
        assert!(!self.store().join("work").exists(), "the work folder still exists");
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fastpath-rules"))
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("rules");
    text.lines().skip(2).map(str::to_owned).collect()
}

pub(crate) fn run(command: &mut Command, args: &[&str], input: &str) -> Answer {
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(input.as_bytes()).expect("the request");
    drop(stdin);
    let output = child.wait_with_output().expect("its end");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut said: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let result = said.pop().expect("a result");
    let word = |of: &Value, name: &str| of[name].as_str().expect("a word").to_owned();
    let step = |of: &Value| format!("{} {}", word(of, "source"), word(of, "step"));
    let code = output.status.code().expect("an exit status");
    Answer { code, result, steps: said.iter().map(step).collect() }
}
