// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs shell scripts in place of nft.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ruleset::{Nft, NftCommand, NftError};
use serde_json::json;

const SCRIPTS: [(&str, &str); 11] = [
    ("say", "echo \"$* <$(cat)> $LC_ALL\" >&2; exit 1"),
    ("fine", "cat >/dev/null; echo warning >&2"),
    ("mute", "exit 7"),
    ("killed", "echo Error: syntax >&2; kill -KILL $$"),
    ("deaf", "exit 0"),
    ("deaf-and-cross", "echo no >&2; exit 1"),
    ("chatty", "cat >/dev/null; head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1"),
    ("slow", "echo $$ >\"$0.pid\"; exec sleep 60"),
    ("json", "echo '{\"nftables\": []}'"),
    ("gone", "echo 'Error: No such file or directory' >&2; exit 1"),
    ("wrong", "echo 'table inet fastpath {'"),
];

fn nft(name: &str) -> NftCommand {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    // Another program copies the scripts: if a child process has inherited a file open for writing,
    // the kernel refuses to execute it (`ETXTBSY`).
    let folder = FOLDER.get_or_init(|| {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (written, folder) = (target.join("written"), target.join("nft"));
        for folder in [&written, &folder] {
            fs::create_dir_all(folder).unwrap();
        }
        let mut install = Command::new("install");
        for (name, script) in SCRIPTS {
            fs::write(written.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
            install.arg(written.join(name));
        }
        assert!(install.arg(&folder).status().unwrap().success());
        folder
    });
    NftCommand { program: folder.join(name), timeout: Duration::from_secs(10) }
}

#[tokio::test]
async fn passes_the_script_as_input_with_check_or_run() {
    let nft = nft("say");
    let refused = |text: &str| Err(NftError::Refused(text.to_owned()));
    assert_eq!(nft.check("one\ntwo").await, refused("-c -f - <one\ntwo> C"));
    assert_eq!(nft.run("three").await, refused("-f - <three> C"));
    assert_eq!(
        nft.list().await.unwrap_err(),
        NftError::Refused("-j list table inet fastpath <> C".to_owned())
    );
}

#[tokio::test]
async fn a_success_ignores_the_output() {
    let nft = nft("fine");
    assert_eq!(nft.check("x").await, Ok(()));
    assert_eq!(nft.run("x").await, Ok(()));
}

#[tokio::test]
async fn a_failure_without_output_reports_its_status() {
    let nft = nft("mute");
    assert_eq!(nft.run("x").await, Err(NftError::Refused("exit status: 7".to_owned())));
}

#[tokio::test]
async fn reports_a_killed_nft_without_its_output() {
    let text = nft("killed").run("x").await.unwrap_err().to_string();
    assert!(text.contains("SIGKILL") && text.contains("memory"), "{text}");
    assert!(!text.contains("syntax"), "{text}");
}

#[tokio::test]
async fn accepts_an_nft_that_does_not_read_its_input() {
    let script = "x".repeat(1 << 20);
    assert_eq!(nft("deaf").run(&script).await, Ok(()));
    assert!(nft("deaf-and-cross").run(&script).await.is_err());
}

#[tokio::test]
async fn reads_long_output_to_the_end() {
    let nft = nft("chatty");
    let Err(NftError::Refused(text)) = nft.run("x").await else { panic!("not refused") };
    assert_eq!(text.len(), 1_000_000);
}

#[tokio::test]
async fn kills_nft_after_the_timeout() {
    let nft = NftCommand { timeout: Duration::from_millis(300), ..nft("slow") };
    let started = Instant::now();
    assert_eq!(nft.run("x").await, Err(NftError::Timeout(nft.timeout)));
    let pid = fs::read_to_string(nft.program.with_extension("pid")).unwrap();
    let alive = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.contains(" S ") || stat.contains(" R ")
    };
    while alive() {
        assert!(started.elapsed() < Duration::from_secs(300), "still running");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn reports_the_path_of_a_missing_nft() {
    let nft = NftCommand { program: "/nonexistent/nft".into(), ..NftCommand::default() };
    assert_eq!(
        nft.run("x").await.unwrap_err().to_string(),
        "running /nonexistent/nft: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn parses_a_listing_or_reports_the_error() {
    let listing = nft("json").list().await;
    assert_eq!(listing, Ok(Some(json!({ "nftables": [] }))));
    let gone = nft("gone").list().await;
    assert_eq!(gone, Ok(None));
    let wrong = nft("wrong").list().await;
    assert!(matches!(wrong, Err(NftError::Answer(_))), "{wrong:?}");
}
