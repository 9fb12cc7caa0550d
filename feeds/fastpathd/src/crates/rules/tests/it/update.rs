// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of updates by the program, from a loopback server with the machine's download program.

use std::fs;

use crate::support::archives::{Signer, files, gz, sha256};
use crate::support::server::{Page, Server};
use crate::support::{Gateway, program, rule, run};
use serde_json::{Value, json};

/// Serves an archive; returns its source with the checksum.
fn source(server: &Server, name: &str, bytes: &[u8]) -> Value {
    let path = format!("/{name}.tar.gz");
    server.put(&path, Page::Whole(bytes.to_vec()));
    json!({"name": name, "url": server.url(&path), "sha256": sha256(bytes)})
}

#[test]
fn an_unchanged_source_is_not_downloaded_again() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let archive = files(&[
        ("rules/a.rules", &format!("# comment\n{}#{}", rule(1, 1), rule(2, 1))),
        ("rules/b.rules", &rule(3, 1)),
        ("rules/readme.txt", "not a rule"),
        ("version.txt", "10987\n"),
    ]);
    let et = source(&server, "et", &archive);
    let first = gateway.update(std::slice::from_ref(&et));
    assert_eq!((first.code, first.outcome(), first.message()), (0, "updated", ""));
    assert_eq!(first.steps, ["et download", "et unpack", " test", " swap"]);
    let source = first.source("et");
    assert_eq!(source["state"], "updated");
    assert_eq!((&source["rules"], &source["disabled_by_source"]), (&json!(2), &json!(1)));
    assert_eq!((&source["version"], &source["verified"]), (&json!("10987"), &json!("sha256")));
    assert_eq!(source["bytes"], archive.len());
    assert!(source["fetched_ms"].as_u64() > Some(1_600_000_000_000));
    let wanted = [rule(8_100_001, 1), rule(1, 1), rule(3, 1)].map(|r| r.trim().to_owned());
    assert_eq!(gateway.current(), wanted);
    gateway.assert_tidy();
    assert_eq!(server.asked(), ["/et.tar.gz"]);

    let second = gateway.update(&[et]);
    assert_eq!((second.code, second.outcome()), (0, "unchanged"));
    assert_eq!(second.source("et")["state"], "unchanged");
    assert_eq!(second.source("et")["fetched_ms"], source["fetched_ms"]);
    assert_eq!(second.result["since_ms"], first.result["since_ms"]);
    assert!(server.asked().is_empty(), "the checksum in the settings is unchanged");
    assert_eq!(gateway.run("status").result["version"], first.result["version"]);
}

#[test]
fn applies_a_new_selection_without_a_download() {
    let (server, mut gateway) = (Server::start(), Gateway::new());
    let quiet = "alert tcp any any -> any any (noalert; sid:4;)\n";
    let archive = files(&[
        ("rules/malware.rules", &format!("{}{}{quiet}", rule(1, 1), rule(2, 1))),
        ("rules/games.rules", &rule(3, 1)),
    ]);
    let mut et = source(&server, "et", &archive);
    gateway.update(std::slice::from_ref(&et));
    et["categories"] = json!(["malware", "wrong"]);
    et["disable"] = json!(["2"]);
    et["drop"] = json!(["cat:malware", "77"]);
    gateway.download = false;
    server.asked();
    let answer = gateway.update(&[et]);
    assert_eq!((answer.code, answer.outcome()), (0, "updated"));
    assert!(server.asked().is_empty());
    let dropping = rule(1, 1).trim().replace("alert", "drop");
    let own = rule(8_100_001, 1).trim().to_owned();
    assert_eq!(gateway.current(), [own, dropping, quiet.trim().to_owned()]);
    let source = answer.source("et");
    assert_eq!((&source["converted"], &source["disabled"]), (&json!(1), &json!(1)));
    assert_eq!(answer.result["stopping"], 1);
    let notes = source["notes"].to_string();
    for expected in [
        "rules/malware.rules line 3: sid 4 stays alert though drop says cat:malware: it has noaler",
        "category wrong is not in it",
        "drop 77 matches no rule",
    ] {
        assert!(notes.contains(expected), "{notes}\nshould have: {expected}");
    }
}

