// SPDX-License-Identifier: GPL-2.0-or-later
//! Archives and rules that are rejected, so that the previous rules stay in force.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::archives::{Entry, files, gz, huge_entry, sha256, tar, zeros};
use crate::support::server::{Page, Server};
use crate::support::{Answer, Gateway, lines, program, rule, run};
use rules::Store;
use serde_json::{Value, json};
use tar::EntryType;

/// A gateway with a good rule of source `et`.
struct Fixture {
    server: Server,
    gateway: Gateway,
    good: Vec<String>,
}

impl Fixture {
    fn new() -> Self {
        let (server, gateway) = (Server::start(), Gateway::new());
        let mut this = Self { server, gateway, good: Vec::new() };
        let answer = this.update(files(&[("rules/a.rules", &rule(1, 1))]));
        assert_eq!(answer.outcome(), "updated");
        this.good = this.gateway.current();
        assert_eq!(this.good.len(), 2);
        this
    }

    fn source(&self, page: Page, sum: &str) -> Value {
        self.server.put("/et.tar.gz", page);
        json!({"name": "et", "url": self.server.url("/et.tar.gz"), "sha256": sum})
    }

    fn update(&self, bytes: Vec<u8>) -> Answer {
        let sum = sha256(&bytes);
        self.gateway.update(&[self.source(Page::Whole(bytes), &sum)])
    }

    fn assert_refused(&self, answer: &Answer, message: &str) {
        assert!(answer.message().contains(message), "{}\nshould have: {message}", answer.message());
        assert!(answer.message().starts_with("et: "), "{}", answer.message());
        assert_eq!((answer.code, answer.outcome()), (2, "failed"));
        assert_eq!(answer.source("et")["state"], "kept");
        assert_eq!(answer.source("et")["rules"], 1);
        assert_eq!(self.gateway.current(), self.good);
        self.gateway.assert_tidy();
    }
}

#[test]
fn rejects_bad_archives() {
    let this = Fixture::new();
    let regular = |name| Entry(name, EntryType::Regular, b"x");
    let good = rule(1, 2);
    let cut = files(&[("rules/a.rules", &good.repeat(1000))]);
    let long = "x".repeat(9000);
    let broken_sum = {
        let mut bytes = tar(&[regular("a.rules")]);
        bytes[148] = b'9';
        gz(&bytes)
    };
    for (bytes, message) in [
        (cut[..cut.len() / 2].to_vec(), "it is truncated"),
        (gz(&tar(&[regular("../../etc/passwd")])), "entry '../../etc/passwd' leads out of"),
        (gz(&tar(&[regular("rules/../../x.rules")])), "leads out of the archive with '..'"),
        (gz(&tar(&[regular("/etc/passwd")])), "entry '/etc/passwd' has an absolute path"),
        (gz(&tar(&[regular("a\nb")])), "entry 'a\\nb' has control characters"),
        (gz(&tar(&[Entry("l", EntryType::Symlink, b"")])), "entry 'l' is a symbolic link"),
        (gz(&tar(&[Entry("l", EntryType::Link, b"")])), "entry 'l' is a hard link"),
        (gz(&tar(&[Entry("d", EntryType::Char, b"")])), "entry 'd' is a device"),
        (gz(&tar(&[Entry("p", EntryType::Fifo, b"")])), "entry 'p' is a pipe"),
        (gz(&tar(&[Entry("s", EntryType::GNUSparse, b"")])), "entry 's' is of an unusual kind"),
        (
            gz(&tar(&[Entry("x", EntryType::XHeader, b"23 path=../../etc/x.sh\n"), regular("a")])),
            "entry '../../etc/x.sh' leads out of",
        ),
        (
            gz(&tar(&[Entry("x", EntryType::XHeader, b"99 path=b\n"), regular("a")])),
            "entry 'pax header' has a record of a wrong length",
        ),
        (
            gz(&tar(&[Entry("x", EntryType::GNULongName, long.as_bytes()), regular("a")])),
            "is a header of more than 8192 bytes",
        ),
        (broken_sum, "cannot be unpacked"),
        (b"\x7fELF\0\0".to_vec(), "neither gzip, tar nor text"),
        (b"<html>\n<p>sign in</p>".to_vec(), "et.rules line 1: is not a rule"),
        (b"# nothing\n".to_vec(), "none of its rules is selected"),
        (files(&[("readme.txt", "rules")]), "none of its rules is selected"),
        (zeros(2), "it unpacks to more than 8388608 bytes"),
        (huge_entry("readme", 2), "it unpacks to more than 8388608 bytes"),
        (huge_entry("a.rules", 2), "a.rules line 1: is longer than 65536 bytes"),
    ] {
        this.assert_refused(&this.update(bytes), message);
    }
}

