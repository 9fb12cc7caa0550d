// SPDX-License-Identifier: GPL-2.0-or-later
//! Configuration in, rules out: `tests/golden/*.txt`.
//!
//! Each file has a purpose, `-- uci --` with a configuration, `-- devices --` with a line
//! `NAME in|out WHY` for each device of the machine, and `-- rules --` with the whole script.
//! `GOLDEN_UPDATE=1` writes the scripts anew; read the difference before you commit it.
//!
//! Where nft knows flowtables, it checks each script too (the lab's gateway runs this test).

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

use std::fs;
use std::path::{Path, PathBuf};

use config::parse_uci;
use ruleset::{Candidate, Nft, NftCommand, Protection, Settings, plan, render};

struct Golden {
    path: PathBuf,
    head: String,
    uci: String,
    devices: Vec<Candidate>,
    rules: String,
}

fn golden(path: PathBuf) -> Golden {
    let text = fs::read_to_string(&path).unwrap();
    let (head, rules) = text.split_once("-- rules --\n").expect("-- rules --");
    let (purpose, rest) = head.split_once("-- uci --\n").expect("-- uci --");
    assert!(!purpose.trim().is_empty(), "{}: no purpose", path.display());
    let (uci, devices) = rest.split_once("-- devices --\n").expect("-- devices --");
    let devices = devices.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut words = line.splitn(3, ' ');
        let (device, verdict) = (words.next().unwrap(), words.next().unwrap());
        Candidate {
            device: device.to_owned(),
            eligible: verdict == "in",
            why: words.next().unwrap_or_default().to_owned(),
        }
    });
    Golden {
        head: head.to_owned(),
        uci: uci.to_owned(),
        devices: devices.collect(),
        rules: rules.to_owned(),
        path,
    }
}

fn all() -> Vec<Golden> {
    let folder = Path::new("tests/golden");
    let folder = if folder.exists() { folder.to_owned() } else { "golden".into() };
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "only {} files", paths.len());
    paths.into_iter().map(golden).collect()
}

fn rules(golden: &Golden) -> String {
    let name = golden.path.display();
    let values = parse_uci(&golden.uci).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (settings, warnings) =
        Settings::from_uci(&values).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    render(&plan(&golden.devices, &settings, &Protection::default()), &[])
}

#[test]
fn every_configuration_becomes_its_rules() {
    let update = std::env::var_os("GOLDEN_UPDATE").is_some();
    for golden in all() {
        let rules = rules(&golden);
        if update {
            let text = format!("{}-- rules --\n{rules}", golden.head);
            fs::write(&golden.path, text).unwrap();
        } else {
            assert_eq!(rules, golden.rules, "{}", golden.path.display());
        }
    }
}

/// Why the rules cannot be checked here; none if they can.
async fn hindrance(nft: &NftCommand) -> Option<String> {
    let probe = "table inet fastpath_probe {\n\tflowtable ft {\n\t\thook ingress priority filter\n\
        \t\tdevices = { \"lo\" }\n\t\tcounter\n\t}\n}\n";
    nft.check(probe).await.err().map(|error| error.to_string())
}

#[tokio::test]
async fn nft_takes_every_golden_script() {
    let nft = NftCommand::default();
    if let Some(why) = hindrance(&nft).await {
        eprintln!("skipped: nft with flowtables is needed: {why}");
        return;
    }
    for golden in all() {
        // The devices are not those of this machine, and hardware offload is seldom there.
        let line = |line: &str| match line.trim() {
            text if text.starts_with("devices = ") => "\t\tdevices = { \"lo\" }\n".to_owned(),
            "flags offload" => String::new(),
            _ => format!("{line}\n"),
        };
        let script: String = golden.rules.lines().map(line).collect();
        let checked = nft.check(&script).await;
        assert_eq!(checked, Ok(()), "{}\n{script}", golden.path.display());
    }
}