#[test]
fn own_rules_and_the_first_source_take_precedence() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let a = files(&[("a.rules", &(rule(1, 2) + &rule(2, 1) + &rule(8_100_001, 9)))]);
    let b = files(&[("b.rules", &(rule(1, 1) + &rule(2, 2)))]);
    let answer = gateway.update(&[source(&server, "a", &a), source(&server, "b", &b)]);
    assert_eq!(answer.outcome(), "updated");
    assert_eq!(answer.result["duplicates"], 3);
    let wanted = [rule(8_100_001, 1), rule(1, 2), rule(2, 1)].map(|r| r.trim().to_owned());
    assert_eq!(gateway.current(), wanted);
    assert_eq!(answer.source("a")["rules"], 2);
    assert_eq!(answer.source("b")["rules"], 0);
}

/// An attacker on the path can replay an old archive.
#[test]
fn rejects_an_older_signed_archive() {
    let (server, gateway, signer) = (Server::start(), Gateway::new(), Signer::new(1));
    let archive = |version: &str, rev| {
        files(&[("rules/a.rules", &rule(1, rev)), ("version.txt", &format!("{version}\n"))])
    };
    let update = |version: &str, rev| {
        let bytes = archive(version, rev);
        server.put("/a.sig", Page::Whole(signer.sign(&bytes)));
        server.put("/a.tar.gz", Page::Whole(bytes));
        let (url, sig) = (server.url("/a.tar.gz"), server.url("/a.sig"));
        let a = json!({"name": "a", "url": url, "signature_url": sig, "key": signer.key()});
        gateway.update(&[a])
    };
    assert_eq!(update("10100", 2).outcome(), "updated");
    let good = gateway.current();
    for _ in 0..2 {
        let older = update("9900", 1);
        let message = "a: its version 9900 is older than 10100, which was fetched before";
        assert_eq!((older.outcome(), older.message()), ("failed", message));
        let source = older.source("a");
        assert_eq!((&source["state"], &source["version"]), (&json!("kept"), &json!("10100")));
        assert_eq!(gateway.current(), good);
    }
    for (version, rev) in [("10100", 3), ("10101", 4), ("of May", 5), ("1", 6)] {
        assert_eq!(update(version, rev).outcome(), "updated", "{version}");
    }
    // A checksum in the settings may select an older archive.
    let bytes = archive("0", 7);
    assert_eq!(gateway.update(&[source(&server, "a", &bytes)]).outcome(), "updated");
}

#[test]
fn a_valid_signature_is_required_and_sufficient() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let (signer, other) = (Signer::new(1), Signer::new(2));
    let archive = files(&[("a.rules", &rule(1, 1))]);
    server.put("/a.tgz", Page::Whole(archive.clone()));
    server.put("/good.sig", Page::Whole(signer.sign(&archive)));
    server.put("/other.sig", Page::Whole(other.sign(&archive)));
    server.put("/wrong.sig", Page::Whole(signer.sign(b"something else")));
    server.put("/none.sig", Page::Whole(b"<html>sign in</html>".to_vec()));
    let at = |sig: &str| {
        let url = server.url("/a.tgz");
        json!({"name": "a", "url": url, "signature_url": server.url(sig), "key": signer.key()})
    };
    for (sig, expected) in [
        ("/other.sig", "is signed with key 0202020202020202, not with 0101010101010101"),
        ("/wrong.sig", "the signature does not match"),
        ("/none.sig", "the signature is not a usign signature"),
        ("/missing.sig", "/••• failed: "),
    ] {
        let answer = gateway.update(&[at(sig)]);
        assert_eq!(answer.source("a")["state"], "failed", "{sig}");
        assert!(answer.message().contains(expected), "{}", answer.message());
        assert_eq!(gateway.current().len(), 1, "{sig}");
    }
    let answer = gateway.update(&[at("/good.sig")]);
    assert_eq!((answer.outcome(), answer.message()), ("updated", ""));
    assert_eq!(answer.source("a")["verified"], "signature");
    assert_eq!(gateway.update(&[at("/good.sig")]).outcome(), "unchanged");
    // The previous rules stay in force.
    let answer = gateway.update(&[at("/wrong.sig")]);
    assert_eq!((answer.code, answer.outcome()), (2, "failed"));
    assert_eq!(answer.source("a")["state"], "kept");
    assert_eq!(answer.source("a")["verified"], "signature");
    assert_eq!(gateway.current().len(), 2);
}