#[test]
fn rejects_an_archive_with_too_many_entries() {
    let this = Fixture::new();
    let names: Vec<String> = (0..5000).map(|n| format!("{n}.rules")).collect();
    let entries: Vec<_> = names.iter().map(|name| Entry(name, EntryType::Regular, b"")).collect();
    this.assert_refused(&this.update(gz(&tar(&entries))), "it has more than 4096 entries");
}

#[test]
fn reports_file_and_line_of_rules_with_errors() {
    let this = Fixture::new();
    let ours = files(&[
        ("rules/a.rules", &rule(1, 2)),
        ("rules/b.rules", "# \n\nalert ip any any -> any any (x\n"),
    ]);
    let answer = this.update(ours);
    this.assert_refused(&answer, "et: rules/b.rules line 3: the options do not end with ';)'");
    let params = json!({"file": "rules/b.rules", "line": "3", "inner": "not-closed"});
    assert_eq!(answer.source("et")["cause"], json!({"code": "rule-line", "params": params}));
    let two =
        "# comment\nalert tcp any any -> any any \\\n (content:BROKEN; sid:5;)\n\n".to_owned();
    let theirs = two + "alert tcp any any -> any any (content:BROKEN; sid:6;)\n";
    let answer = this.update(files(&[("rules/a.rules", &rule(1, 2)), ("rules/c.rules", &theirs)]));
    let message = "et: rules/c.rules line 2: unknown rule keyword 'BROKEN'. (and 1 more)";
    this.assert_refused(&answer, message);
    let et = answer.source("et");
    assert_eq!(et["cause"]["code"], "rules");
    assert_eq!(et["cause"]["params"]["line"], "2");
    assert_eq!(et["cause"]["params"]["more"], "1");
    assert_eq!(answer.result["cause"]["code"], "sources");
    let more = &et["faults"];
    assert_eq!(more, &json!(["rules/c.rules line 5: unknown rule keyword 'BROKEN'."]));
    assert!(answer.steps.contains(&String::from(" test")));
}

#[test]
fn reports_failed_downloads() {
    let mut this = Fixture::new();
    this.gateway.seconds = 2;
    let archive = files(&[("rules/a.rules", &rule(1, 2))]);
    let sum = sha256(&archive);
    let to_file = Page::Redirect("file:///etc/passwd".to_owned());
    let whole = Page::Whole(archive.clone());
    for (page, sum, message) in [
        (whole, sha256(b"another"), format!("its SHA-256 is {sum}, not ")),
        (Page::Cut(archive, 50), sum.clone(), "failed: ".to_owned()),
        (Page::Endless, sum.clone(), "it is larger than 8388608 bytes".to_owned()),
        (to_file, sum.clone(), "failed: ".to_owned()),
        (Page::Stalled, sum, "did not finish within 2 s".to_owned()),
    ] {
        let answer = this.gateway.update(&[this.source(page, &sum)]);
        this.assert_refused(&answer, &message);
    }
    let gone = json!({"name": "et", "url": this.server.url("/gone"), "sha256": sha256(b"")});
    this.assert_refused(&this.gateway.update(&[gone]), "/••• failed: ");
    let closed = json!({"name": "et", "url": "http://127.0.0.1:1/", "sha256": sha256(b"")});
    this.assert_refused(&this.gateway.update(&[closed]), "http://127.0.0.1:1/ failed: ");
}

#[test]
fn reports_a_missing_download_program() {
    let this = Fixture::new();
    let request = this.gateway.request(&[this.source(Page::Stalled, &sha256(b""))]).to_string();
    let answer = run(program().env("PATH", "/nowhere"), &["update"], &request);
    this.assert_refused(&answer, "no download program found");
}

