// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares plans with `tests/golden/*.txt`.
//!
//! Each file has a purpose, `-- machine --` in the notation of `common`, `-- uci --` with a
//! configuration, `-- inspection --` with `wanted` or `not wanted`, and `-- plan --`.
//! `GOLDEN_UPDATE=1` updates the plans; review the difference before committing.

use crate::common;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use config::{Package, parse_uci};
use cpu::{CpuPlan, Settings, plan};

struct Golden {
    path: PathBuf,
    head: String,
    machine: String,
    uci: String,
    inspection: bool,
    plan: String,
}

fn golden(path: PathBuf) -> Golden {
    let text = fs::read_to_string(&path).unwrap();
    let (head, plan) = text.split_once("-- plan --\n").expect("-- plan --");
    let (purpose, rest) = head.split_once("-- machine --\n").expect("-- machine --");
    assert!(!purpose.trim().is_empty(), "{}: no purpose", path.display());
    let (machine, rest) = rest.split_once("-- uci --\n").expect("-- uci --");
    let (uci, inspection) = rest.split_once("-- inspection --\n").expect("-- inspection --");
    Golden {
        head: head.to_owned(),
        machine: machine.to_owned(),
        uci: uci.to_owned(),
        inspection: match inspection.trim() {
            "wanted" => true,
            "not wanted" => false,
            other => panic!("{}: {other}", path.display()),
        },
        plan: plan.to_owned(),
        path,
    }
}

fn all() -> Vec<Golden> {
    let mut paths: Vec<_> = fs::read_dir(Path::new("tests/golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 20, "only {} files", paths.len());
    paths.into_iter().map(golden).collect()
}

fn planned(golden: &Golden) -> String {
    let name = golden.path.display();
    let values = parse_uci(&golden.uci).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut package = Package::new(&values).unwrap();
    let settings = Settings::read(&mut package);
    let warnings = package.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    let machine = common::machine(&golden.machine);
    let plan = plan(&machine, &settings, golden.inspection)
        .unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
    text(&plan)
}

fn text(plan: &CpuPlan) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{}", words.trim_end()).unwrap();
    line(if plan.active { "active".to_owned() } else { format!("inactive: {}", plan.why) });
    let split = &plan.split;
    line(format!("forwarding {}", split.forwarding));
    line(format!("inspection {}", split.inspection));
    line(format!("control {}", split.control));
    let suricata = &plan.suricata;
    line(format!("queues {}", suricata.queues));
    if suricata.pinned {
        let workers: Vec<String> = suricata.workers.iter().map(u32::to_string).collect();
        line(format!("suricata workers [{}]", workers.join(", ")));
        line(format!("suricata management {}", suricata.management));
    } else if suricata.queues > 0 {
        line("suricata not pinned".to_owned());
    }
    for (knob, cpus) in &plan.wants {
        let cpus =
            if cpus.is_empty() { "off".to_owned() } else { format!("{cpus} = {}", cpus.mask()) };
        line(format!("{knob}: {cpus}"));
    }
    text
}

#[test]
fn every_machine_gets_its_plan() {
    let update = std::env::var_os("GOLDEN_UPDATE").is_some();
    for golden in all() {
        let plan = planned(&golden);
        if update {
            let text = format!("{}-- plan --\n{plan}", golden.head);
            fs::write(&golden.path, text).unwrap();
        } else {
            assert_eq!(plan, golden.plan, "{}", golden.path.display());
        }
    }
}