#[test]
fn a_plain_file_counts_as_an_archive_of_one_file() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let text =
        rule(1, 1) + "alert tcp any any -> any any ( \\\n  msg:\"two lines\"; \\\n sid:2;)\n";
    for bytes in [text.clone().into_bytes(), gz(text.as_bytes())] {
        server.put("/some.rules?x=1", Page::Whole(bytes.clone()));
        let url = server.url("/some.rules?x=1");
        let sum = sha256(&bytes);
        let answer = gateway
            .update(&[json!({"name": "a", "url": url, "sha256": sum, "categories": ["some"]})]);
        assert_eq!(answer.message(), "");
        assert_eq!(
            gateway.current()[2],
            "alert tcp any any -> any any (   msg:\"two lines\";  sid:2;)"
        );
    }
}

#[test]
fn rollback_restores_the_previous_rule_set() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let nothing = gateway.run("rollback");
    assert_eq!(nothing.code, 4);
    assert_eq!(nothing.message(), "there is no previous rule set");
    assert_eq!(nothing.result["cause"]["code"], "no-previous");
    let one = gateway.update(&[source(&server, "a", &files(&[("a.rules", &rule(1, 1))]))]);
    let two = gateway.update(&[source(&server, "a", &files(&[("a.rules", &rule(1, 2))]))]);
    assert_eq!(two.result["previous"], one.result["version"]);
    let back = gateway.run("rollback");
    assert_eq!((back.code, back.outcome()), (0, "restored"));
    assert_eq!(back.result["cause"]["code"], "restored");
    assert_eq!(back.result["version"], one.result["version"]);
    assert_eq!(back.result["previous"], two.result["version"]);
    assert_eq!(back.result["rules"], 2);
    assert!(gateway.current()[1].contains("rev:1;"));
    gateway.run("rollback");
    assert!(gateway.current()[1].contains("rev:2;"));
}

#[test]
fn rules_are_in_force_even_if_their_archive_cannot_be_kept() {
    let (server, gateway) = (Server::start(), Gateway::new());
    let one = gateway.update(&[source(&server, "a", &files(&[("a.rules", &rule(1, 1))]))]);
    std::fs::create_dir_all(gateway.store().join("sources/b/occupied")).unwrap();
    let sources = [("a", rule(1, 1)), ("b", rule(2, 1))]
        .map(|(name, rule)| source(&server, name, &files(&[("a.rules", &rule)])));
    let two = gateway.update(&sources);
    assert_eq!(two.outcome(), "partly", "{}", two.message());
    assert!(two.message().contains("replace"), "{}", two.message());
    assert_eq!(two.source("b")["state"], "updated");
    assert_eq!(two.source("b")["rules"], 1);
    assert_eq!(two.result["previous"], one.result["version"]);
}

#[test]
fn removes_the_archive_of_a_removed_source() {
    let (server, gateway) = (Server::start(), Gateway::new());
    gateway.update(&[source(&server, "a", &files(&[("a.rules", &rule(1, 1))]))]);
    assert!(gateway.store().join("sources/a").exists());
    assert_eq!(gateway.update(&[]).outcome(), "updated");
    assert_eq!(gateway.current().len(), 1);
    assert!(!gateway.store().join("sources/a").exists());
}

#[test]
fn refuses_an_invalid_request_with_its_fault() {
    let gateway = Gateway::new();
    let with = |of: Value| gateway.request(&[of]).to_string();
    let url = "http://127.0.0.1/x";
    let mut sourceless = gateway.request(&[]);
    sourceless["store"] = json!("relative");
    for (request, expected) in [
        (String::from("{"), "invalid request"),
        (with(json!({"name": "a", "url": url, "colour": "red"})), "unknown field `colour`"),
        (with(json!({"name": "a/b", "url": url})), "source 'a/b', name: "),
        (with(json!({"name": "a", "url": url})), "source 'a', unverified: is not set"),
        (with(json!({"name": "a", "url": url, "unverified": true})), "not enough for http"),
        (with(json!({"name": "a", "url": "ftp://h/x", "unverified": true})), "url: does not begin"),
        (with(json!({"name": "fastpath", "url": url})), "is reserved"),
        (sourceless.to_string(), "not an absolute path"),
    ] {
        let answer = run(&mut program(), &["update"], &request);
        assert_eq!((answer.code, answer.outcome()), (4, "failed"), "{request}");
        assert!(answer.message().contains(expected), "{}\n{expected}", answer.message());
    }
    assert!(!gateway.store().exists());
}

#[test]
fn rules_and_state_are_readable_by_all() {
    use std::os::unix::fs::PermissionsExt;
    let (server, gateway) = (Server::start(), Gateway::new());
    gateway.update(&[source(&server, "a", &files(&[("a.rules", &rule(1, 1))]))]);
    for name in ["current.rules", "state.json"] {
        let mode = fs::metadata(gateway.store().join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
}