#[test]
fn a_failed_source_does_not_affect_the_others() {
    let this = Fixture::new();
    let archive = files(&[("b.rules", &rule(2, 1))]);
    this.server.put("/b", Page::Whole(archive.clone()));
    let b = json!({"name": "b", "url": this.server.url("/b"), "sha256": sha256(&archive)});
    let broken =
        files(&[("rules/a.rules", "alert tcp any any -> any any (content:BROKEN; sid:1;)\n")]);
    let et = this.source(Page::Whole(broken.clone()), &sha256(&broken));
    let answer = this.gateway.update(&[et, b]);
    assert_eq!((answer.code, answer.outcome()), (1, "partly"));
    assert_eq!(answer.source("et")["state"], "kept");
    assert_eq!(answer.source("b")["state"], "updated");
    assert_eq!(this.gateway.current().len(), 3);
    assert_eq!(this.gateway.current()[..2], this.good);
}

#[test]
fn a_source_without_a_good_archive_is_omitted() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let et = json!({"name": "et", "url": server.url("/none"), "sha256": sha256(b"")});
    let answer = gateway.update(&[et]);
    assert_eq!((answer.code, answer.outcome()), (1, "partly"));
    assert_eq!(answer.source("et")["state"], "failed");
    assert_eq!(answer.source("fastpath")["rules"], 1);
    assert_eq!(gateway.current().len(), 1);
}

#[test]
fn a_failed_test_keeps_the_rules_in_force() {
    let mut this = Fixture::new();
    let archive = files(&[("rules/a.rules", &rule(1, 2))]);
    let et = this.source(Page::Whole(archive.clone()), &sha256(&archive));
    for (test, message) in [
        (json!(["/usr/bin/no-suricata", "{rules}"]), "cannot run /usr/bin/no-suricata"),
        (
            json!(["/bin/sh", "-c", "echo 'E: conf: no such file' >&2; exit 1 # {rules}"]),
            "no such file",
        ),
        (json!(["/bin/sh", "-c", "kill -SEGV $$ # {rules}"]), "ended by signal 11 (SIGSEGV)"),
        (json!(["/bin/sh", "-c", "sleep 60 & sleep 60 # {rules}"]), "did not finish within 1 s"),
        (
            json!(["/bin/sh", "-c", "exec >&- 2>&-; sleep 60 # {rules}"]),
            "did not finish within 1 s",
        ),
    ] {
        (this.gateway.test, this.gateway.seconds) = (test, 1);
        let answer = this.gateway.update(std::slice::from_ref(&et));
        assert_eq!((answer.code, answer.outcome()), (2, "failed"), "{message}");
        assert!(answer.message().contains(message), "{}\nshould have: {message}", answer.message());
        assert_eq!(answer.source("et")["state"], "kept");
        assert_eq!(this.gateway.current(), this.good);
        this.gateway.assert_tidy();
    }
}

#[test]
fn rejects_a_concurrent_update() {
    let this = Fixture::new();
    let held = Store::take(&this.gateway.store()).expect("free");
    let answer = this.gateway.update(&[]);
    assert_eq!((answer.code, answer.outcome()), (3, "busy"));
    assert_eq!(this.gateway.run("rollback").code, 3);
    assert_eq!(this.gateway.current(), this.good);
    drop(held);
    assert_eq!(this.gateway.update(&[]).outcome(), "updated");
}

/// Replaces the lock by a folder, in place of a read-only disk, which root ignores.
#[test]
fn a_store_that_cannot_be_locked_keeps_its_state() {
    let this = Fixture::new();
    let before = this.gateway.run("status").result;
    let lock = this.gateway.store().join("lock");
    fs::remove_file(&lock).expect("a file");
    fs::create_dir(&lock).expect("a folder");
    let answer = this.gateway.update(&[]);
    assert_eq!((answer.code, answer.outcome()), (2, "failed"));
    assert!(answer.message().starts_with("cannot open "), "{}", answer.message());
    for field in ["version", "since_ms", "rules", "sources"] {
        assert_eq!(answer.result[field], before[field], "{field}");
    }
    assert!(answer.result["finished_ms"].as_u64() > before["finished_ms"].as_u64());
    assert_eq!(this.gateway.current(), this.good);
}

#[test]
fn an_update_succeeds_after_a_killed_update() {
    let this = Fixture::new();
    let archive = files(&[("rules/a.rules", &rule(1, 2))]);
    let et = this.source(Page::Whole(archive.clone()), &sha256(&archive));
    let mut request = this.gateway.request(std::slice::from_ref(&et));
    let flag = this.gateway.root.join("testing");
    request["test"] =
        json!(["/bin/sh", "-c", format!(": > {}; sleep 5", flag.display()), "{rules}"]);
    let mut child = program().arg("update").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let child = child.as_mut().expect("the program");
    let input = child.stdin.take().expect("its input");
    serde_json::to_writer(input, &request).expect("the request");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !flag.exists() {
        assert!(Instant::now() < deadline, "the test was not started");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("alive");
    child.wait().expect("its end");
    assert!(this.gateway.store().join("work/new.rules").exists());
    assert_eq!(this.gateway.current(), this.good);
    assert_eq!(this.gateway.update(&[et]).outcome(), "updated");
    this.gateway.assert_tidy();
}

#[test]
fn a_full_disk_keeps_the_rules_in_force() {
    let this = Fixture::new();
    let store = this.gateway.store();
    // Run the update in a copy of the store on a 128 KiB file system.
    let script = "mount -t tmpfs -o size=128k tmpfs /mnt && cp -r \"$0\"/. /mnt && \
        mount --bind /mnt \"$0\" && \"$1\" update; c=$?; \
        cp \"$0\"/current.rules \"$0\".after; exit $c";
    let many: String = (1..2000).map(|sid| rule(sid, 2)).collect();
    let archive = files(&[("rules/a.rules", &many)]);
    let request =
        this.gateway.request(&[this.source(Page::Whole(archive.clone()), &sha256(&archive))]);
    let possible = Command::new("unshare").args(["--mount", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a file system of its own needs the right to mount");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&store);
    let answer = run(&mut command, &[env!("CARGO_BIN_EXE_fastpath-rules")], &request.to_string());
    assert_eq!((answer.code, answer.outcome()), (2, "failed"));
    assert!(answer.message().contains("No space left on device"), "{}", answer.message());
    assert_eq!(answer.source("et")["state"], "kept");
    assert_eq!(lines(&this.gateway.root.join("store.after")), this.good);
}

#[test]
fn an_invalid_state_is_replaced() {
    let this = Fixture::new();
    fs::write(this.gateway.store().join("state.json"), "{\"outcome\": 7").expect("writable");
    assert_eq!(this.gateway.run("status").result["rules"], 0);
    let answer = this.update(files(&[("rules/a.rules", &rule(1, 1))]));
    assert_eq!(answer.outcome(), "unchanged");
    assert_eq!(answer.result["rules"], 2);
}

#[test]
fn reports_faults_of_the_real_suricata() {
    let Some(program) = std::env::var_os("FASTPATH_SURICATA") else {
        eprintln!("skipped: FASTPATH_SURICATA does not name a Suricata 8");
        return;
    };
    let mut this = Fixture::new();
    let program = program.to_str().expect("text");
    let message = ["-T", "-c", "/etc/suricata/suricata.yaml", "-S", "{rules}", "-l", "{dir}"];
    this.gateway.test = Value::from([&[program], message.as_slice()].concat());
    this.gateway.seconds = 120;
    let good = "alert http any any -> any any ( \\\n msg:\"a \\; b\"; http.uri; \\\n \
        content:\"x\"; sid:7; rev:2;)\n";
    let keyword =
        "# comment\n\nalert tcp any any -> any any ( \\\n app-layer-event:x; \\\n sid:8;)\n";
    let value = "alert tcp any any -> any any (flow:sideways; sid:9;)\n";
    let bad = files(&[("rules/a.rules", good), ("rules/b.rules", &format!("{keyword}{value}"))]);
    let answer = this.update(bad);
    let message =
        "et: rules/b.rules line 3: app-layer-event keyword supplied with packet based event";
    this.assert_refused(&answer, message);
    let more = answer.source("et")["faults"].to_string();
    assert!(more.contains("rules/b.rules line 6: "), "{more}");
    let answer = this.update(files(&[("rules/a.rules", good)]));
    assert_eq!((answer.outcome(), answer.message()), ("updated", ""));
}
